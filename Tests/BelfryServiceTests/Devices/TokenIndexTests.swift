import BelfryTesting
import GRDB
import Logging
import Testing

@testable import BelfryService

/// Each token finds its device, whether it is in the table yet or not.
@Suite struct TokenIndexTests {
    @Test(arguments: [31, 32, 33, 34] as [UInt64])
    func `tokens find their devices after any history`(seed: UInt64) async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let other = try await store.create(.of(fixture.application))
            var dice = SplitMix64(seed: seed)
            for _ in 0..<200 {
                let platform = dice.chance(0.5) ? fixture.platform : other
                let device = try await fixture.register("\(dice.below(40))", on: platform)
                if dice.chance(0.2) { try await store.unregister(device.uuid, on: platform.key) }
                if dice.chance(0.3) { try await fixture.register("\(dice.below(40))", as: device.uuid, on: platform) }
                if dice.chance(0.5) { try await store.step() }
                if dice.chance(0.1) { try await store.forget() }
                if dice.chance(0.1) { try await store.expectTokensFound() }
            }
            try await store.expectTokensFound()
            #expect(try await store.clear() == [])
            try await store.expectTokensFound()
            try await store.delete(fixture.application.key, force: true)
            try await store.clear()
            #expect(try await store.entries() == [])
        }
    }

    @Test func `rows missing from the table are found on reopening`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let store = try SQLiteStore.open(
                at: path, clock: ManualClock(), logger: .strict, migrate: true, for: .copyingFrom)
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let devices = try await fixture.registerMany(50)
            try await store.step()
            #expect(try await store.entries().count < devices.count)
            try await store.close()
            let again = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true)
            #expect(try await fixture.seen(by: again).registerMany(50) == devices)
            try await again.close()
        }
    }

    @Test func `a writer learns what another process has done`() async throws {
        try await withSQLiteStore { first, path in
            let second = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: false)
            let fixture = try await TestStore(store: first, clock: ManualClock())
            for round in 0..<4 {
                let (here, there) = round.isMultiple(of: 2) ? (first, second) : (second, first)
                let device = try await fixture.seen(by: here).register("a")
                try await here.step()
                #expect(try await fixture.seen(by: there).register("a").key == device.key)
            }
            try await second.close()
        }
    }

    @Test func `two tokens of one hash are told apart`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let devices = [
                try await fixture.register("1").key, try await fixture.register("2").key,
                try await fixture.register("3").key,
            ]
            let platform = fixture.platform.key
            for isForgotten in [true, false] {
                try await store.writer.write { session in
                    try session.db.execute(sql: "UPDATE device SET token_hash = 7")
                    session.unindexedTokens = isForgotten ? nil : UnindexedTokens(marks: Array(repeating: 0, count: 64))
                    for device in devices { try TokenIndex(session: session).note(7, of: device, on: platform) }
                    for (number, device) in devices.enumerated() {
                        let token = DeviceToken(bytes: Array("\(number + 1)".utf8))
                        #expect(try TokenIndex(session: session).holder(of: token, 7, on: platform)?.key == device)
                    }
                }
                #expect(try await store.clear() == [])
                #expect(try await store.entries() == devices.map { [7, $0.rawValue] })
                try await store.writer.write {
                    try $0.db.execute(sql: "UPDATE token_mark SET device_id = 0; DELETE FROM device_token")
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(20))) func `many new tokens enter the table by themselves`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let device = try await fixture.register("a")
            let platform = fixture.platform.key
            let full = try await store.writer.write { session in
                // Devices that are not there, all in one slice.
                for number in 1...Int64(TokenIndex.unindexedMax) {
                    let place = UnindexedTokens.Place(hash: number, platform: platform)
                    _ = session.unindexedTokens?.put(Key(device.key.rawValue + number), at: place)
                }
                return session.unindexedTokens?.count ?? 0
            }
            #expect(full >= TokenIndex.unindexedMax)
            try await fixture.register("b")
            // What the second asked for is done before what is asked for now.
            while try await store.writer.write({ $0.unindexedTokens?.count ?? 0 }) > 2 {}
            #expect(try await store.entries().count <= 2)
        }
    }

    @Test func `devices that were copied are found`() async throws {
        try await withSQLiteStore { source, _ in
            let fixture = try await TestStore(store: source, clock: ManualClock())
            let devices = try await fixture.registerMany(60)
            try await withDirectory { directory in
                let path = directory + "/belfry.sqlite"
                let secrets = try await source.bulkSecrets()
                let empty = try SQLiteStore.open(
                    at: path, clock: ManualClock(), logger: .strict, migrate: true, for: .copyingTo)
                try await empty.beginImport(with: secrets)
                try await empty.close()
                let target = try SQLiteStore.open(
                    at: path, clock: ManualClock(), logger: .strict, migrate: true, for: .copyingTo)
                for table in try await source.copiedTables() {
                    let rows = try await source.rows(of: table, after: nil, limit: 1_000)
                    try await target.write(Array(rows.prefix(20)), to: table)
                    try await target.write(Array(rows.dropFirst(20)), to: table)
                }
                #expect(try await target.entries().map { $0[1] }.sorted() == devices.map(\.rawValue))
                #expect(try await fixture.seen(by: target).registerMany(60) == devices)
                try await target.close()
            }
        }
    }

    @Test func `slices follow one another as the hashes do`() {
        var fresh = UnindexedTokens(marks: Array(repeating: 0, count: UnindexedTokens.sliceCount))
        var dice = SplitMix64(seed: 9)
        let hashes = [.min, -1, 0, .max] + (0..<500).map { _ in Int64(bitPattern: dice.next()) }
        for (number, hash) in hashes.enumerated() {
            #expect(fresh.put(Key(Int64(number + 1)), at: .init(hash: hash, platform: Key(1))) == nil)
        }
        #expect(fresh.count == hashes.count)
        let held = (0..<UnindexedTokens.sliceCount).flatMap { fresh.clear($0, until: 600).map(\.place.hash) }
        #expect(held == hashes.sorted())
        #expect(fresh.count == 0 && fresh.fullest == nil && fresh.firstMark == 600)
        #expect(fresh.put(Key(600), at: .init(hash: 0, platform: Key(1))) == Key(600))
    }
}

