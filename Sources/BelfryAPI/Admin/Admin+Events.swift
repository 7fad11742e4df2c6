import BelfryCore
import HTTPTypes
import Hummingbird

extension Admin {
    /// What happens to an application's pushes, as it happens: `/admin/v1/apps/:app_uuid/events`.
    struct Events: Sendable {
        let desk: Desk
        let hub: EventHub

        var routes: [Route] { [desk.application(.get, "apps/:app_uuid/events", .read, follow)] }

        private func follow(_ call: Call, _ application: Application) async throws -> Response {
            try await desk.shares.streaming(.streams, for: ShareHolder(call.key, application)) {
                let reader = try await hub.subscribe(to: application.key, after: call.request.headers[.lastEventID])
                return EventStream(reader).response
            }
        }
    }
}
