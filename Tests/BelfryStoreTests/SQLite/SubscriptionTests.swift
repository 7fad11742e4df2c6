import BelfryCore
import BelfryTesting
import GRDB
import Testing

@testable import BelfryStoreSQLite

/// The posting lists hold what the devices' rows say, swept or not.
@Suite struct SubscriptionTests {
    @Test(arguments: [21, 22, 23] as [UInt64])
    func `the lists equal the rows after any history`(seed: UInt64) async throws {
        try await withSQLiteStore { store, _ in
            let scene = try await Scene(store: store, clock: HandClock())
            try await scene.tellOfSubscriptions(seed: seed) {
                try await store.writer.write { try SubscriptionSweep(session: $0).step() }
            }
            let (rows, lists) = try await store.pool.read { db in
                var rows: Set<[Int64]> = []
                try db.prepared("SELECT id, topics FROM device WHERE reach > 0").each { row in
                    let topics = try row.withBlob(1) { try TopicList.decode($0) }
                    for topic in topics { rows.insert([topic, row.integer(0)]) }
                }
                return (rows, try db.subscriptions())
            }
            #expect(Set(lists) == rows && lists.count == rows.count)
            for topic in Set(rows.map { $0[0] }) {
                try await scene.expectPaging(of: topic, as: rows.filter { $0[0] == topic }.map { $0[1] }.sorted())
            }
        }
    }
}

extension Database {
    fileprivate func name(ofTopic id: Int64) throws -> String {
        try prepared("SELECT name FROM topic WHERE id = ?1").first(id) { $0.text(0) } ?? ""
    }

    /// Topic and device of each posting.
    fileprivate func subscriptions() throws -> [[Int64]] {
        let rows = try prepared("SELECT device_id, others, topic_id, device_count FROM subscription").all {
            (topic: $0.integer(2), count: $0.integer(3), stretch: try Stretch($0))
        }
        for row in rows { #expect(row.stretch.devices.count == row.count) }
        return rows.flatMap { row in row.stretch.devices.map { [row.topic, $0] } }
    }
}

extension Scene {
    /// Reads the list from each of its devices on.
    fileprivate func expectPaging(of topic: Int64, as devices: [Int64]) async throws {
        let store = try #require(store as? SQLiteStore)
        let platform = platform
        for place in 0...devices.count {
            let after = place == 0 ? 0 : devices[place - 1]
            let found = try await store.read { db in
                let postings = try SQLitePostings(
                    db, platform: platform.key, application: platform.applicationKey, now: .zero)
                return try postings.postings(.topic(try db.name(ofTopic: topic)), after: after, limit: 3)
            }
            #expect(found == Array(devices[place...].prefix(3)))
        }
    }
}
