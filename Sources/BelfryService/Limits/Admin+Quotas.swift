import Hummingbird

extension Admin {
    /// How much of its quotas an application uses: `/admin/v1/apps/:app_uuid/quotas`.
    struct Quotas: Sendable {
        let factory: RouteFactory

        var routes: [Route] { [factory.application(.get, "apps/:app_uuid/quotas", .read, list)] }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let quotas = try await factory.store.quotas(of: application.key)
            return try Response(QuotasReply(quotas: quotas.map(QuotasReply.Quota.init)))
        }
    }
}
