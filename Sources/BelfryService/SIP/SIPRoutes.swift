import HTTPTypes
package import Hummingbird
import NIOCore

/// The gateway of SIP proxies and registrars: `POST` or `GET /sip/<key>/wake` with the push parameters of a contact.
///
/// A dead token is 410: the proxy removes the contact.
package struct SIPRoutes: Sendable {
    private let services: Services
    private let door: TokenGatewayDoor
    private let gateway: TokenGateway

    package init(_ services: Services, verdictWait: Duration = .seconds(5)) {
        self.services = services
        door = TokenGatewayDoor(services)
        gateway = TokenGateway(services, verdictWait: verdictWait)
    }

    package func add(to router: Router<APIContext>) {
        router.serve("sip/:key/wake", [.post: wake, .get: wake])
    }

    @Sendable private func wake(_ request: Request, _ context: APIContext) async throws -> Response {
        let caller = try await door.caller(.sip, key: context.parameters.get("key"), of: request, context)
        let body = try await request.bytes(atMost: TokenGatewayDoor.bodyBytesMax)
        let wake = try SIPWake(query: request.uri.query ?? "", body: body)
        let target = try wake.target()
        var platform = caller.platforms.only(target.kind, target.mode)
        for name in target.names { platform = try caller.platforms.named(name) ?? platform }
        guard let platform else {
            throw InvalidInput(
                field: "pn-param", "names no platform: its option, or a single platform of its type, is missing")
        }
        guard let token = try? DeviceToken(target.token, for: platform.kind) else { return Self.dead }
        let message = TokenGateway.Message(
            content: wake.content(for: platform.kind), expiresAt: wake.expiry(at: services.clock.now),
            id: wake.id(of: caller.endpoint, target))
        let answer = try await gateway.send(message, to: [token], on: platform)[token] ?? .pending
        if answer.isOfUselessToken { return Self.dead }
        if case .refused(let refusal) = answer {
            throw InvalidInput(field: "pn-prid", "was refused by the provider: \(refusal)")
        }
        return Response(json: ByteBuffer(string: #"{"accepted":true}"#))
    }

    private static var dead: Response {
        Response(
            status: .gone,
            json: ByteBuffer(string: #"{"error":"pn-prid is dead, or was never one: remove the contact"}"#))
    }
}
