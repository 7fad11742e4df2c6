import BelfryCore
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

        /// Those that the key can see: all, or its own.
        private func list(_ call: Call) async throws -> Response {
            let query = try Query(call, Query.paging)
            switch call.key.bounds {
            case .everything:
                let limit = try query.limit()
                let found = try await factory.store.tenants(after: try query.cursor().map { Key($0[0]) }, limit: limit)
                return reply(found, next: found.count == limit ? found.last.map { Cursor($0.key.rawValue) } : nil)
            case .tenant(let own): return reply(try await [factory.store.tenant(own)].compactMap(\.self), next: nil)
            case .application: return reply([], next: nil)
            }
        }

        private func create(_ call: Call) async throws -> Response {
            try call.require(.change, on: .everything, called: "tenant")
            let name = try await call.body(as: NameBody.self).required()
            return .created(Self.json(try await factory.admin.createTenant(name: name, by: call.author)))
        }

        private func show(_ call: Call, _ tenant: Tenant) -> Response { Response(json: Self.json(tenant)) }

        private func update(_ call: Call, _ tenant: Tenant) async throws -> Response {
            let name = try await call.body(as: NameBody.self).required()
            try await factory.admin.rename(tenant, to: name, by: call.author)
            return Response(
                json: Self.json(
                    Tenant(key: tenant.key, uuid: tenant.uuid, name: name.text, createdAt: tenant.createdAt)))
        }

        /// For the operator alone: a tenant's admin cannot take away the ground it stands on.
        private func delete(_ call: Call, _ tenant: Tenant) async throws -> Response {
            try call.require(.change, on: .everything, called: "tenant")
            try await factory.admin.delete(tenant, by: call.author)
            return Response(status: .noContent)
        }

        private func reply(_ tenants: [Tenant], next: Cursor?) -> Response {
            var json = JSONWriter()
            json.object { json in
                json.array("tenants", tenants) { json, tenant in json.object { $0.tenant(tenant) } }
                json.next(next)
            }
            return Response(json: json.buffer)
        }

        private static func json(_ tenant: Tenant) -> ByteBuffer {
            var json = JSONWriter()
            json.object { $0.tenant(tenant) }
            return json.buffer
        }
    }

    /// A body that names something.
    struct NameBody: Body {
        static let fields = ["name"]
        private var name: String?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            name = try reader.string(field)
        }

        func required() throws(InvalidInput) -> Name {
            guard let name else { throw InvalidInput.missing("name") }
            return try Name(name)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func tenant(_ tenant: Tenant) {
        uuid("tenant_uuid", tenant.uuid)
        string("name", tenant.name)
        string("created_at", tenant.createdAt.text)
    }
}

extension Response {
    /// 201 with what was made.
    static func created(_ json: ByteBuffer) -> Response { Response(status: .created, json: json) }
}
