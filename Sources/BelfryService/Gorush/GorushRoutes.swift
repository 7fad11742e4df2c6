import HTTPTypes
package import Hummingbird
import Logging
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
        router.serve("gorush/:key/api/push", [.post: { try await push($0, try await keyed($0, $1), $1.logger) }])
        router.serve("api/push", [.post: { try await push($0, try await bearer($0, $1), $1.logger) }])
    }

    private func push(
        _ request: Request, _ caller: TokenGatewayDoor.Caller, _ logger: Logger
    ) async throws -> Response {
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
            return Self.answer(notifications, try await logs(of: notifications, caller, waits: waits, logger))
        }
    }

    private func keyed(_ request: Request, _ context: APIContext) async throws -> TokenGatewayDoor.Caller {
        try await door.caller(.gorush, key: context.parameters.get("key"), of: request, context)
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

    /// The tokens that were not notified. Throws a fault that may pass where nothing was accepted: a message has no id, so that a repetition would
    /// send it twice.
    private func logs(
        of notifications: [GorushNotification], _ caller: TokenGatewayDoor.Caller, waits: Bool, _ logger: Logger
    ) async throws -> [GorushLog] {
        let all: [Part] = await withTaskGroup(of: (Int, [Part]).self) { group in
            for (index, notification) in notifications.enumerated() {
                group.addTask { (index, await parts(of: notification, caller, waits: waits)) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.flatMap(\.1)
        }
        try Task.checkCancellation()
        if let fault = all.compactMap(\.fault).first {
            guard all.contains(where: \.isAccepted) else { throw fault }
            logger.warning("a part of a gorush request failed", metadata: ["error": "\(fault)"])
        }
        return all.flatMap(\.logs)
    }

    /// The topic or the tokens of a notification.
    private struct Part {
        let logs: [GorushLog]
        var isAccepted = false
        /// Why it failed, where that may pass.
        var fault: (any Error)?
    }

    /// A faulty notification is none of the others'.
    private func parts(
        of notification: GorushNotification, _ caller: TokenGatewayDoor.Caller, waits: Bool
    ) async -> [Part] {
        let tokens = notification.tokens
        if notification.isForHuaweiTopic {
            let words = "topics and conditions of Huawei are not served: give tokens"
            return [Self.failed(notification, tokens.isEmpty ? [""] : tokens, words)]
        }
        let ofTopic = await part(ofTopicOf: notification, caller, waits: waits)
        guard !tokens.isEmpty else {
            return [ofTopic ?? Self.failed(notification, [""], "tokens must not be nil or empty")]
        }
        let ofTokens = await part(ofTokensOf: notification, caller, waits: waits)
        return [ofTopic, ofTokens].compactMap(\.self)
    }

    private func part(
        ofTokensOf notification: GorushNotification, _ caller: TokenGatewayDoor.Caller, waits: Bool
    ) async -> Part {
        do {
            guard let platform = try notification.platform(among: caller.platforms) else {
                return Self.failed(
                    notification, notification.tokens,
                    "topic names no platform: its option, or a single platform of its type, is missing")
            }
            let message = try notification.message(for: platform.kind, at: services.clock.now)
            let tokens = notification.tokens.map { try? DeviceToken($0, for: platform.kind) }
            var answers: [DeviceToken: Answer]?
            let known = tokens.compactMap(\.self)
            if !known.isEmpty, !notification.isTrial {
                answers = try await gateway.send(message, to: known, on: platform, waits: waits)
            }
            let logs = zip(notification.tokens, tokens).compactMap { text, token in
                let answer: Answer = token.map { answers?[$0] ?? .pending } ?? .refused(.badToken)
                var error = answer.gorushError(on: notification.device)
                if let token, let answers, answers[token] == nil { error = "the token could not be registered" }
                return error.map { GorushLog(notification: notification, token: text, error: $0) }
            }
            return Part(logs: logs, isAccepted: answers != nil && logs.count < tokens.count)
        } catch {
            return Self.failed(notification, notification.tokens, error)
        }
    }

    private static func failed(
        _ notification: GorushNotification, _ tokens: [String], _ words: String, _ fault: (any Error)? = nil
    ) -> Part {
        Part(logs: tokens.map { GorushLog(notification: notification, token: $0, error: words) }, fault: fault)
    }

    private static func failed(_ notification: GorushNotification, _ tokens: [String], _ error: any Error) -> Part {
        let known = APIError(cause: error)
        let isOurs = known.status.kind == .serverError && !(error is APIError)
        let mayPass = isOurs || known.status == .tooManyRequests || known.headers[.retryAfter] != nil
        return failed(notification, tokens, known.message, mayPass ? error : nil)
    }

    /// Sends it to the topic or condition of Firebase that it names; nil where it names none.
    private func part(
        ofTopicOf notification: GorushNotification, _ caller: TokenGatewayDoor.Caller, waits: Bool
    ) async -> Part? {
        guard let topic = notification.firebaseTopic else { return nil }
        do {
            guard let platform = caller.platforms.only(.fcmTopic) else {
                return Self.failed(
                    notification, [topic], "topics and conditions need a single platform of type fcm-topic")
            }
            let message = try notification.message(for: .fcmTopic, at: services.clock.now)
            let token = try services.channels.topic(topic)
            guard !notification.isTrial else { return Part(logs: []) }
            let answers = try await gateway.send(message, to: [token], on: platform, waits: waits)
            let words = (answers[token] ?? .pending).gorushError(on: notification.device)
            return words.map { Self.failed(notification, [topic], $0) } ?? Part(logs: [], isAccepted: true)
        } catch {
            return Self.failed(notification, [topic], error)
        }
    }
}
