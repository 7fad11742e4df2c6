import BelfryTesting
import GRDB
import Testing

@testable import BelfryService

@Suite struct AuditTests {
    @Test(arguments: ["UPDATE audit SET action = 'nothing'", "DELETE FROM audit"])
    func `the log cannot be changed, not even by hand`(sql: String) async throws {
        try await withSQLiteStore { store, _ in
            let change = AuditedChange(
                keyID: nil, address: nil, action: "a", subject: "s", tenant: nil, application: nil)
            try await store.audited(change) {}
            await #expect(throws: DatabaseError.self) { try await store.pool.write { try $0.execute(sql: sql) } }
            #expect(try await store.auditLog(AuditQuery(bounds: .everything, limit: 10)).map(\.change) == [change])
        }
    }

    @Test func `an audit line shares its change's transaction alone`() async throws {
        try await withSQLiteStore { store, _ in
            let change = AuditedChange(
                keyID: "k", address: nil, action: "app.create", subject: "s", tenant: nil, application: nil)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 { group.addTask { _ = try await store.create(.named("other \(number)")) } }
                group.addTask {
                    _ = try await store.audited(change) { try await store.create(.named("audited")) }
                }
                try await group.waitForAll()
            }
            #expect(try await store.applications().count == 21)
            #expect(try await store.auditLog(AuditQuery(bounds: .everything, limit: 10)).map(\.change) == [change])
        }
    }

    @Test func `a rolled-back write takes its audit line along`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let change = AuditedChange(
                keyID: "k", address: nil, action: "app.create", subject: "s", tenant: nil, application: nil)
            // The same UUID a second time: the row is refused by the database itself.
            let again = NewApplication(
                uuid: fixture.application.uuid, name: "again", apiKeyHash: [1], sharedSecret: Sealed(bytes: [2]))
            await #expect(throws: StoreError.self) {
                _ = try await store.audited(change) { try await store.create(again) }
            }
            #expect(try await store.auditLog(AuditQuery(bounds: .everything, limit: 10)).isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(20))) func `a crash's half-deleted platform is cleared`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let store = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true)
            let fixture = try await TestStore(store: store, clock: ManualClock())
            _ = try await fixture.registerMany(30)
            let push = try await fixture.push()
            try await store.pool.write { db in
                _ = try db.prepared(PlatformDeletionStatements.markDeleted).run(fixture.platform.key)
            }
            try await store.close()
            let next = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: false)
            #expect(try await next.platform(fixture.platform.uuid) == nil)
            while try await next.receipt(push.receiptID)?.state != .settled { await Task.yield() }
            while try await next.pool.read({ try Int.fetchOne($0, sql: "SELECT count(*) FROM device") }) != 0 {
                await Task.yield()
            }
            try await next.close()
        }
    }
}
