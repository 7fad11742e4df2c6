import BelfryTesting
import GRDB
import Testing

@testable import BelfryService

/// The search index finds what a look at every device finds, whatever of it is written, old or being written anew.
@Suite struct DeviceSearchIndexTests {
    private static let sizes = SearchIndexSizes(segment: 16, staleDevices: 6)

    @Test(arguments: [31, 32, 33] as [UInt64])
    func `after any history a text part finds its devices`(seed: UInt64) async throws {
        try await withSQLiteStore { store, _ in
            var dice = SplitMix64(seed: seed)
            let fixture = try await TestStore(store: store, clock: ManualClock())
            var devices: [Int: Device] = [:]
            var editions = 0
            for round in 0..<400 {
                let number = Int.random(in: 0..<(20 + round / 3), using: &dice)
                // Put together before the device is registered, and written down after it.
                let segment =
                    dice.chance(0.5)
                    ? try await store.pool.read { [naming = store.secrets.naming] db in
                        try db.prepareSegment(Self.sizes, naming: naming)
                    } : nil
                // Letters that no UUID has.
                let user = (0..<8).map { _ in "xyz".randomElement(using: &dice) ?? "x" }
                let device = try await fixture.register("token \(number)", user: .set(String(user)))
                devices[number] = device
                if let segment {
                    try await store.writer.write { session in
                        let searchIndex = DeviceSearchIndex(session: session, sizes: Self.sizes)
                        try searchIndex.take(segment)
                        try searchIndex.clearStep()
                    }
                }
                guard dice.chance(0.6) else { continue }
                try await store.writer.write { try DeviceSearchIndex(session: $0, sizes: Self.sizes).step() }
                editions += try await isBeingWrittenAnew(store) ? 1 : 0
                if dice.chance(0.3) {
                    let part = String(user.prefix(Int.random(in: 5...7, using: &dice)))
                    let expected = devices.values.filter { $0.customUserID?.contains(part) ?? false }.map(\.key)
                        .sorted(by: >)
                    let search = DeviceSearch(platforms: [fixture.platform.key], text: part)
                    let found = try await store.devices(search, skip: 0, limit: 1_000)
                    #expect(found.elements.map(\.key) == expected && found.total == expected.count, "\(part)")
                    #expect(try await store.deviceCount(DeviceSearch(platforms: search.platforms)) == devices.count)
                }
            }
            #expect(editions > 0)
        }
    }

