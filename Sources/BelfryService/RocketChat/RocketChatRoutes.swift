import HTTPTypes
package import Hummingbird
import NIOCore

/// The push gateway of Rocket.Chat: `POST /rocket-chat/<key>/push/apn/send` and `…/gcm/send`. The server's setting has the address before `/push`.
///
/// The server reads the status alone: 406 removes the token, 422 and 401 end the message, and it repeats what has another fault. Source:
/// Rocket.Chat, `sendGatewayPush`.
package struct RocketChatRoutes: Sendable {
    private let services: Services
    private let door: TokenGatewayDoor
    private let gateway: TokenGateway

    package init(_ services: Services, verdictWait: Duration = .seconds(5)) {
        self.services = services
        door = TokenGatewayDoor(services)
        gateway = TokenGateway(services, verdictWait: verdictWait)
    }

    package func add(to router: Router<APIContext>) {
        for provider in RocketChatPush.Provider.allCases {
            router.serve(
                RouterPath("rocket-chat/:key/push/\(provider)/send"), [.post: { try await send($0, $1, to: provider) }])
        }
    }

    private func send(
        _ request: Request, _ context: APIContext, to provider: RocketChatPush.Provider
    ) async throws -> Response {
        let caller = try await door.caller(
            .rocketChat, key: context.parameters.get("key"), of: request, context)
        let body = try await request.bytes(atMost: TokenGatewayDoor.bodyBytesMax)
        do {
            let push = try RocketChatPush(json: body)
            guard let platform = try push.platform(provider, among: caller.platforms) else {
                throw InvalidInput(
                    field: "options.topic",
                    "names no platform: its option, or a single platform of its type, is missing")
            }
            guard let token = try? DeviceToken(push.token, for: platform.kind) else { return Self.dead }
            let message = TokenGateway.Message(
                content: push.content(for: platform.kind), expiresAt: push.expiry(at: services.clock.now),
                id: push.id(of: caller.endpoint))
            let answer = try await gateway.send(message, to: [token], on: platform)[token] ?? .pending
            if answer.isOfUselessToken { return Self.dead }
            if case .refused(let refusal) = answer { return Self.refused("the provider refused it: \(refusal)") }
            return Response(json: ByteBuffer(string: #"{"success":true}"#))
        } catch let error as InvalidInput {
            return Self.refused(error.description)
        }
    }

    private static var dead: Response { answer(.notAcceptable, "The token is dead, or was never one") }

    private static func refused(_ words: String) -> Response { answer(.unprocessableContent, words) }

    private static func answer(_ status: HTTPResponse.Status, _ words: String) -> Response {
        Response(
            status: status,
            json: ByteBuffer(bytes: JSONValue.object(["success": .bool(false), "error": .string(words)]).encoded))
    }
}
