import BelfryService
import BelfryTesting
import Foundation
import Testing

/// Changes that find nothing to change.
@Suite struct AuditedNothingConformance {
    private static let author = AuditAuthor.local(systemUser: "test")

    @Test(arguments: Engine.allCases)
    func `a change that finds nothing leaves no line`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application)
            let (places, topics) = (PlaceService(store: store), TopicService(store: store))
            await #expect(throws: StoreError.self) {
                try await places.delete(Key<Location>(99), named: nil, of: application, by: Self.author)
            }
            await #expect(throws: StoreError.self) {
                try await places.update(Key<Location>(99), of: application, by: Self.author) { $0 }
            }
            await #expect(throws: StoreError.self) {
                try await places.delete(Key<LocationGroup>(99), named: nil, of: application, by: Self.author)
            }
            await #expect(throws: StoreError.self) {
                try await places.update(Key<LocationGroup>(99), of: application, by: Self.author) { $0 }
            }
            await #expect(throws: StoreError.self) {
                try await places.delete(Key<Geofence>(99), of: application, by: Self.author)
            }
            await #expect(throws: StoreError.self) {
                try await places.update(Key<Geofence>(99), of: application, by: Self.author) { $0 }
            }
            let deleted = try await topics.delete([Key(98), Key(99)], of: application, by: Self.author)
            let isCancelled = try await PushService(store: store).cancel(Key(99), of: application, by: Self.author)
            #expect(deleted == 0 && !isCancelled)
            #expect(try await Self.actions(store).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a topic that exists is created once in the log`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let topics = TopicService(store: fixture.store)
            let (news, town) = (
                try NewTopic(name: "news", now: fixture.clock.now, field: ""),
                try NewTopic(name: "town", now: fixture.clock.now, field: "")
            )
            for new in [[news], [news], [news, town], [news, town]] {
                let found = try await topics.create(new, of: fixture.application, by: Self.author)
                #expect(found.map(\.topic.name) == new.map(\.name))
            }
            #expect(try await Self.actions(fixture.store) == ["topic.create", "topic.create"])
            let known = try #require(
                try await fixture.store.topic(named: "news", of: fixture.application.key))
            #expect(try await topics.delete([known.key, Key(99)], of: fixture.application, by: Self.author) == 1)
            #expect(try await Self.actions(fixture.store).last == "topic.delete")
        }
    }

    private static func actions(_ store: any Store) async throws -> [String] {
        try await store.auditLog(AuditQuery(bounds: .everything, limit: 100)).reversed().map(\.change.action)
    }
}