    @Test func `a segment that was put together twice is written once`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            _ = try await fixture.registerMany(20)
            let naming = store.secrets.naming
            let segments = try await store.pool.read { db in
                [try db.prepareSegment(Self.sizes, naming: naming), try db.prepareSegment(Self.sizes, naming: naming)]
            }
            #expect(segments.compactMap(\.self).count == 2)
            for case let segment? in segments {
                try await store.writer.write { try DeviceSearchIndex(session: $0, sizes: Self.sizes).take(segment) }
            }
            let count = try await store.pool.read { db in
                try Int.fetchOne(db, sql: "SELECT sum(device_count) FROM search_index_count")
            }
            #expect(count == 16)
            #expect(try await store.pool.read { try $0.prepareSegment(Self.sizes, naming: naming) == nil })
        }
    }

    @Test func `a device erased during indexing is not counted`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let erased = try await fixture.register("erased")
            _ = try await fixture.registerMany(20)
            let segment = try await store.pool.read { [naming = store.secrets.naming] db in
                try db.prepareSegment(Self.sizes, naming: naming)
            }
            let prepared = try #require(segment)
            try await store.delete(erased, on: fixture.platform)
            try await store.writer.write { try DeviceSearchIndex(session: $0, sizes: Self.sizes).take(prepared) }
            #expect(try await store.deviceCount(DeviceSearch(platforms: [fixture.platform.key])) == 20)
        }
    }

    @Test func `a device changing during reindexing stays stale`() async throws {
        try await withSQLiteStore { store, _ in
            let sizes = SearchIndexSizes(segment: 1, staleDevices: 1)
            let fixture = try await TestStore(store: store, clock: ManualClock())
            try await fixture.register("a", user: .set("first"))
            try await store.writer.write { try DeviceSearchIndex(session: $0, sizes: sizes).step() }
            for user in ["second", "third"] {
                try await fixture.register("a", user: .set(user))
                let segment = try await store.pool.read { [naming = store.secrets.naming] db in
                    try db.prepareSegment(sizes, naming: naming)
                }
                let prepared = try #require(segment)
                try await fixture.register("a", user: .set(user + " again"))
                try await store.writer.write { try DeviceSearchIndex(session: $0, sizes: sizes).take(prepared) }
                let search = DeviceSearch(platforms: [fixture.platform.key], text: user + " again")
                #expect(try await store.deviceCount(search) == 1)
                let stale = try await store.pool.read { db in
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM search_index_stale")
                }
                #expect(stale == 1)
            }
        }
    }

    private func isBeingWrittenAnew(_ store: SQLiteStore) async throws -> Bool {
        try await store.pool.read { db in
            try Bool.fetchOne(db, sql: "SELECT rebuild_device_id IS NOT NULL FROM search_index") ?? false
        }
    }

    @Test func `a slice begins where its counts say`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let other = try await store.create(.of(fixture.application))
            var devices: [Device] = []
            for number in 0..<100 {
                devices.append(try await fixture.register("\(number)", on: number % 5 == 0 ? other : nil))
                try await store.writer.write { try DeviceSearchIndex(session: $0, sizes: Self.sizes).step() }
            }
            let counted = try await store.pool.read { db in
                try Int.fetchOne(db, sql: "SELECT sum(device_count) FROM search_index_count")
            }
            #expect(counted == 96)
            var keys = devices.map(\.key)
            let search = DeviceSearch(platforms: [fixture.platform.key, other.key])
            for skip in stride(from: 0, through: 100, by: 7) {
                let slice = try await store.devices(search, skip: skip, limit: 9)
                #expect(slice.elements.map(\.key) == Array(keys.dropFirst(skip).prefix(9)))
                #expect(slice.total == 100)
            }
            // The first segment goes as a whole, and one that is not indexed yet.
            for number in Array(0..<16) + [99] {
                try await store.delete(devices[number], on: number % 5 == 0 ? other : fixture.platform)
            }
            keys = Array(keys.dropFirst(16).dropLast())
            for skip in stride(from: 0, through: 80, by: 7) {
                let slice = try await store.devices(search, skip: skip, limit: 9)
                #expect(slice.elements.map(\.key) == Array(keys.dropFirst(skip).prefix(9)))
                #expect(slice.total == 83)
            }
        }
    }

    @Test func `an old edition leaves nothing behind`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            for round in 0..<30 {
                for number in 0..<20 { try await fixture.register("\(number)", user: .set("user \(round) \(number)")) }
                for _ in 0..<6 {
                    try await store.writer.write { try DeviceSearchIndex(session: $0, sizes: Self.sizes).step() }
                }
            }
            for _ in 0..<200 {
                try await store.writer.write { try DeviceSearchIndex(session: $0, sizes: Self.sizes).step() }
            }
            let (segments, strays) = try await store.pool.read { db in
                (
                    try Int.fetchOne(db, sql: "SELECT sum(device_count) FROM search_index_segment") ?? 0,
                    try Int.fetchOne(
                        db,
                        sql: """
                            SELECT count(*) FROM search_index_posting
                             WHERE id / \(SegmentDraft.blockCount) NOT IN (SELECT id FROM search_index_segment)
                            """) ?? 0
                )
            }
            #expect(segments <= 2 * 20 + 16 + 6)
            #expect(strays == 0)
        }
    }

    @Test func `a block gives each gram its places`() {
        var draft = SegmentDraft()
        var dice = SplitMix64(seed: 7)
        for number in 1...300 {
            let user = String((0..<12).map { _ in "abcdef".randomElement(using: &dice) ?? "a" })
            let text = DeviceText(
                uuid: DeviceNaming(secret: Array(0..<32)).uuid(of: Key(Int64(number))), token: nil, kind: .ios,
                customUserID: user, alias: user)
            draft.add(Key(Int64(number)), text)
        }
        var blocks: [Int: [UInt8]] = [:]
        draft.blocks { blocks[$0] = $1 }
        for gram in UInt16.min...UInt16.max {
            let places = blocks.places(of: gram)
            #expect(zip(places, places.dropFirst()).allSatisfy { $0 < $1 })
        }
        for number in stride(from: 1, through: 300, by: 7) {
            let uuid = Array(DeviceNaming(secret: Array(0..<32)).uuid(of: Key(Int64(number))).lowercased.utf8)
            for sequence in TextGrams.sequences(in: uuid)?.prefix(1) ?? [] {
                for gram in sequence {
                    let places = blocks.places(of: gram)
                    #expect(places.contains(UInt16(number - 1)))
                }
            }
        }
    }
}

extension [Int: [UInt8]] {
    fileprivate func places(of gram: UInt16) -> [UInt16] {
        (self[SegmentDraft.block(of: gram)] ?? []).withUnsafeBytes { SegmentDraft.places(of: gram, in: $0) }
    }
}
