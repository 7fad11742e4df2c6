import BelfryTesting
import GRDB
import PostgreSQL
import PostgresRig
import Testing

@testable import BelfryService

/// Databases of version `0001`, with names in other forms than the normal one, are mended as they are opened.
@Suite(.timeLimit(.minutes(20))) struct NormalizedNamesTests {
    @Test func `names that are one are merged in a file`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let pool = try DatabasePool(path: path)
            try SQLiteSchema.migrator.migrate(pool, upTo: Schema.identifier)
            try await pool.write { try FirstSchema.fill($0) }
            try pool.close()
            let clock = ManualClock()
            let store = try SQLiteStore.open(at: path, clock: clock, logger: .strict, migrate: true)
            try await check(store)
            try await store.pool.read { try checkRows($0) }
            let faults = try await store.pool.read { try String.fetchAll($0, sql: "PRAGMA foreign_key_check") }
            #expect(faults.isEmpty)
            try await store.close()
        }
    }

    @Test func `names that are one are merged in PostgreSQL`() async throws {
        try await TestDatabases.withBareDatabase { connection in
            let pool = ConnectionPool(ConnectionOptions(connection), size: 1)
            try await pool.run { db in
                try db.prepared(SchemaStatements.table).run()
                try PostgresSchema.migrations[0].run(db)
                try db.prepared(SchemaStatements.note).run(Schema.identifier)
                try FirstSchema.fill(db)
            }
            let store = try await PostgresStore.open(
                .init(connection: connection, clock: ManualClock()), logger: .strict, migrate: true)
            try await check(store)
            try await pool.run { try checkRows($0) }
            await pool.close()
            await store.close()
        }
    }

    private func check(_ store: any Store) async throws {
        let application = try #require(try await store.applications().first)
        #expect(bytes(application.name) == bytes("Bäckerei"))
        let platform = try #require(try await store.platforms(of: application.key).first)
        let topics = try await store.topics(of: application.key, after: nil, limit: 100)
        #expect(topics.map { bytes($0.name) } == ["strasse", "zürich", "ǆ", "ποδοσ"].map(bytes))
        #expect(topics.map(\.expiresAt) == [nil, nil, nil, nil])
        let expected: [(PostingList, [Int64])] = [
            (.topic("zürich"), [1, 2, 3, 11]), (.topic("strasse"), [5, 6]), (.topic("ποδοσ"), [7, 8]),
            (.topic("ǆ"), [8]), (.customUser("jürgen"), [1, 2]),
        ]
        for (list, devices) in expected {
            let found = try await store.devices(of: .list(list), on: platform.key, after: nil, limit: 100)
            #expect(found.map(\.rawValue) == devices, "\(list)")
        }
        for (device, topics) in [4: ["zürich"], 3: ["zürich"], 8: ["ǆ", "ποδοσ"], 10: []] as [Int64: [String]] {
            let found = try await store.devices(
                DeviceSearch(platforms: [platform.key]), after: Key(device - 1), limit: 1)
            #expect(found.first?.topics.map(bytes) == topics.map(bytes), "\(device)")
        }
        try await checkUsers(store, application, platform)
        // Another spelling makes no new topic.
        _ = try await store.register(
            try Registration(
                token: DeviceToken(bytes: [1]), about: .init(), customUserID: .set(FirstSchema.user),
                topics: .replace([try Topic.normalized("ZU\u{308}RICH", field: "tag")])),
            as: nil, on: platform)
        #expect(try await store.topics(of: application.key, after: nil, limit: 100).count == 4)
    }

    private func checkUsers(
        _ store: any Store, _ application: BelfryService.Application, _ platform: BelfryService.Platform
    ) async throws {
        let users = try await store.users(of: application.key, containing: nil, after: nil, limit: 100)
        #expect(users.map { bytes($0.id) } == ["jürgen", "plain", "ä", "ö"].map(bytes))
        #expect(users[2].profile.attributes == ["k": .number(1), "weg": .text("Straße")])
        let user = try #require(users.first)
        #expect(user.profile.language == "de" && user.createdAt == Instant(milliseconds: 5))
        #expect(
            user.profile.attributes == [
                "age": .number(41), "größe": .number(1), "größe2": .number(2), "Stadt": .text("zürich"),
            ])
        for (name, value) in user.profile.attributes {
            let found = try await store.users(of: application.key, having: name, value, after: nil, limit: 10)
            #expect(found.map(\.user.id) == ["jürgen"], "\(name)")
        }
        #expect(
            try await store.users(of: application.key, having: "é", .flag(true), after: nil, limit: 10).map(\.user.id)
                == ["ö"])
        for text in ["jürgen", "JU\u{308}RGEN", "ömer straße"] {
            let found = try await store.devices(
                DeviceSearch(platforms: [platform.key], text: text), after: nil, limit: 100)
            #expect(found.map(\.key.rawValue) == (text.hasPrefix("ö") ? [9] : [2, 1]), "\(text)")
        }
        let keyword = GeoListQuery(keyword: "STRASSE ZU\u{308}RICH")
        #expect(try await store.locations(of: application.key, keyword).total == 1)
    }

    private func checkRows(_ db: some SQLConnection) throws {
        func texts(_ statement: SQLText) throws -> [[UInt8]] { try db.prepared(statement).all { bytes($0.text(0)) } }
        #expect(
            try texts("SELECT audience FROM push")
                == [bytes(#"["any:2","topic:zürich","custom_user:jürgen"]"#)])
        let targets = try db.prepared("SELECT target FROM schedule").all { try Target(stored: $0.blob(0)) }
        #expect(targets.first?.topics.map(bytes) == ["ποδοσ", "zürich"].map(bytes))
        #expect(targets.first?.customUserIDs.map(bytes) == [bytes("jürgen")])
        #expect(try texts("SELECT tags FROM geofence") == [bytes(#"["straße","zürich"]"#)])
        #expect(
            try texts("SELECT selector || coalesce(account, '') || token FROM acrobits_registration ORDER BY id")
                == ["ééb", "öc"].map(bytes))
        #expect(try texts("SELECT contact FROM carma_device") == [bytes("jürgen")])
        #expect(
            try texts("SELECT email FROM person ORDER BY id")
                == ["jürgen@example.com", "ju\u{308}rgen@example.com", "ö@example.com"].map(bytes))
        #expect(try texts("SELECT summary FROM location_group") == [bytes("über")])
    }

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
}
