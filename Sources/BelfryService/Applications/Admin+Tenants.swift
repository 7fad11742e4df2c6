import FoundationEssentials
import Hummingbird

extension Admin {
    /// Tenants: `/admin/v1/tenants`.
    struct Tenants: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.open(.get, "tenants", list),
                factory.open(.post, "tenants", create),
                factory.tenant(.get, "tenants/:tenant_uuid", .read, show),
                factory.tenant(.patch, "tenants/:tenant_uuid", .change, update),
                factory.tenant(.delete, "tenants/:tenant_uuid", .change, delete),
            ]
        }

        /// Lists what the key may see: all tenants, or its own.
        private func list(_ call: Call) async throws -> Response {
            let query = try Query(call, Query.paging)
            switch call.key.bounds {
            case .everything:
                let limit = try query.limit()
                let found = try await factory.store.tenants(after: try query.cursor().map { Key($0[0]) }, limit: limit)
                return try reply(found, next: found.count == limit ? found.last.map { Cursor($0.key.rawValue) } : nil)
            case .tenant(let own): return try reply(try await [factory.store.tenant(own)].compactMap(\.self), next: nil)
            case .application: return try reply([], next: nil)
            }
        }

        private func create(_ call: Call) async throws -> Response {
            try call.require(.change, on: .everything, called: "tenant")
            let name = try await call.body(as: NameBody.self).required()
            return try .created(TenantReply(try await factory.admin.createTenant(name: name, by: call.author)))
        }

        private func show(_ call: Call, _ tenant: Tenant) throws -> Response { try Response(TenantReply(tenant)) }

        private func update(_ call: Call, _ tenant: Tenant) async throws -> Response {
            let name = try await call.body(as: NameBody.self).required()
            try await factory.admin.rename(tenant, to: name, by: call.author)
            return try Response(
                TenantReply(Tenant(key: tenant.key, uuid: tenant.uuid, name: name.text, createdAt: tenant.createdAt)))
        }

        /// Requires an operator's key: no key may delete its own tenant.
        private func delete(_ call: Call, _ tenant: Tenant) async throws -> Response {
            try call.require(.change, on: .everything, called: "tenant")
            try await factory.admin.delete(tenant, by: call.author)
            return Response(status: .noContent)
        }

        private func reply(_ tenants: [Tenant], next: Cursor?) throws -> Response {
            try Response(TenantsReply(tenants: tenants.map(TenantReply.init), next_cursor: next?.text))
        }
    }

    /// A body with a name.
    struct NameBody: Body {
        static let fields = ["name"]
        private var name: String?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            name = try reader.string(field)
        }

        func required() throws(InvalidInput) -> Name { try Name(name.given(as: "name")) }
    }
}
