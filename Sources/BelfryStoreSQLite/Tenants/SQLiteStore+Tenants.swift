package import BelfryCore
package import FoundationEssentials
import GRDB

extension SQLiteStore: TenantStore {
    package func create(_ tenant: NewTenant) async throws -> Tenant {
        try await writer.write { session in
            let now = session.clock.now
            try session.prepared(TenantStatements.insert).run(tenant.uuid, tenant.name.text, now)
            return Tenant(
                key: Key(session.db.lastInsertedRowID), uuid: tenant.uuid, name: tenant.name.text, createdAt: now)
        }
    }

    package func tenants(after: Key<Tenant>?, limit: Int) async throws -> [Tenant] {
        try await read { db in
            try db.prepared(TenantStatements.list).all(after ?? Key(0), limit, as: Tenant.init)
        }
    }

    package func tenant(_ uuid: UUID) async throws -> Tenant? {
        try await read { db in try db.prepared(TenantStatements.byUUID).first(uuid, as: Tenant.init) }
    }

    package func tenant(_ key: Key<Tenant>) async throws -> Tenant? {
        try await read { db in try db.prepared(TenantStatements.byKey).first(key, as: Tenant.init) }
    }

    package func rename(_ tenant: Key<Tenant>, to name: Name) async throws {
        try await writer.write { session in
            try session.prepared(TenantStatements.rename).run(name.text, tenant)
            guard session.db.changesCount > 0 else { throw StoreError.unknown("tenant \(tenant)") }
        }
    }

    package func delete(_ tenant: Key<Tenant>) async throws {
        guard tenant != Tenant.first else { throw StoreError.notEmpty("the first tenant cannot be deleted") }
        try await writer.write { session in
            let count = try session.prepared(TenantStatements.applicationCount).first(tenant) { $0.integer(0) } ?? 0
            guard count == 0 else {
                throw StoreError.notEmpty("the tenant has \(count) applications, which have to be deleted first")
            }
            try session.prepared(TenantStatements.delete).run(tenant)
            guard session.db.changesCount > 0 else { throw StoreError.unknown("tenant \(tenant)") }
            try session.prepared(AdminKeyStatements.revokeOfTenant).run(session.clock.now, tenant)
        }
    }
}

extension Tenant {
    /// From the columns of `TenantStatements.list`, `byUUID` and `byKey`.
    fileprivate init(_ row: Columns) throws {
        guard let uuid = row.withBlob(1, { UUID(bytes: $0) }) else {
            throw StoreError.damaged("tenant \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), uuid: uuid, name: row.text(2), createdAt: Instant(milliseconds: row.integer(3)))
    }
}

enum TenantStatements {
    static let insert = """
        INSERT INTO tenant /* tenants.insert */ (uuid, name, created_at_ms) VALUES (?1, ?2, ?3)
        """

    static let list = """
        SELECT id, uuid, name, created_at_ms /* tenants.list */ FROM tenant WHERE id > ?1 ORDER BY id LIMIT ?2
        """

    static let byUUID = """
        SELECT id, uuid, name, created_at_ms /* tenants.by_uuid */ FROM tenant WHERE uuid = ?1
        """

    static let byKey = """
        SELECT id, uuid, name, created_at_ms /* tenants.by_key */ FROM tenant WHERE id = ?1
        """

    static let rename = """
        UPDATE tenant /* tenants.rename */ SET name = ?1 WHERE id = ?2
        """

    /// Those too that are still being cleared away: they name the tenant until they are gone.
    static let applicationCount = """
        SELECT count(*) /* tenants.application_count */ FROM application WHERE tenant_id = ?1
        """

    static let delete = """
        DELETE FROM tenant /* tenants.delete */ WHERE id = ?1
        """

    static let exists = """
        SELECT 1 /* tenants.exists */ FROM tenant WHERE id = ?1
        """
}
