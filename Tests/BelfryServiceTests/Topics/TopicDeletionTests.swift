import BelfryTesting
import GRDB
import Testing

@testable import BelfryService

@Suite struct TopicDeletionTests {
    private func count(_ table: String, in store: SQLiteStore) async throws -> Int {
        try await store.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? 0 }
    }

    private func merge(_ store: SQLiteStore) async throws {
        try await store.writer.write { try SQLiteSubscriptionMerge(session: $0).step() }
    }

    @Test func `a topic's remains are cleared stepwise, later merges included`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            for number in 0..<20 { try await fixture.register("\(number)", topics: .replace(["t", "u"])) }
            try await merge(store)
            for number in 20..<30 { try await fixture.register("\(number)", topics: .replace(["t"])) }
            let topic = try #require(try await store.topic(named: "t", of: fixture.application.key))
            #expect(try await store.deleteTopics([topic.key], of: fixture.application.key) == 1)
            try await store.writer.write { try TopicDeletion(session: $0).step() }
            try await merge(store)
            for _ in 0..<3 { try await store.writer.write { try TopicDeletion(session: $0).step() } }
            let subscribed = try await store.pool.read {
                try Int.fetchOne($0, sql: "SELECT sum(device_count) FROM subscription")
            }
            #expect(subscribed == 20)
            #expect(try await count("deleted_topic", in: store) == 0)
        }
    }

    @Test func `a topic that was prolonged meanwhile stays`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let application = fixture.application.key
            let topic = try NewTopic(name: "t", timeToLive: .seconds(60), now: fixture.clock.now)
            _ = try await store.create([topic], of: application)
            let key = try #require(try await store.topic(named: "t", of: application)).key
            for (late, isThere) in [(59, true), (60, false)] {
                let time = fixture.clock.now + .seconds(late)
                // Within the write: maintenance takes the rest of a deleted one soon.
                let rests = try await store.writer.write { session in
                    try TopicDeletion(session: session).delete(key, of: application, expiredAt: time)
                    return try session.prepared("SELECT count(*) FROM deleted_topic").count()
                }
                #expect(rests == (isThere ? 0 : 1))
                #expect(try await count("topic", in: store) == (isThere ? 1 : 0))
            }
        }
    }

    @Test func `deleted topics without remains go in one step`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            let now = fixture.clock.now
            let topics = try (0..<30).map { try NewTopic(name: "t\($0)", timeToLive: nil, now: now) }
            _ = try await store.create(topics, of: fixture.application.key)
            let ids = try await store.pool.read { try Int64.fetchAll($0, sql: "SELECT id FROM topic") }
            #expect(try await store.deleteTopics(ids.map { Key($0) }, of: fixture.application.key) == 30)
            try await store.writer.write { try TopicDeletion(session: $0).step() }
            #expect(try await count("deleted_topic", in: store) == 0)
        }
    }

    @Test func `devices are counted whether their topics are merged or not`() async throws {
        try await withSQLiteStore { store, _ in
            let fixture = try await TestStore(store: store, clock: ManualClock())
            for number in 0..<20 { try await fixture.register("\(number)", topics: .replace(["t", "u\(number % 2)"])) }
            try await merge(store)
            for number in 20..<25 { try await fixture.register("\(number)", topics: .replace(["t"])) }
            try await fixture.register("3", topics: .replace([]))
            let platforms = [fixture.platform.key]
            #expect(try await store.deviceCount(DeviceSearch(platforms: platforms, topic: "t")) == 24)
            #expect(try await store.deviceCount(DeviceSearch(platforms: platforms, topic: "u1")) == 9)
        }
    }

    @Test(.timeLimit(.minutes(20))) func `a crash's topic remains are cleared by the next process`() async throws {
        try await withDirectory { directory in
            let path = directory + "/belfry.sqlite"
            let store = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: true)
            let fixture = try await TestStore(store: store, clock: ManualClock())
            for number in 0..<20 { try await fixture.register("\(number)", topics: .replace(["t"])) }
            try await merge(store)
            let topic = try #require(try await store.topic(named: "t", of: fixture.application.key))
            #expect(try await store.deleteTopics([topic.key], of: fixture.application.key) == 1)
            try await store.close()
            let next = try SQLiteStore.open(at: path, clock: ManualClock(), logger: .strict, migrate: false)
            while try await count("deleted_topic", in: next) > 0 { await Task.yield() }
            #expect(try await count("subscription", in: next) == 0)
            try await next.close()
        }
    }

    @Test func `an expired topic is deleted by itself`() async throws {
        let clock = ManualClock()
        try await withSQLiteStore(clock: clock) { store, _ in
            let fixture = try await TestStore(store: store, clock: clock)
            let topic = try NewTopic(name: "t", timeToLive: .seconds(60), now: clock.now)
            _ = try await store.create([topic], of: fixture.application.key)
            try await fixture.register("a", topics: .replace(["t"]))
            try await merge(store)
            clock.advance(by: .seconds(60))
            for _ in 0..<3 { try await store.writer.write { try TopicDeletion(session: $0).step() } }
            for table in ["topic", "subscription", "deleted_topic"] {
                #expect(try await count(table, in: store) == 0, "\(table)")
            }
        }
    }
}
