import BelfryService
import FoundationEssentials
import Hummingbird

extension PCF {
    /// `GET /v1/registration/:device_uuid/messages`, which PCF does not have: an app asks for the messages sent to it.
    struct DeviceMessages: Sendable {
        let store: any DeviceStore
        let service: DeviceMessageService

        func list(_ uuid: UUID?, _ request: Request, on platform: Platform) async throws -> Response {
            let limit = try Self.limit(request.uri.queryParameters["limit"].map(String.init))
            guard let uuid, let device = try await store.device(uuid, on: platform.key) else {
                throw APIError(.notFound, "This platform has no device with that UUID")
            }
            let found = try await service.latest(of: device, on: platform, limit: limit)
            var json = JSONWriter()
            json.object { json in
                json.array("messages", found) { json, message in
                    json.object { json in
                        json.uuid("receipt_id", message.push.receiptID)
                        json.integer("accepted_at", message.push.acceptedAt.milliseconds)
                        json.integer("expires_at", message.push.expiresAt?.milliseconds)
                        json.value("payload", message.payload)
                    }
                }
            }
            return Response(json: json.buffer)
        }

        private static func limit(_ text: String?) throws(InvalidInput) -> Int {
            guard let text else { return DeviceMessage.countMax }
            guard let limit = Int(text), 1...DeviceMessage.countMax ~= limit else {
                throw InvalidInput(
                    field: "limit", "is '\(text.prefix(24))', it has to be 1 to \(DeviceMessage.countMax)")
            }
            return limit
        }
    }
}
