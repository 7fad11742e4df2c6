package import BelfryCore
import FoundationEssentials
import PostgreSQL

extension PostgresStore: AuditStore {
    package func audited<Value: Sendable>(
        _ change: AuditedChange, _ work: () async throws -> Value
    ) async throws -> Value {
        let signature = AuditSignature(change)
        let value = try await AuditSignature.$pending.withValue(signature) { try await work() }
        if !signature.isKept { try await write { try signature.write(in: $0) } }
        return value
    }

    package func auditLog(_ query: AuditQuery) async throws -> [AuditEntry] {
        let before = query.before ?? Key(.max)
        return try await read { db in
            switch query.bounds {
            case .everything:
                try db.prepared(AuditStatements.all).all(
                    before, query.limit, query.from, query.until, query.keyID, as: AuditEntry.init)
            case .tenant(let tenant):
                try db.prepared(AuditStatements.ofTenant).all(
                    before, query.limit, query.from, query.until, query.keyID, tenant, as: AuditEntry.init)
            case .application(let application, _):
                try db.prepared(AuditStatements.ofApplication).all(
                    before, query.limit, query.from, query.until, query.keyID, application, as: AuditEntry.init)
            }
        }
    }
}

extension AuditEntry {
    /// From the columns of `AuditStatements.all` and its like.
    fileprivate init(_ row: Row) throws {
        self.init(
            key: Key(row.integer(0)), at: Instant(milliseconds: row.integer(1)),
            change: AuditedChange(
                keyID: row.textIfAny(2), address: row.textIfAny(3), action: row.text(4), subject: row.text(5),
                tenant: row.integerIfAny(6).map { Key($0) }, application: row.integerIfAny(7).map { Key($0) },
                details: try JSONDecoder().decode([String: String].self, from: Data(row.blob(8)))))
    }
}

enum AuditStatements {
    static let insert = """
        INSERT INTO audit /* audit.insert */ (
            at_ms, key_id, address, action, subject, tenant_id, application_id, details)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """

    static let all = """
        SELECT id, at_ms, key_id, address, action, subject, tenant_id, application_id, details /* audit.all */
          FROM audit
         WHERE id < $1 AND at_ms >= $3 AND at_ms < $4 AND ($5 IS NULL OR key_id = $5)
         ORDER BY id DESC
         LIMIT $2
        """

    /// Walks `audit_tenant` backwards.
    static let ofTenant = """
        SELECT id, at_ms, key_id, address, action, subject, tenant_id, application_id, details /* audit.of_tenant */
          FROM audit
         WHERE tenant_id = $6 AND id < $1 AND at_ms >= $3 AND at_ms < $4 AND ($5 IS NULL OR key_id = $5)
         ORDER BY id DESC
         LIMIT $2
        """

    /// Walks `audit_application` backwards.
    static let ofApplication = """
        SELECT id, at_ms, key_id, address, action, subject, tenant_id, application_id, details
               /* audit.of_application */
          FROM audit
         WHERE application_id = $6 AND id < $1 AND at_ms >= $3 AND at_ms < $4 AND ($5 IS NULL OR key_id = $5)
         ORDER BY id DESC
         LIMIT $2
        """
}
