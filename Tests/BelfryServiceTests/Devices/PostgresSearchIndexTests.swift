import BelfryTesting
import PostgreSQL
import Testing

@testable import BelfryService

/// The search index finds what a look at every device finds, whatever of it is written, old or being written anew.
@Suite(.timeLimit(.minutes(20))) struct PostgresSearchIndexTests {
    private static let sizes = SearchIndexSizes(segment: 16, staleDevices: 6)

    @Test(arguments: [41, 42] as [UInt64])
    func `after any history a text part finds its devices`(seed: UInt64) async throws {
        try await withPostgresStore { store, _ in
            var dice = SplitMix64(seed: seed)
            let fixture = try await TestStore(store: store, clock: ManualClock())
            var devices: [Int: Device] = [:]
            var editions = 0
            for round in 0..<300 {
                let number = Int.random(in: 0..<(20 + round / 3), using: &dice)
                // Letters that no UUID has.
                let user = (0..<8).map { _ in "xyz".randomElement(using: &dice) ?? "x" }
                devices[number] = try await fixture.register("token \(number)", user: .set(String(user)))
                guard dice.chance(0.6) else { continue }
                editions += try await store.searchIndex(Self.sizes).isBeingWrittenAnew ? 1 : 0
                guard dice.chance(0.3) else { continue }
                let part = String(user.prefix(Int.random(in: 5...7, using: &dice)))
                let expected = devices.values.filter { $0.customUserID?.contains(part) ?? false }.map(\.key)
                    .sorted(by: >)
                let search = DeviceSearch(platforms: [fixture.platform.key], text: part)
                let found = try await store.devices(search, skip: 0, limit: 1_000)
                #expect(found.elements.map(\.key) == expected && found.total == expected.count, "\(part)")
            }
            #expect(editions > 0)
            #expect(try await store.searchIndex(Self.sizes).mark > 0)
        }
    }

    @Test func `a device with an id before its commit is indexed`() async throws {
        try await withPostgresStore { store, connection in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let straggler = try Connection(ConnectionOptions(connection))
            try straggler.prepared("BEGIN").run()
            try straggler.prepared(
                """
                INSERT INTO device (platform_id, reach, registered_at_ms, topics, custom_user_id)
                VALUES ($1, 0, 0, '', 'the straggler')
                """
            ).run(fixture.platform.key)
            for number in 1...40 { try await fixture.register("\(number)") }
            for _ in 1...5 { #expect(try await store.searchIndex(Self.sizes).mark == 0) }
            try straggler.prepared("COMMIT").run()
            while try await store.searchIndex(Self.sizes).mark < 32 {}
            let search = DeviceSearch(platforms: [fixture.platform.key], text: "straggler")
            #expect(try await store.deviceCount(search) == 1)
        }
    }

    @Test func `a change during indexing of stale devices stays one`() async throws {
        try await withPostgresStore { store, connection in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let device = try await fixture.register("a", user: .set("first"))
            let changing = try Connection(ConnectionOptions(connection))
            try changing.prepared("BEGIN").run()
            try changing.prepared("UPDATE device SET custom_user_id = 'second' WHERE id = $1").run(device.key)
            try changing.prepared(PostgresSearchIndexStatements.noteStaleDevices).run(PostgresArray([device.key]))
            for _ in 1...3 { _ = try await store.searchIndex(.init(segment: 1, staleDevices: 1)) }
            try changing.prepared("COMMIT").run()
            let search = DeviceSearch(platforms: [fixture.platform.key], text: "second")
            #expect(try await store.deviceCount(search) == 1)
            for _ in 1...3 { _ = try await store.searchIndex(.init(segment: 1, staleDevices: 1)) }
            #expect(try await store.deviceCount(search) == 1)
        }
    }
}

extension PostgresStore {
    /// Does a step of the search index, and says how far it is.
    fileprivate func searchIndex(_ sizes: SearchIndexSizes) async throws -> (mark: Int64, isBeingWrittenAnew: Bool) {
        try await write { session in
            try DeviceHorizon(session: session).step()
            try DeviceSearchIndex(session: session, sizes: sizes).step()
            let sql = "SELECT device_id, rebuild_device_id IS NOT NULL FROM search_index"
            let state = try session.prepared(sql).first { (mark: $0.integer(0), isBeingWrittenAnew: $0.bool(1)) }
            return try #require(state)
        }
    }
}
