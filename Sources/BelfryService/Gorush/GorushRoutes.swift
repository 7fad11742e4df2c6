import HTTPTypes
package import Hummingbird
import NIOCore

/// gorush's API: `POST /gorush/<key>/api/push`, or `POST /api/push` with the key as a bearer token. gorush asks for no credentials, and has to be
/// hidden; this one is let in by the key alone.
///
/// The answer waits for the providers as gorush does with `core.sync`, unless the query says `sync=false`. Source: gorush, `router/server.go`.
package struct GorushRoutes: Sendable {
    private let services: Services
    private let door: TokenGatewayDoor
    private let gateway: TokenGateway

    package init(_ services: Services, verdictWait: Duration = .seconds(5)) {
        self.services = services
        door = TokenGatewayDoor(services)
        gateway = TokenGateway(services, verdictWait: verdictWait)
    }

    package func add(to router: Router<APIContext>) {
        router.serve(
            "gorush/:key/api/push",
            [.post: { try await push($0, try await door.caller(.gorush, key: $1.parameters.get("key"), of: $0, $1)) }])
        router.serve("api/push", [.post: { try await push($0, try await bearer($0, $1)) }])
    }

    private func push(_ request: Request, _ caller: TokenGatewayDoor.Caller) async throws -> Response {
        try await services.shares.uploading(
            request, atMost: GorushNotification.bytesMax, for: ShareHolder(caller.application)
        ) {
            let body = try await request.bytes(atMost: GorushNotification.bytesMax)
            let notifications: [GorushNotification]
            do { notifications = try GorushNotification.list(json: body) } catch {
                return Response(
                    status: .badRequest,
                    json: ByteBuffer(
                        bytes: JSONValue.object(["code": .integer(400), "message": .string("\(error)")]).encoded))
            }
            try caller.charge(messages: notifications.count)
            let waits = request.uri.queryParameters["sync"] != "false"
            return Self.answer(notifications, try await logs(of: notifications, caller, waits: waits))
        }
    }

    private func bearer(_ request: Request, _ context: APIContext) async throws -> TokenGatewayDoor.Caller {
        let refusal = APIError(
            .unauthorized,
            "This path takes the key of the application's gorush gateway, as 'Authorization: Bearer <key>'",
            headers: [.wwwAuthenticate: #"Bearer realm="Belfry""#])
        let words = try request.headers.authorization()?.split(separator: " ") ?? []
        guard words.count == 2, words[0].lowercased() == "bearer" else { throw refusal }
        do { return try await door.caller(.gorush, key: String(words[1]), of: request, context) } catch let error
            as APIError
        {
            throw error.isMissing ? refusal : error
        }
    }

    private static func answer(_ notifications: [GorushNotification], _ logs: [GorushLog]) -> Response {
        var members: JSONObject = [:]
        members["success"] = .string("ok")
        members["counts"] = .integer(
            Int64(notifications.reduce(0) { $0 + $1.tokens.count + ($1.firebaseTopic == nil ? 0 : 1) }))
        members["logs"] = .array(logs.map(\.json))
        return Response(json: ByteBuffer(bytes: JSONValue.object(members).encoded))
    }

    private func logs(
        of notifications: [GorushNotification], _ caller: TokenGatewayDoor.Caller, waits: Bool
    ) async throws -> [GorushLog] {
        try await withThrowingTaskGroup(of: (Int, [GorushLog]).self) { group in
            for (index, notification) in notifications.enumerated() {
                group.addTask { (index, try await logs(of: notification, caller, waits: waits)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.flatMap(\.1)
        }
    }

    /// The tokens of a notification that were not notified. A faulty notification is none of the others'.
    private func logs(
        of notification: GorushNotification, _ caller: TokenGatewayDoor.Caller, waits: Bool
    ) async throws -> [GorushLog] {
        func failed(_ words: String) -> [GorushLog] {
            let tokens = notification.tokens.isEmpty ? [""] : notification.tokens
            return tokens.map { GorushLog(notification: notification, token: $0, error: words) }
        }
        if notification.isForHuaweiTopic {
            return failed("topics and conditions of Huawei are not served: give tokens")
        }
        do {
            let ofTopic = try await logs(ofTopicOf: notification, caller, waits: waits)
            guard !notification.tokens.isEmpty else { return ofTopic ?? failed("tokens must not be nil or empty") }
            guard let platform = try notification.platform(among: caller.platforms) else {
                return failed("topic names no platform: its option, or a single platform of its type, is missing")
            }
            let message = TokenGateway.Message(
                content: try notification.content(for: platform.kind),
                expiresAt: try notification.expiry(at: services.clock.now))
            let tokens = notification.tokens.map { try? DeviceToken($0, for: platform.kind) }
            var answers: [DeviceToken: Answer]?
            let known = tokens.compactMap(\.self)
            if !known.isEmpty, !notification.isTrial {
                answers = try await gateway.send(message, to: known, on: platform, waits: waits)
            }
            let ofTokens = zip(notification.tokens, tokens).compactMap { text, token in
                let answer: Answer = token.map { answers?[$0] ?? .pending } ?? .refused(.badToken)
                var error = answer.gorushError(on: notification.device)
                if let token, let answers, answers[token] == nil { error = "the token could not be registered" }
                return error.map { GorushLog(notification: notification, token: text, error: $0) }
            }
            return (ofTopic ?? []) + ofTokens
        } catch {
            return failed(try Self.words(error))
        }
    }

    /// The reason why one notification failed. Throws the error where the request has to end, and may be repeated.
    private static func words(_ error: any Error) throws -> String {
        guard !(error is CancellationError) else { throw error }
        let known = APIError(cause: error)
        let isOurs = known.status.kind == .serverError && !(error is APIError)
        guard !isOurs, known.status != .tooManyRequests, known.headers[.retryAfter] == nil else { throw error }
        return known.message
    }

    /// Sends it to the topic or condition of Firebase that it names; nil where it names none.
    private func logs(
        ofTopicOf notification: GorushNotification, _ caller: TokenGatewayDoor.Caller, waits: Bool
    ) async throws -> [GorushLog]? {
        guard let topic = notification.firebaseTopic else { return nil }
        func log(_ words: String) -> GorushLog { GorushLog(notification: notification, token: topic, error: words) }
        do {
            guard let platform = caller.platforms.only(.fcmTopic) else {
                return [log("topics and conditions need a single platform of type fcm-topic")]
            }
            let message = TokenGateway.Message(
                content: try notification.content(for: .fcmTopic),
                expiresAt: try notification.expiry(at: services.clock.now))
            let token = try services.channels.topic(topic)
            guard !notification.isTrial else { return [] }
            let answers = try await gateway.send(message, to: [token], on: platform, waits: waits)
            return (answers[token] ?? .pending).gorushError(on: notification.device).map { [log($0)] } ?? []
        } catch {
            return [log(try Self.words(error))]
        }
    }
}
