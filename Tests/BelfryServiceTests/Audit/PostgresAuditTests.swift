import BelfryTesting
import PostgreSQL
import Testing

@testable import BelfryService

@Suite struct PostgresAuditTests {
    @Test(arguments: [
        "UPDATE audit SET action = 'nothing'", "DELETE FROM audit", "TRUNCATE audit",
        "INSERT INTO audit_horizon (id, at_ms) VALUES (1, 1); DELETE FROM audit",
    ])
    func `the log cannot be changed, not even by hand`(sql: String) async throws {
        try await withPostgresStore { store, _ in
            let change = AuditedChange(
                keyID: nil, address: nil, action: "a", subject: "s", tenant: nil, application: nil)
            try await store.audited(change) {}
            await #expect(throws: (any Error).self) { try await store.readCommitted { try $0.run(script: sql) } }
            #expect(try await store.auditLog(AuditQuery(bounds: .everything, limit: 10)).map(\.change) == [change])
        }
    }
}
