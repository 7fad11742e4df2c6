import BelfryTesting
import PostgreSQL
import Testing

@testable import BelfryService

/// The posting lists hold what the devices' rows say, merged or not.
@Suite(.timeLimit(.minutes(20))) struct PostgresSubscriptionTests {
    @Test(arguments: [21, 22, 23] as [UInt64])
    func `the lists equal the rows after any history`(seed: UInt64) async throws {
        try await withPostgresStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            try await fixture.tellOfSubscriptions(seed: seed) {
                try await fixture.expectListsLikeRows()
                try await store.mergeAll()
                try await fixture.expectListsLikeRows()
            }
        }
    }

    @Test func `a device with an id before its commit is merged`() async throws {
        try await withPostgresStore { store, connection in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let first = try await fixture.register("0", topics: .replace(["town"]))
            let straggler = try Connection(ConnectionOptions(connection))
            try straggler.prepared("BEGIN").run()
            try straggler.prepared(
                """
                INSERT INTO device (platform_id, reach, registered_at_ms, token_hash, token, topics)
                SELECT platform_id, reach, 0, gen_random_uuid(), 'straggler', topics FROM device WHERE id = $1
                """
            ).run(first.key)
            for number in 1...40 { try await fixture.register("\(number)", topics: .replace(["town"])) }
            for _ in 1...5 { #expect(try await store.merge() <= first.key.rawValue) }
            try straggler.prepared("COMMIT").run()
            try await store.mergeAll()
            try await fixture.expectListsLikeRows()
        }
    }

    private static let waiting = """
        SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
         WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND NOT granted AND datname = current_database()
        """

    @Test func `a merge waits for topic changes and takes new ones`() async throws {
        try await withPostgresStore { store, connection in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            // In the place of whichever node's turn it would be.
            let watching = try Connection(ConnectionOptions(connection))
            try watching.prepared("SELECT pg_advisory_lock(7236828797)").run()
            let device = try await fixture.register("a", topics: .replace(["town"]))
            while try await store.settled() < device.key.rawValue {}
            let changing = try Connection(ConnectionOptions(connection))
            try changing.prepared("BEGIN").run()
            try changing.prepared("UPDATE device SET topics = '' WHERE id = $1").run(device.key)
            try changing.prepared(PostgresSubscriptionStatements.shareMark).run()
            async let merged = store.write { try PostgresSubscriptionMerge(session: $0, handful: 1).step() }
            while try watching.prepared(Self.waiting).first(as: { $0.integer(0) }) == 0 { await Task.yield() }
            try changing.prepared("COMMIT").run()
            try await merged
            try await fixture.expectListsLikeRows()
            #expect(try await store.read { try $0.postingMark().device } == device.key.rawValue)
            #expect(try await store.read { try $0.lists() }.isEmpty)
        }
    }
}

extension PostgresStore {
    /// Looks how far devices have come; the one up to which none comes any more.
    fileprivate func settled() async throws -> Int64 {
        try await write { session in
            try DeviceHorizon(session: session).step()
            return try session.prepared(PostgresSubscriptionStatements.state).first { $0.integer(1) } ?? 0
        }
    }

    /// Does a step; the mark.
    fileprivate func merge() async throws -> Int64 {
        _ = try await settled()
        return try await write { session in
            try PostgresSubscriptionMerge(session: session, handful: 1).step()
            return try session.db.postingMark().device
        }
    }

    /// Transactions of other tests may hold it up.
    fileprivate func mergeAll() async throws {
        let newest = try await readCommitted { db in
            try db.prepared("SELECT coalesce(max(id), 0) FROM device").first { $0.integer(0) } ?? 0
        }
        while try await merge() < newest {}
    }

}

extension Connection {
    /// Topic and device of each posting that is merged.
    fileprivate func lists() throws -> [[Int64]] {
        let single = try prepared("SELECT topic_id, device_id FROM subscription").all {
            [$0.integer(0), $0.integer(1)]
        }
        let blocks = try prepared("SELECT topic_id, devices, device_count FROM subscription_block").all {
            (topic: $0.integer(0), devices: try $0.postings(1), count: $0.integer(2))
        }
        for block in blocks { #expect(block.devices.count == block.count) }
        return single + blocks.flatMap { block in block.devices.map { [block.topic, $0.rawValue] } }
    }
}

extension TestStore {
    /// Looks into the tables, and reads each topic's list from each of its devices on.
    fileprivate func expectListsLikeRows() async throws {
        let store = try #require(store as? PostgresStore)
        let (rows, names) = try await store.read { db in
            let rows = try db.prepared("SELECT id, topics FROM device WHERE reach > 0").all { row in
                let device = row.integer(0)
                return row.withBlob(1) { TopicList.readable($0) }.map { [$0, device] }
            }
            let names = try db.prepared("SELECT id, name FROM topic").all { ($0.integer(0), $0.text(1)) }
            let (mark, lists) = (try db.postingMark().device, try db.lists())
            let merged = rows.joined().filter { $0[1] <= mark }
            #expect(Set(lists) == Set(merged) && lists.count == merged.count)
            return (Set(rows.joined()), names)
        }
        let platform = platform
        for (topic, name) in names {
            let devices = rows.filter { $0[0] == topic }.map { $0[1] }.sorted()
            let found = try await store.read { db in
                let postings = DevicePostings(
                    db, platform: platform.key, application: platform.applicationKey, now: .zero)
                let batches = try ([0] + devices).map { try postings.postings(.topic(name), after: $0, limit: 3) }
                return (batches, try postings.count(ofTopic: name))
            }
            #expect(found.0 == (0...devices.count).map { Array(devices[$0...].prefix(3)) })
            #expect(found.1 == devices.count)
        }
    }
}
