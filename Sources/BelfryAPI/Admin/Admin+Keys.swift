import BelfryCore
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
            let keyBounds = try await keyBounds(of: keys)
            return try Response(
                KeysReply(
                    keys: zip(keys, keyBounds).map { KeyReply($0, tenant: $1.tenant, application: $1.application) },
                    next_cursor: keys.count == limit ? keys.last.map { Cursor($0.key.rawValue).text } : nil))
        }

        private func create(_ call: Call) async throws -> Response {
            let body = try await call.body(as: NewKey.self)
            let (name, scope) = try body.required()
            let bounds = try await bounds(body, call)
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

        /// The bounds of the caller's key, unless the body names narrower ones.
        private func bounds(_ body: NewKey, _ call: Call) async throws -> AdminKey.Bounds {
            if let uuid = body.application {
                guard let application = try await factory.store.application(uuid) else { throw APIError.missing("app") }
                try call.require(.read, on: Permission.Subject(application), called: "app")
                return .application(application.key, of: application.tenantKey)
            }
            guard let uuid = body.tenant else { return call.key.bounds }
            guard let tenant = try await factory.store.tenant(uuid) else { throw APIError.missing("tenant") }
            try call.require(.read, on: .tenant(tenant.key), called: "tenant")
            return .tenant(tenant.key)
        }

        /// The tenant and application of a key's bounds, by the ids that callers know.
        private struct KeyBounds: Sendable {
            var tenant: UUID?
            var application: UUID?
        }

        private func keyBounds(of keys: [AdminKey]) async throws -> [KeyBounds] {
            var keyBounds: [KeyBounds] = []
            for key in keys {
                switch key.bounds {
                case .everything: keyBounds.append(KeyBounds())
                case .tenant(let tenant):
                    keyBounds.append(KeyBounds(tenant: try await factory.store.tenant(tenant)?.uuid))
                case .application(let application, let tenant):
                    keyBounds.append(
                        KeyBounds(
                            tenant: try await factory.store.tenant(tenant)?.uuid,
                            application: try await factory.store.application(application)?.uuid))
                }
            }
            return keyBounds
        }

        private func reply(
            _ key: AdminKey, text: AdminKey.Text? = nil, graceEndedEarly: Instant? = nil
        ) async throws -> KeyReply {
            let bounds = try await keyBounds(of: [key]).first ?? KeyBounds()
            return KeyReply(
                key, tenant: bounds.tenant, application: bounds.application, text: text,
                graceEndedEarly: graceEndedEarly)
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
