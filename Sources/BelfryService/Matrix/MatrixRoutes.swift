import HTTPTypes
package import Hummingbird
import NIOCore

/// The push gateway of Matrix: homeservers notify it of events for the devices of their users.
///
/// A homeserver sends no credentials: the key is in the query of the URL that the app gave it. Source: Matrix specification, Push Gateway API.
package struct MatrixRoutes: Sendable {
    private let services: Services
    private let door: TokenGatewayDoor
    private let gateway: TokenGateway

    package init(_ services: Services, verdictWait: Duration = .seconds(5)) {
        self.services = services
        door = TokenGatewayDoor(services)
        gateway = TokenGateway(services, verdictWait: verdictWait)
    }

    package func add(to router: Router<APIContext>) {
        router.serve("_matrix/push/v1/notify", [.post: notify])
    }

    private func notify(_ request: Request, _ context: APIContext) async throws -> Response {
        let caller = try await door.caller(
            .matrix, key: request.uri.queryParameters["key"].map(String.init), of: request, context)
        return try await services.shares.uploading(
            request, atMost: MatrixNotification.bytesMax, for: ShareHolder(caller.application)
        ) {
            let body = try await request.bytes(atMost: MatrixNotification.bytesMax)
            do {
                let notification = try MatrixNotification(json: body)
                try caller.charge(messages: notification.devices.count)
                let rejected = try await rejected(by: notification, caller)
                return Response(json: ByteBuffer(bytes: JSONValue.object(["rejected": .strings(rejected)]).encoded))
            } catch let error as InvalidInput {
                return Response(
                    status: .badRequest,
                    json: ByteBuffer(
                        bytes: JSONValue.object(["errcode": .string("M_BAD_JSON"), "error": .string(error.description)])
                            .encoded))
            }
        }
    }

    /// The pushkeys that the homeserver should forget. A fault of one device is none of the others'.
    private func rejected(by notification: MatrixNotification, _ caller: TokenGatewayDoor.Caller) async throws
        -> [String]
    {
        try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
            for (index, device) in notification.devices.enumerated() {
                group.addTask { (index, try await isRejected(device, of: notification, caller)) }
            }
            let all = try await group.reduce(into: []) { $0.append($1) }
            return all.filter(\.1).map(\.0).sorted().map { notification.devices[$0].pushkey }
        }
    }

    private func isRejected(
        _ device: MatrixNotification.Device, of notification: MatrixNotification, _ caller: TokenGatewayDoor.Caller
    ) async throws -> Bool {
        guard let platform = try caller.platforms.named(device.appID),
            let token = try? device.token(for: platform.kind)
        else { return true }
        do {
            guard let content = try notification.content(for: device, on: platform.kind) else { return false }
            let message = TokenGateway.Message(
                content: content, id: notification.id(for: device, of: caller.endpoint), tokensSince: device.since)
            return try await gateway.send(message, to: [token], on: platform)[token]?.isOfDeadToken ?? false
        } catch is InvalidInput {
            // A homeserver that is refused repeats the request, and sends the user nothing else meanwhile.
            return false
        }
    }
}
