package import FoundationEssentials

extension Store {
    /// Returns the existing tenant where one has the UUID, and then changes nothing.
    package func create(_ tenant: NewTenant) async throws -> Tenant {
        try await writeChange { session in
            let isNew =
                try session.prepared(TenantStatements.insert).run(tenant.uuid, tenant.name.text, session.now) > 0
            guard let made = try session.prepared(TenantStatements.byUUID).first(tenant.uuid, as: Tenant.init) else {
                throw StoreError.unknown("tenant \(tenant.uuid)")
            }
            guard isNew else { throw Unchanged(made) }
            return made
        }
    }

    /// In the order of creation, after `after`.
    package func tenants(after: Key<Tenant>?, limit: Int) async throws -> [Tenant] {
        try await read { [damagedRows] db in
            try DamagedRows.slice(of: limit, after: after ?? Key(0)) { after, limit in
                try db.prepared(TenantStatements.list).all(after, limit) { row in
                    let key = Key<Tenant>(row.integer(0))
                    return (key, try damagedRows.readable("tenant \(key)") { try Tenant(row) })
                }
            }
        }
    }

    package func tenant(_ uuid: UUID) async throws -> Tenant? {
        try await read { db in try db.prepared(TenantStatements.byUUID).first(uuid, as: Tenant.init) }
    }

    package func tenant(_ key: Key<Tenant>) async throws -> Tenant? {
        try await read { db in try db.prepared(TenantStatements.byKey).first(key, as: Tenant.init) }
    }

    package func rename(_ tenant: Key<Tenant>, to name: Name) async throws {
        try await write { try $0.change(TenantStatements.rename, name.text, tenant, of: "tenant \(tenant)") }
    }

    /// Deletes the tenant and revokes its keys. Throws `StoreError.conflict` while it has applications, and always for
    /// `Tenant.first`.
    package func delete(_ tenant: Key<Tenant>) async throws {
        guard tenant != Tenant.first else { throw StoreError.conflict("the first tenant cannot be deleted") }
        try await write { session in
            let count = try session.prepared(TenantStatements.applicationCounts).first(tenant) { row in
                (all: row.integer(0), listed: row.integer(1))
            }
            if let count, count.all > 0 {
                throw StoreError.conflict(
                    count.listed > 0
                        ? "the tenant has \(count.listed) applications, which have to be deleted first"
                        : "the tenant's applications are still being cleared away: try again later")
            }
            try session.change(TenantStatements.delete, tenant, of: "tenant \(tenant)")
            try session.prepared(AdminKeyStatements.revokeOfTenant).run(session.now, tenant)
            try session.prepared(PersonStatements.disableOfTenant).run(session.now, tenant)
            try session.prepared(InvitationStatements.deleteOfBounds).send(tenant, Key<Application>?.none)
        }
    }
}

extension Tenant {
    /// From the columns of `TenantStatements.list`, `byUUID` and `byKey`.
    fileprivate init(_ row: some SQLRow) throws {
        guard let uuid = row.uuid(1) else { throw StoreError.damaged("tenant \(row.integer(0))") }
        self.init(
            key: Key(row.integer(0)), uuid: uuid, name: row.text(2), createdAt: Instant(milliseconds: row.integer(3)))
    }
}

enum TenantStatements {
    static let insert: SQLText = """
        INSERT INTO tenant /* tenants.insert */ (uuid, name, created_at_ms) VALUES ($1, $2, $3)
            ON CONFLICT (uuid) DO NOTHING
        """

    static let list: SQLText = """
        SELECT id, uuid, name, created_at_ms /* tenants.list */ FROM tenant WHERE id > $1 ORDER BY id LIMIT $2
        """

    static let byUUID: SQLText = """
        SELECT id, uuid, name, created_at_ms /* tenants.by_uuid */ FROM tenant WHERE uuid = $1
        """

    static let byKey: SQLText = "SELECT id, uuid, name, created_at_ms /* tenants.by_key */ FROM tenant WHERE id = $1"

    static let rename: SQLText = "UPDATE tenant /* tenants.rename */ SET name = $1 WHERE id = $2"

    /// All, since those that are still being deleted refer to the tenant until they are gone, and those that are listed.
    static let applicationCounts: SQLText = """
        SELECT count(*), count(*) FILTER (WHERE NOT is_being_deleted) /* tenants.application_counts */
          FROM application
         WHERE tenant_id = $1
        """

    static let delete: SQLText = "DELETE FROM tenant /* tenants.delete */ WHERE id = $1"

    static let exists: SQLText = "SELECT 1 /* tenants.exists */ FROM tenant WHERE id = $1 \(SQLText.forKeyShare)"
}

/// A tenant before it is created.
package struct NewTenant: Sendable, Hashable {
    package let uuid: UUID
    package let name: Name
}
