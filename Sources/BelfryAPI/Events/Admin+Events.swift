import BelfryService
import HTTPTypes
import Hummingbird

extension Admin {
    /// The event stream of an application's pushes: `/admin/v1/apps/:app_uuid/events`.
    struct Events: Sendable {
        let factory: RouteFactory
        let hub: EventHub

        var routes: [Route] { [factory.application(.get, "apps/:app_uuid/events", .read, follow)] }

        private func follow(_ call: Call, _ application: Application) async throws -> Response {
            try await factory.shares.streaming(.streams, for: ShareHolder(call.key, application)) {
                let reader = try await hub.subscribe(to: application.key, after: call.request.headers[.lastEventID])
                return EventStream(reader).response
            }
        }
    }
}
