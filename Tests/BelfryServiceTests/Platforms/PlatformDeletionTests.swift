import BelfryTesting
import GRDB
import PostgreSQL
import Testing

@testable import BelfryService

@Suite struct PlatformDeletionTests {
    @Test func `a deletion's step costs no more with more topics`() async throws {
        try await withSQLiteStore { few, _ in
            try await withSQLiteStore { many, _ in
                let cost = try await costOfDearestStep(of: few, topics: 1_000)
                #expect(cost > 0)
                #expect(try await costOfDearestStep(of: many, topics: 3_000) <= cost * 5 / 4)
            }
        }
    }

    /// Each topic has a posting list of the platform and of another, which stays.
    private func costOfDearestStep(of store: SQLiteStore, topics: Int) async throws -> Int {
        let fixture = try await TestStore(store: store, clock: ManualClock())
        let other = try await store.create(.of(fixture.application))
        let platform = fixture.platform.key
        return try await store.writer.write { session in
            try session.db.execute(
                sql: """
                    WITH RECURSIVE number AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM number WHERE n < ?)
                    INSERT INTO topic (application_id, name) SELECT ?, 'topic ' || n FROM number;
                    INSERT INTO subscription (topic_id, platform_id, device_id)
                    SELECT topic.id, platform.id, 1 FROM topic, platform
                    """, arguments: [topics, fixture.application.key.rawValue])
            _ = try session.prepared(PlatformDeletionStatements.markDeleted).run(platform)
            var rest: PlatformRest? = PlatformRest(platform: platform)
            let cost = try session.costOfDearest {
                if let next = rest { rest = try PlatformDeletion(session: session).step(next) }
                return rest != nil
            }
            let left = try Int.fetchAll(session.db, sql: "SELECT DISTINCT platform_id FROM subscription")
            #expect(left == [Int(other.key.rawValue)])
            #expect(try Int.fetchOne(session.db, sql: "SELECT count(*) FROM subscription") == topics)
            return cost
        }
    }

    private static let waiting = """
        SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
         WHERE NOT granted AND datname = current_database() AND query LIKE '%platform_deletion.%'
        """

    @Test func `two steps of a deletion at once take turns`() async throws {
        try await withPostgresStore { store, connection in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let platform = fixture.platform.key
            // In the place of whichever node's turn it would be.
            let watching = try Connection(ConnectionOptions(connection))
            try watching.prepared("SELECT pg_advisory_lock(7236828794)").run()
            _ = try await fixture.registerMany(300)
            try await store.write { _ = try $0.prepared(PlatformDeletionStatements.markDeleted).run(platform) }
            let first = try Connection(ConnectionOptions(connection))
            let session = try store.begin(on: first)
            #expect(try PlatformDeletion(session: session).step(PlatformRest(platform: platform)) != nil)
            async let second = store.write {
                try PlatformDeletion(session: $0).step(PlatformRest(platform: platform)) != nil
            }
            while try watching.prepared(Self.waiting).first(as: { $0.integer(0) }) == 0 { await Task.yield() }
            try session.commit()
            #expect(try await second)
            #expect(try await store.read { try $0.prepared("SELECT 1 FROM device").hasRow() } == false)
            #expect(try await store.read { try $0.prepared("SELECT 1 FROM platform").hasRow() })
        }
    }
}
