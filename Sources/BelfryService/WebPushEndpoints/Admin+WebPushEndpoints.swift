import FoundationEssentials
import Hummingbird

extension Admin {
    /// Endpoints of a device for application servers: `/admin/v1/apps/:app_uuid/devices/:device_uuid/endpoints`.
    struct WebPushEndpoints: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            let path = "apps/:app_uuid/devices/:device_uuid/endpoints"
            return [
                factory.device(.get, path, .read, list), factory.device(.post, path, .change, create),
                factory.device(.delete, "\(path)/:web_push_endpoint_id", .change, delete),
            ]
        }

        private func list(
            _ call: Call, _ device: Device, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            .endpoints(try await factory.store.webPushEndpoints(of: device))
        }

        /// The reply has the path below the public URL, which is shown once.
        private func create(
            _ call: Call, _ device: Device, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            let new = try await call.bodyIfAny(as: NewWebPushEndpoint.self)
            let made = try await factory.services.webPushEndpoints.create(
                new, for: device, on: platform, of: application, by: call.author)
            return .object(status: .created) {
                $0.endpoint(made.endpoint, showing: ("path", WebPushEndpoint.path(made.capability)))
            }
        }

        private func delete(
            _ call: Call, _ device: Device, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            let key: Key<WebPushEndpoint> = try call.key("web_push_endpoint_id").orMissing("endpoint")
            try await factory.services.webPushEndpoints.delete(key, of: device, in: application, by: call.author)
            return Response(status: .noContent)
        }
    }
}
