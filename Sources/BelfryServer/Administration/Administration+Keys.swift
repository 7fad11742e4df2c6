package import BelfryAPI
package import BelfryCore
package import Foundation

/// Tenants and admin keys, as the commands on the server's own machine change them. Each change is audited, as made by
/// nobody's key.
extension Administration {
    package func createTenant(name: Name) async throws -> Tenant {
        let tenant = NewTenant(uuid: UUID(), name: name)
        return try await audited("tenant.create", tenant.uuid.lowercased, ["name": name.text]) {
            try await store.create(tenant)
        }
    }

    package func tenants() async throws -> [Tenant] {
        try await all { try await store.tenants(after: $0?.key, limit: $1) }
    }

    package func createKey(
        name: Name, scope: AdminKey.Scope, tenant: UUID? = nil, application: UUID? = nil
    ) async throws -> Office.CreatedKey {
        let bounds = try await bounds(tenant: tenant, application: application)
        let text = Admin.KeyText.random()
        return try await audited("key.create", text.id, ["name": name.text, "scope": scope.rawValue]) {
            try await office.createKey(text, name: name, scope: scope, bounds: bounds)
        }
    }

    package func adminKeys() async throws -> [AdminKey] {
        try await all { try await store.adminKeys(within: .everything, after: $0?.key, limit: $1) }
    }

    package func rotateKey(_ id: String, grace: Duration) async throws -> Admin.KeyText {
        let key = try await adminKey(id)
        let graceEnd = grace > .zero ? clock.now + grace : nil
        return try await audited("key.rotate", id, ["grace_seconds": String(grace.components.seconds)]) {
            try await office.rotate(key, graceEnd: graceEnd)
        }
    }

    package func revokeKey(_ id: String) async throws {
        let key = try await adminKey(id)
        try await audited("key.revoke", id, ["name": key.name]) { try await store.revoke(key.key) }
    }

    private func adminKey(_ id: String) async throws -> AdminKey {
        guard let key = try await store.adminKey(id) else { throw StoreError.unknown("admin key \(id)") }
        return key
    }

    private func bounds(tenant: UUID?, application: UUID?) async throws -> AdminKey.Bounds {
        if let application {
            let application = try await self.application(application)
            return .application(application.key, of: application.tenantKey)
        }
        guard let tenant else { return .everything }
        guard let found = try await store.tenant(tenant) else {
            throw StoreError.unknown("tenant \(tenant.lowercased)")
        }
        return .tenant(found.key)
    }

    private func audited<Value: Sendable>(
        _ action: String, _ subject: String, _ details: [String: String], _ work: () async throws -> Value
    ) async throws -> Value {
        let change = AuditedChange(
            keyID: nil, address: nil, action: action, subject: subject, tenant: nil, application: nil,
            details: details)
        return try await store.audited(change, work)
    }

    private func all<Thing>(_ next: (Thing?, Int) async throws -> [Thing]) async throws -> [Thing] {
        let stride = 200
        var things: [Thing] = []
        while true {
            let found = try await next(things.last, stride)
            things += found
            if found.count < stride { return things }
        }
    }
}
