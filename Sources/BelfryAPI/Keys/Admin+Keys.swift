import BelfryService
import FoundationEssentials
import Hummingbird

extension Admin {
    /// Admin keys: `/admin/v1/keys`. Their secrets are shown when they are created, and never again.
    struct Keys: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.open(.get, "keys", list),
                factory.open(.post, "keys", create),
                factory.key(.get, "keys/:key_id", show),
                factory.key(.post, "keys/:key_id/rotate", rotate),
                factory.key(.delete, "keys/:key_id", revoke),
            ]
        }

        /// The keys within the bounds of the caller's key.
        private func list(_ call: Call) async throws -> Response {
            try call.require(.administer, on: Permission.Subject(call.key.bounds), called: "key")
            let query = try Query(call, Query.paging)
            let limit = try query.limit()
            let keys = try await factory.store.adminKeys(
                within: call.key.bounds, after: try query.cursor().map { Key($0[0]) }, limit: limit)
            var replies: [KeyReply] = []
            for key in keys { replies.append(try await reply(key)) }
            return try Response(
                KeysReply(
                    keys: replies,
                    next_cursor: keys.count == limit ? keys.last.map { Cursor($0.key.rawValue).text } : nil))
        }

        private func create(_ call: Call) async throws -> Response {
            let body = try await call.body(as: NewKey.self)
            let (name, scope) = try body.required()
            let bounds = try await factory.bounds(
                tenant: body.tenant, application: body.application, or: nil, call)
            try call.require(.administer, on: Permission.Subject(bounds), called: "tenant or app")
            let created = try await factory.admin.createKey(name: name, scope: scope, bounds: bounds, by: call.author)
            return try .created(try await reply(created.key, text: created.text))
        }

        private func show(_ call: Call, _ key: AdminKey) async throws -> Response {
            try Response(try await reply(key))
        }

        private func rotate(_ call: Call, _ key: AdminKey) async throws -> Response {
            guard key.revokedAt == nil else { throw APIError(.conflict, "The key is revoked") }
            let grace = try await call.bodyIfAny(as: Grace.self).duration
            let text = try await factory.admin.rotate(key, grace: grace, by: call.author)
            let ended = factory.admin.graceEndedEarly(key.previous?.validUntil)
            return try Response(try await reply(key, text: text, graceEndedEarly: ended))
        }

        private func revoke(_ call: Call, _ key: AdminKey) async throws -> Response {
            try await factory.admin.revoke(key, by: call.author)
            return Response(status: .noContent)
        }

        private func reply(
            _ key: AdminKey, text: AdminKey.Text? = nil, graceEndedEarly: Instant? = nil
        ) async throws -> KeyReply {
            let uuids = try await factory.uuids(of: key.bounds)
            return KeyReply(
                key, tenant: uuids.tenant, application: uuids.application, text: text, graceEndedEarly: graceEndedEarly)
        }
    }

    private struct NewKey: Body {
        static let fields = ["name", "scope", "tenant_uuid", "app_uuid"]
        private var name: String?
        private var scope: AdminKey.Scope?
        private(set) var tenant: UUID?
        private(set) var application: UUID?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "name": name = try reader.string(field)
            case "scope": scope = try reader.choice(field)
            case "tenant_uuid": tenant = try reader.uuid(field)
            default: application = try reader.uuid(field)
            }
        }

        func required() throws(InvalidInput) -> (Name, AdminKey.Scope) {
            guard let name else { throw InvalidInput.missing("name") }
            guard let scope else { throw InvalidInput.missing("scope") }
            guard tenant == nil || application == nil else {
                throw InvalidInput(field: "tenant_uuid", "and app_uuid exclude each other")
            }
            return (try Name(name), scope)
        }
    }
}

extension Admin.RouteFactory {
    /// The bounds that a body names, of a key or of a person.
    ///
    /// - Parameter fallback: where it names none; nil for those of the caller's key.
    func bounds(
        tenant: UUID?, application: UUID?, or fallback: AdminKey.Bounds?, _ call: Admin.Call
    ) async throws -> AdminKey.Bounds {
        if let application {
            guard let application = try await store.application(application) else { throw APIError.missing("app") }
            try call.require(.read, on: Permission.Subject(application), called: "app")
            return .application(application.key, of: application.tenantKey)
        }
        guard let tenant else { return fallback ?? call.key.bounds }
        guard let tenant = try await store.tenant(tenant) else { throw APIError.missing("tenant") }
        try call.require(.read, on: .tenant(tenant.key), called: "tenant")
        return .tenant(tenant.key)
    }

    /// The tenant and application of bounds, by the ids that callers know; nil for deleted ones.
    func uuids(of bounds: AdminKey.Bounds) async throws -> (tenant: UUID?, application: UUID?) {
        switch bounds {
        case .everything: (nil, nil)
        case .tenant(let tenant): (try await store.tenant(tenant)?.uuid, nil)
        case .application(let application, let tenant):
            (try await store.tenant(tenant)?.uuid, try await store.application(application)?.uuid)
        }
    }
}
