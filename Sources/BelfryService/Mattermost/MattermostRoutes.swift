import HTTPTypes
package import Hummingbird
import NIOCore

/// The push proxy of Mattermost: `POST /mattermost/<key>/api/v1/send_push` and `…/ack`. The server's setting has the address before `/api`.
///
/// The status of HTTP is 200 for faults too, as of the original; the body says what came of the message. Source: mattermost-push-proxy, `server.go`.
package struct MattermostRoutes: Sendable {
    private let door: TokenGatewayDoor
    private let gateway: TokenGateway

    package init(_ services: Services, verdictWait: Duration = .seconds(5)) {
        door = TokenGatewayDoor(services)
        gateway = TokenGateway(services, verdictWait: verdictWait)
    }

    package func add(to router: Router<APIContext>) {
        router.serve(
            "mattermost/:key/api/v1/send_push",
            [
                .post: answering { body, caller in
                    let push = try MattermostPush(json: body)
                    guard let platform = try push.platform(among: caller.platforms) else {
                        throw InvalidInput(
                            field: "platform", "names none: its option, or a single platform of its type, is missing")
                    }
                    guard let token = try? DeviceToken(push.deviceID, for: platform.kind) else { return .remove }
                    let answer = try await gateway.send(
                        TokenGateway.Message(content: push.content(for: platform.kind)), to: [token], on: platform)[
                            token]
                    return Status(answer ?? .pending)
                }
            ])
        router.serve(
            "mattermost/:key/api/v1/ack",
            [
                .post: answering { body, _ in
                    _ = try MattermostAcknowledgement(json: body)
                    return .ok
                }
            ])
    }

    private enum Status {
        case ok
        /// The server forgets the device's token.
        case remove
        case fail(String)

        init(_ answer: Answer) {
            if answer.isOfUselessToken {
                self = .remove
            } else if case .refused(let refusal) = answer {
                self = .fail("the provider refused it: \(refusal)")
            } else {
                self = .ok
            }
        }

        var json: JSONValue {
            switch self {
            case .ok: .object(["status": .string("OK")])
            case .remove: .object(["status": .string("REMOVE")])
            case .fail(let words): .object(["status": .string("FAIL"), "error": .string(words)])
            }
        }
    }

    private func answering(
        _ act: @escaping @Sendable ([UInt8], TokenGatewayDoor.Caller) async throws -> Status
    ) -> Router<APIContext>.Handler {
        { request, context in
            let caller = try await door.caller(
                .mattermost, key: context.parameters.get("key"), of: request, context)
            let body = try await request.bytes(atMost: TokenGatewayDoor.bodyBytesMax)
            let status: Status
            do { status = try await act(body, caller) } catch let error as InvalidInput {
                status = .fail(error.description)
            }
            return Response(json: ByteBuffer(bytes: status.json.encoded))
        }
    }
}
