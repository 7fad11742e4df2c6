import BelfryCore
import Hummingbird

extension Admin {
    /// What an application has of what it may have: `/admin/v1/apps/:app_uuid/quotas`.
    struct Quotas: Sendable {
        let factory: RouteFactory

        var routes: [Route] { [factory.application(.get, "apps/:app_uuid/quotas", .read, list)] }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let quotas = try await factory.store.quotas(of: application.key)
            var json = JSONWriter()
            json.object { json in
                json.array("quotas", quotas) { json, quota in json.object { $0.quota(quota) } }
            }
            return Response(json: json.buffer)
        }
    }
}

extension JSONWriter {
    /// A limit that is not there, and a use that each custom user id has for itself, are null.
    fileprivate mutating func quota(_ quota: QuotaUse) {
        string("quota", quota.quota.rawValue)
        integer("use", quota.use.map(Int64.init))
        integer("limit", quota.limit.map(Int64.init))
        string("setting", quota.quota.setting)
    }
}
