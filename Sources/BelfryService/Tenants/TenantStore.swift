package import FoundationEssentials

/// Tenants: few, and read by the admin API alone.
package protocol TenantStore: Sendable {
    func create(_ tenant: NewTenant) async throws -> Tenant
    /// In the order of creation, after `after`.
    func tenants(after: Key<Tenant>?, limit: Int) async throws -> [Tenant]
    func tenant(_ uuid: UUID) async throws -> Tenant?
    func tenant(_ key: Key<Tenant>) async throws -> Tenant?
    func rename(_ tenant: Key<Tenant>, to name: Name) async throws
    /// Deletes the tenant and revokes its keys. Throws `StoreError.conflict` while it has applications, and always for
    /// `Tenant.first`.
    func delete(_ tenant: Key<Tenant>) async throws
}

/// A tenant before it is created.
package struct NewTenant: Sendable, Hashable {
    package let uuid: UUID
    package let name: Name

    package init(uuid: UUID, name: Name) {
        self.uuid = uuid
        self.name = name
    }
}
