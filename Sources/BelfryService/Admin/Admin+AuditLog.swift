import FoundationEssentials
import Hummingbird

extension Admin {
    /// The audit log: `/admin/v1/audit`, newest first.
    struct AuditLog: Sendable {
        let factory: RouteFactory

        var routes: [Route] { [factory.open(.get, "audit", list)] }

        private func list(_ call: Call) async throws -> Response {
            try call.require(.administer, on: Permission.Subject(call.key.bounds), called: "audit log")
            let asked = try await query(call)
            let entries = try await factory.shares.holding(.searches, for: ShareHolder(call.key)) {
                try await factory.store.auditLog(asked)
            }
            return try Response(
                AuditReply(
                    entries: entries.map(AuditReply.Entry.init),
                    next_cursor: entries.count == asked.limit
                        ? entries.last.map { Cursor($0.key.rawValue).text } : nil))
        }

        private func query(_ call: Call) async throws -> AuditQuery {
            let query = try Query(call, Query.paging + ["app_uuid", "key_id", "from", "until"])
            return AuditQuery(
                bounds: try await bounds(query.text("app_uuid"), call), keyID: query.text("key_id")?.lowerCase,
                from: try query.instant("from") ?? .distantPast, until: try query.instant("until") ?? .distantFuture,
                before: try query.cursor().map { Key($0[0]) }, limit: try query.limit())
        }

        /// The key's bounds, or an application within them.
        private func bounds(_ text: String?, _ call: Call) async throws -> AdminKey.Bounds {
            let uuid = try text.map { try UUID(text: $0).orMissing("app") }
            let bounds = try await factory.bounds(tenant: nil, application: uuid, or: nil, call)
            try call.require(.administer, on: Permission.Subject(bounds), called: "app")
            return bounds
        }
    }
}
