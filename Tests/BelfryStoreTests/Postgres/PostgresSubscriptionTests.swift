import BelfryCore
import BelfryTesting
import PostgreSQL
import Testing

@testable import BelfryStore

/// The posting lists hold what the devices' rows say, swept or not.
@Suite(.timeLimit(.minutes(5))) struct PostgresSubscriptionTests {
    @Test(arguments: [21, 22, 23] as [UInt64])
    func `the lists equal the rows after any history`(seed: UInt64) async throws {
        try await withPostgresStore { store, _ in
            let scene = try await Scene(store: store, clock: HandClock())
            try await scene.tellOfSubscriptions(seed: seed) {
                try await scene.expectListsLikeRows()
                try await store.sweepAll()
                try await scene.expectListsLikeRows()
            }
        }
    }

    @Test func `a device whose id is older than its commit is swept`() async throws {
        try await withPostgresStore { store, connection in
            let scene = try await Scene(store: store, clock: HandClock())
            let first = try await scene.register("0", topics: .replace(["town"]))
            let straggler = try Connection(ConnectionOptions(connection))
            try straggler.prepared("BEGIN").run()
            try straggler.prepared(
                """
                INSERT INTO device (platform_id, reach, registered_at_ms, token_hash, token, topics)
                SELECT platform_id, reach, 0, gen_random_uuid(), 'straggler', topics FROM device WHERE id = $1
                """
            ).run(first.key)
            for number in 1...40 { try await scene.register("\(number)", topics: .replace(["town"])) }
            for _ in 1...5 { #expect(try await store.sweep() <= first.key.rawValue) }
            try straggler.prepared("COMMIT").run()
            try await store.sweepAll()
            try await scene.expectListsLikeRows()
        }
    }

    private static let waiting = """
        SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
         WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND NOT granted AND datname = current_database()
        """

    @Test func `a sweep waits for whoever changes topics, and takes the new ones`() async throws {
        try await withPostgresStore { store, connection in
            let scene = try await Scene(store: store, clock: HandClock())
            // In the place of whichever node's turn it would be.
            let watching = try Connection(ConnectionOptions(connection))
            try watching.prepared("SELECT pg_advisory_lock(7236828797)").run()
            let device = try await scene.register("a", topics: .replace(["town"]))
            while try await store.settled() < device.key.rawValue {}
            let changing = try Connection(ConnectionOptions(connection))
            try changing.prepared("BEGIN").run()
            try changing.prepared("UPDATE device SET topics = '' WHERE id = $1").run(device.key)
            try changing.prepared(PostgresSubscriptionStatements.shareMark).run()
            async let swept = store.write { try PostgresSubscriptionSweep(session: $0, handful: 1).step() }
            while try watching.prepared(Self.waiting).first(as: { $0.integer(0) }) == 0 { await Task.yield() }
            try changing.prepared("COMMIT").run()
            try await swept
            try await scene.expectListsLikeRows()
            #expect(try await store.read { try $0.subscriptionMark() } == device.key.rawValue)
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
    fileprivate func sweep() async throws -> Int64 {
        _ = try await settled()
        return try await write { session in
            try PostgresSubscriptionSweep(session: session, handful: 1).step()
            return try session.db.subscriptionMark()
        }
    }

    /// Transactions of other tests may hold it up.
    fileprivate func sweepAll() async throws {
        let newest = try await glance { db in
            try db.prepared("SELECT coalesce(max(id), 0) FROM device").first { $0.integer(0) } ?? 0
        }
        while try await sweep() < newest {}
    }

}

extension Connection {
    /// Topic and device of each posting that is swept.
    fileprivate func lists() throws -> [[Int64]] {
        let single = try prepared("SELECT topic_id, device_id FROM subscription").all {
            [$0.integer(0), $0.integer(1)]
        }
        let stretches = try prepared("SELECT topic_id, devices, device_count FROM subscription_stretch").all {
            (topic: $0.integer(0), devices: try $0.postings(1), count: $0.integer(2))
        }
        for stretch in stretches { #expect(stretch.devices.count == stretch.count) }
        return single + stretches.flatMap { stretch in stretch.devices.map { [stretch.topic, $0.rawValue] } }
    }
}

extension Scene {
    /// Looks into the tables, and reads each topic's list from each of its devices on.
    fileprivate func expectListsLikeRows() async throws {
        let store = try #require(store as? PostgresStore)
        let (rows, names) = try await store.read { db in
            let rows = try db.prepared("SELECT id, topics FROM device WHERE reach > 0").all { row in
                let device = row.integer(0)
                return try row.withBlob(1) { try TopicList.decode($0) }.map { [$0, device] }
            }
            let names = try db.prepared("SELECT id, name FROM topic").all { ($0.integer(0), $0.text(1)) }
            let (mark, lists) = (try db.subscriptionMark(), try db.lists())
            let swept = rows.joined().filter { $0[1] <= mark }
            #expect(Set(lists) == Set(swept) && lists.count == swept.count)
            return (Set(rows.joined()), names)
        }
        let platform = platform
        for (topic, name) in names {
            let devices = rows.filter { $0[0] == topic }.map { $0[1] }.sorted()
            let found = try await store.read { db in
                let postings = PostgresPostings(
                    db, platform: platform.key, application: platform.applicationKey, now: .zero)
                let pages = try ([0] + devices).map { try postings.postings(.topic(name), after: $0, limit: 3) }
                return (pages, try postings.count(ofTopic: name))
            }
            #expect(found.0 == (0...devices.count).map { Array(devices[$0...].prefix(3)) })
            #expect(found.1 == devices.count)
        }
    }
}
