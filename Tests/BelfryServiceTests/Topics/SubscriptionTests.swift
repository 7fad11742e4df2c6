import BelfryTesting
import GRDB
import Testing

@testable import BelfryService

/// The posting lists hold what the devices' rows say, merged or not.
@Suite struct SubscriptionTests {
    @Test(arguments: [21, 22, 23] as [UInt64])
    func `the lists equal the rows after any history`(seed: UInt64) async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            try await fixture.tellOfSubscriptions(seed: seed) {
                try await store.writer.write { try SQLiteSubscriptionMerge(session: $0).step() }
            }
            try await fixture.expectListsEqualRows()
            try await fixture.expectPagingAsRows()
        }
    }

    /// Devices change their topics while some lists have those of the merge and others do not.
    @Test(arguments: [31, 32, 33, 34] as [UInt64])
    func `each list is whole in the middle of a merge`(seed: UInt64) async throws {
        try await withSQLiteStore(use: .copyingFrom) { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            var dice = SplitMix64(seed: seed)
            var stepsBetween = 0
            func step() async throws {
                if dice.chance(0.2) { try await store.forgetWhatIsRemembered() }
                try await store.writer.write { try SQLiteSubscriptionMerge(session: $0, listsMax: 1).step() }
            }
            try await fixture.tellOfSubscriptions(seed: seed, pausingEvery: 1) {
                try await step()
                guard try await store.read({ try $0.postingMark() }).merge?.last != nil else { return }
                stepsBetween += 1
                try await fixture.expectPagingAsRows()
            }
            #expect(stepsBetween > 20, "devices change while some lists have those of the merge")
            for _ in 0..<20 { try await step() }
            try await fixture.expectListsEqualRows()
        }
    }

    @Test func `a merge takes bounded postings and the next continues`() async throws {
        try await withSQLiteStore(use: .copyingFrom) { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            for device in 0..<6 { try await fixture.register("\(device)", topics: .replace(["a", "b", "c"])) }
            var merged: [Int64] = []
            for _ in 0..<3 {
                try await store.writer.write { try SQLiteSubscriptionMerge(session: $0, postingsMax: 6).step() }
                merged.append(try await store.read { try $0.postingMark() }.device)
            }
            let devices = try await store.read { db in try db.prepared("SELECT id FROM device").all { $0.integer(0) } }
            #expect(merged == [devices[1], devices[3], devices[5]])
            try await fixture.expectListsEqualRows()
        }
    }

    @Test func `a platform deleted during a merge leaves no postings`() async throws {
        try await withSQLiteStore(use: .copyingFrom) { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            try await fixture.tellOfSubscriptions(seed: 41, pausingEvery: 1_000) {}
            for _ in 0..<2 {
                try await store.writer.write { try SQLiteSubscriptionMerge(session: $0, listsMax: 2).step() }
            }
            try await store.delete(fixture.platform.key, force: true)
            for _ in 0..<8 {
                try await store.writer.write { try SQLiteSubscriptionMerge(session: $0, listsMax: 2).step() }
            }
            #expect(try await store.read { try $0.subscriptions() }.isEmpty)
            #expect(try await store.read { try $0.postingMark() }.merge == nil)
        }
    }
}

private struct Thrown: Error {}

extension SQLiteStore {
    /// As a rollback does.
    fileprivate func forgetWhatIsRemembered() async throws {
        await #expect(throws: Thrown.self) { try await writer.write { _ in throw Thrown() } }
    }
}

extension Database {
    fileprivate func name(ofTopic id: Int64) throws -> String {
        try prepared("SELECT name FROM topic WHERE id = ?1").first(id) { $0.text(0) } ?? ""
    }

    /// Topic and device of each posting.
    fileprivate func subscriptions() throws -> [[Int64]] {
        let rows = try prepared("SELECT device_id, others, topic_id, device_count FROM subscription").all {
            (topic: $0.integer(2), count: $0.integer(3), block: try PostingBlock($0))
        }
        for row in rows { #expect(row.block.devices.count == row.count) }
        return rows.flatMap { row in row.block.devices.map { [row.topic, $0] } }
    }
}

extension TestStore {
    fileprivate func expectListsEqualRows() async throws {
        let (rows, lists) = try await (rows(), sqlite.pool.read { try $0.subscriptions() })
        #expect(Set(lists) == rows && lists.count == rows.count)
    }

    /// Reads each list from each of its devices on.
    fileprivate func expectPagingAsRows() async throws {
        let rows = try await rows()
        for topic in Set(rows.map { $0[0] }) {
            try await expectPaging(of: topic, as: rows.filter { $0[0] == topic }.map { $0[1] }.sorted())
        }
    }

    private var sqlite: SQLiteStore {
        get throws { try #require(store as? SQLiteStore) }
    }

    /// Topic and device, as the devices' rows have it.
    private func rows() async throws -> Set<[Int64]> {
        try await sqlite.pool.read { db in
            var rows: Set<[Int64]> = []
            try db.prepared("SELECT id, topics FROM device WHERE reach > 0").each { row in
                let topics = row.withBlob(1) { TopicList.readable($0) }
                for topic in topics { rows.insert([topic, row.integer(0)]) }
            }
            return rows
        }
    }

    /// Reads the list from each of its devices on.
    private func expectPaging(of topic: Int64, as devices: [Int64]) async throws {
        let store = try sqlite
        let platform = platform
        for place in 0...devices.count {
            let after = place == 0 ? 0 : devices[place - 1]
            let found = try await store.read { db in
                let postings = DevicePostings(
                    db, platform: platform.key, application: platform.applicationKey, now: .zero)
                return try postings.postings(.topic(try db.name(ofTopic: topic)), after: after, limit: 3)
            }
            // A block is read whole.
            #expect(found == Array(devices[place...].prefix(max(3, found.count))))
        }
    }
}
