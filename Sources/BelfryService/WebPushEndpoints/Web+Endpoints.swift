import FoundationEssentials
import Hummingbird

extension Web {
    /// Makes endpoints for pages, which give them with the browser's own keys to application servers. A browser is known as it is for its
    /// registration.
    struct Endpoints: Sendable {
        let services: Services

        func create(_ request: Request, on platform: Platform, _ access: WebAccess) async throws -> Response {
            let body = try Body(json: try await request.bytes(atMost: Web.bodyBytesMax))
            guard let token = body.subscription else { throw InvalidInput.missing("subscription") }
            guard let uuid = body.device else { throw InvalidInput.missing("device_uuid") }
            guard let device = try await services.store.device(uuid, on: platform.key), device.token == token,
                let application = try await services.store.application(platform.applicationKey)
            else { throw APIError(.notFound, "This platform has no device with that UUID and subscription") }
            let made = try await services.webPushEndpoints.create(
                body.endpoint, for: device, on: platform, of: application)
            var json = JSONWriter()
            json.object { $0.endpoint(made.endpoint, showing: ("path", WebPushEndpoint.path(made.capability))) }
            return Response(status: .created, json: json.buffer)
        }

        private struct Body: Admin.Body {
            static let fields = ["subscription", "device_uuid", "vapid_public_key"]
            private(set) var subscription: DeviceToken?
            private(set) var device: UUID?
            private(set) var endpoint = NewWebPushEndpoint()

            mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
                switch field {
                case "subscription": subscription = try RegistrationBody.subscription(field, from: &reader)
                case "device_uuid": device = try reader.uuid(field)
                default: try endpoint.read(field, from: &reader)
                }
            }
        }
    }
}