extension SQLiteStore {
    fileprivate func step() async throws { try await writer.write { try TokenIndex(session: $0).step() } }

    /// As a rollback does.
    fileprivate func forget() async throws { try await writer.write { $0.unindexedTokens = nil } }

    /// Clears all slices, and returns which are not empty then.
    @discardableResult
    fileprivate func clear() async throws -> [Int] {
        for _ in 0..<UnindexedTokens.sliceCount { try await step() }
        return try await writer.write { session in session.unindexedTokens?.fullest.map { [$0] } ?? [] }
    }

    /// Hash and device of each row of the table.
    fileprivate func entries() async throws -> [[Int64]] {
        try await read { db in
            try db.prepared("SELECT token_hash, device_id FROM device_token ORDER BY 1, 2").all {
                [$0.integer(0), $0.integer(1)]
            }
        }
    }

    /// Looks for each device by its token, and that the table names none that has no such token.
    fileprivate func expectTokensFound() async throws {
        try await writer.write { session in
            let rows = try session.prepared(
                "SELECT id, platform_id, token_hash, token FROM device WHERE token IS NOT NULL"
            ).all { (Key<Device>($0.integer(0)), Key<Platform>($0.integer(1)), $0.integer(2), $0.blob(3)) }
            for (device, platform, hash, token) in rows {
                let holder = try TokenIndex(session: session).holder(of: DeviceToken(bytes: token), hash, on: platform)
                #expect(holder?.key == device)
            }
            let stale = try session.prepared(
                """
                SELECT count(*) FROM device_token WHERE NOT EXISTS (
                    SELECT 1 FROM device WHERE id = device_id AND device.token_hash = device_token.token_hash)
                """
            ).first { $0.integer(0) }
            #expect(stale == 0)
        }
    }
}
