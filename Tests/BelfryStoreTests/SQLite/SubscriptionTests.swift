import BelfryCore
import GRDB
import Testing

@testable import BelfryStoreSQLite
import BelfryTesting

/// The posting lists hold what the devices' rows say, swept or not.
@Suite struct SubscriptionTests {
    @Test(arguments: [21, 22, 23] as [UInt64])
    func `the lists equal the rows after any history`(seed: UInt64) async throws {
        try await withSQLiteStore { store, _ in
            var dice = SplitMix64(seed: seed)
            let scene = try await Scene(store: store, clock: HandClock())
            for round in 0..<300 {
                let topics = Set((0..<6).filter { _ in dice.chance(0.4) }.map { "t\($0)" })
                let token = "\(Int.random(in: 0..<60, using: &dice))"
                let device = try await scene.register(token, topics: .replace(topics))
                if dice.chance(0.3) { try await store.unregister(device.uuid, on: scene.platform.key) }
                if dice.chance(0.2) {
                    try await scene.register("\(Int.random(in: 0..<60, using: &dice))", as: device.uuid)
                }
                if round.isMultiple(of: 50) {
                    try await store.writer.write { try SubscriptionSweep(session: $0).step() }
                }
            }
            try await store.writer.write { try SubscriptionSweep(session: $0).step() }
            let (rows, lists) = try await store.pool.read { db in
                var rows: Set<[Int64]> = []
                try db.prepared("SELECT id, topics FROM device WHERE reach > 0").each { row in
                    let topics = try row.withBlob(1) { try TopicList.decode($0) }
                    for topic in topics { rows.insert([topic, row.integer(0)]) }
                }
                let lists = try db.prepared("SELECT topic_id, device_id FROM subscription").all {
                    [$0.integer(0), $0.integer(1)]
                }
                return (rows, lists)
            }
            #expect(Set(lists) == rows && lists.count == rows.count)
        }
    }
}
