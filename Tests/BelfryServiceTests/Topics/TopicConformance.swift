import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct TopicConformance {
    private func query(_ fixture: TestStore, _ text: String? = nil, hasExpiry: Bool? = nil) -> TopicQuery {
        TopicQuery(applicationKey: fixture.application.key, text: text, hasExpiry: hasExpiry)
    }

    private func names(_ fixture: TestStore, _ text: String? = nil, hasExpiry: Bool? = nil) async throws -> [String] {
        try await fixture.store.topics(query(fixture, text, hasExpiry: hasExpiry), skip: 0, limit: 100).elements.map(
            \.name)
    }

    @discardableResult
    private func create(_ fixture: TestStore, _ names: String..., living: Duration? = nil) async throws -> [Topic] {
        let topics = try names.map { try NewTopic(name: $0, timeToLive: living, now: fixture.clock.now) }
        return try await fixture.store.create(topics, of: fixture.application.key).map(\.topic)
    }

    @Test(arguments: Engine.allCases)
    func `a topic's new expiry counts at once`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, mine) = (fixture.store, fixture.application.key)
            let device = try await fixture.register("a", topics: .replace(["news"]))
            let topic = try #require(try await store.topic(named: "news", of: mine))
            let stranger = try await store.create(.named("stranger"))
            #expect(try await store.change(topic.key, of: stranger.key, expiresAt: nil) == nil)
            let end = fixture.clock.now + .seconds(60)
            #expect(try await store.change(topic.key, of: mine, expiresAt: end)?.expiresAt == end)
            #expect(try await store.topic(named: "news", of: mine)?.expiresAt == end)
            #expect(try await store.change(topic.key, of: mine, expiresAt: nil)?.expiresAt == nil)
            _ = try await store.change(topic.key, of: mine, expiresAt: end)
            fixture.clock.advance(by: .seconds(61))
            #expect(try await store.device(device.uuid, on: fixture.platform.key)?.topics == [])
            #expect(try await store.change(topic.key, of: mine, expiresAt: nil) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a topic comes from back end or device, once`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let sport = try #require(try await create(fixture, "sport").first)
            try await fixture.register("a", topics: .replace(["sport", "news"]))
            let fates = try await fixture.store.create(
                ["sport", "art", "art"].map { try NewTopic(name: $0, now: fixture.clock.now) },
                of: fixture.application.key)
            #expect(fates.first == .existed(sport))
            let art = fates[1].topic
            #expect(fates[1] == .created(art) && fates[2] == .existed(art))
            #expect(try await names(fixture) == ["art", "news", "sport"])
            #expect(try await fixture.store.topic(named: "sport", of: fixture.application.key) == sport)
            #expect(try await fixture.store.topic(named: "opera", of: fixture.application.key) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `the list is cut, searched and told by expiry`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            try await create(fixture, "news-1", "news-2", "old", "news-3")
            try await create(fixture, "new-year", living: .seconds(60))
            #expect(try await names(fixture, "new") == ["new-year", "news-1", "news-2", "news-3"])
            #expect(try await names(fixture, hasExpiry: true) == ["new-year"])
            #expect(try await names(fixture, "new", hasExpiry: false) == ["news-1", "news-2", "news-3"])
            let store = fixture.store
            let part = try await store.topics(query(fixture, "new"), skip: 1, limit: 2)
            #expect(part.total == 4 && part.elements.map(\.name) == ["news-1", "news-2"])
            let rest = try await store.topics(query(fixture, "new"), after: "news-1", limit: 9)
            #expect(rest.total == 4 && rest.elements.map(\.name) == ["news-2", "news-3"])
            let none = try await store.topics(query(fixture, "%"), skip: 0, limit: 2)
            #expect(none.total == 0 && none.elements.isEmpty)
            let behind = try await store.topics(of: fixture.application.key, after: "news-1", limit: 2)
            #expect(behind.map(\.name) == ["news-2", "news-3"])
            #expect(try await store.topics(of: fixture.application.key, after: nil, limit: 9).count == 5)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a deleted topic is gone and its name begins anew`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a", topics: .replace(["t", "u"]))
            let application = fixture.application.key
            let topic = try #require(try await fixture.store.topic(named: "t", of: application))
            #expect(try await fixture.devices(.topic("t")) == [device.key])
            #expect(try await fixture.store.deleteTopics([topic.key, topic.key, Key(999)], of: application) == 1)
            #expect(try await names(fixture) == ["u"])
            #expect(try await fixture.devices(.topic("t")).isEmpty)
            #expect(try await fixture.store.device(device.uuid, on: fixture.platform.key)?.topics == ["u"])
            #expect(try await fixture.store.deleteTopics([topic.key], of: application) == 0)
            let anew = try #require(try await create(fixture, "t").first)
            #expect(anew.key != topic.key)
            #expect(try await fixture.devices(.topic("t")).isEmpty)
            try await fixture.register("a", topics: .change(subscribe: ["t"], unsubscribe: []))
            #expect(try await fixture.devices(.topic("t")) == [device.key])
            #expect(try await fixture.devices(.topic("u")) == [device.key])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a topic ends on time and a later subscription recreates`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let ending = try #require(try await create(fixture, "t", living: .seconds(60)).first)
            #expect(ending.expiresAt == fixture.clock.now + .seconds(60))
            let device = try await fixture.register("a", topics: .replace(["t", "u"]))
            fixture.clock.advance(by: .milliseconds(59_999))
            #expect(try await fixture.devices(.topic("t")) == [device.key])
            fixture.clock.advance(by: .milliseconds(1))
            #expect(try await fixture.devices(.topic("t")).isEmpty)
            #expect(try await names(fixture) == ["u"])
            #expect(try await fixture.store.topic(named: "t", of: fixture.application.key) == nil)
            #expect(try await fixture.store.device(device.uuid, on: fixture.platform.key)?.topics == ["u"])
            let other = try await fixture.register("b", topics: .replace(["t"]))
            #expect(try await fixture.devices(.topic("t")) == [other.key])
            let anew = try #require(try await fixture.store.topic(named: "t", of: fixture.application.key))
            #expect(anew.key != ending.key && anew.expiresAt == nil)
            #expect(try await fixture.store.deleteTopics([ending.key], of: fixture.application.key) == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device keeping its topics loses an ended one`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            try await create(fixture, "t", living: .seconds(60))
            try await fixture.register("a", topics: .replace(["t", "u"]))
            fixture.clock.advance(by: .seconds(60))
            try await create(fixture, "t")
            #expect(try await fixture.register("a", topics: .keep).topics == ["u"])
            #expect(try await fixture.devices(.topic("t")).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `another application's topics are its own`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let topic = try #require(try await create(fixture, "t").first)
            let stranger = try await fixture.store.create(.named("weather"))
            #expect(try await fixture.store.deleteTopics([topic.key], of: stranger.key) == 0)
            #expect(try await fixture.store.topic(named: "t", of: stranger.key) == nil)
            #expect(
                try await fixture.store.topics(TopicQuery(applicationKey: stranger.key), skip: 0, limit: 9).total == 0)
            #expect(try await names(fixture) == ["t"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a back end subscribes devices by UUID and by token`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let fcm = try await fixture.store.create(.of(fixture.application, kind: .androidFCM))
            let first = try await fixture.register("a", topics: .replace(["t"]), on: fcm)
            let second = try await fixture.register("b", on: fcm)
            let refusals = try await fixture.store.subscribe(
                [
                    Subscription(device: .uuid(first.uuid), topics: ["u"]),
                    Subscription(device: .token("b"), topics: ["t", "u"]),
                    Subscription(device: .token("b"), topics: ["v"]),
                ], of: fixture.application.key)
            #expect(refusals == [nil, nil, nil])
            #expect(try await fixture.store.device(first.uuid, on: fcm.key)?.topics == ["t", "u"])
            #expect(try await fixture.store.device(second.uuid, on: fcm.key)?.topics == ["t", "u", "v"])
            let search = DeviceSearch(platforms: [fixture.platform.key, fcm.key], topic: "u")
            #expect(try await fixture.store.deviceCount(search) == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `one refusal, and no device is subscribed`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let stranger = try await fixture.store.create(.of(try await fixture.store.create(.named("weather"))))
            let theirs = try await fixture.register("c", on: stranger)
            let full = try await fixture.register("a", topics: .replace(Set((1...1_024).map { "t\($0)" })))
            let device = try await fixture.register("b")
            let refusals = try await fixture.store.subscribe(
                [
                    Subscription(device: .uuid(device.uuid), topics: ["u"]),
                    Subscription(device: .uuid(theirs.uuid), topics: ["u"]),
                    Subscription(device: .uuid(UUID()), topics: ["u"]),
                    Subscription(device: .token("nobody's"), topics: ["u"]),
                    Subscription(device: .uuid(full.uuid), topics: ["u"]),
                    Subscription(device: .uuid(full.uuid), topics: ["t1"]),
                ], of: fixture.application.key)
            #expect(
                refusals == [nil, .unknownDevice, .unknownDevice, .unknownDevice, .tooManyTopics(1_025), nil])
            #expect(try await fixture.store.device(device.uuid, on: fixture.platform.key)?.topics == [])
            #expect(try await fixture.devices(.topic("u")).isEmpty)
        }
    }
}
