import BelfryCore
import BelfryTesting
import Foundation
import Testing

@Suite struct TopicConformance {
    private func query(_ scene: Scene, _ text: String? = nil, hasExpiry: Bool? = nil) -> TopicQuery {
        TopicQuery(applicationKey: scene.application.key, text: text, hasExpiry: hasExpiry)
    }

    private func names(_ scene: Scene, _ text: String? = nil, hasExpiry: Bool? = nil) async throws -> [String] {
        try await scene.store.topics(query(scene, text, hasExpiry: hasExpiry), skip: 0, limit: 100).elements.map(\.name)
    }

    @discardableResult
    private func create(_ scene: Scene, _ names: String..., living: Duration? = nil) async throws -> [Topic] {
        let topics = try names.map { try NewTopic(name: $0, timeToLive: living, now: scene.clock.now) }
        return try await scene.store.create(topics, of: scene.application.key).map(\.topic)
    }

    @Test(arguments: Engine.allCases)
    func `a topic comes from a back end or from a device, and is there once`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let sport = try #require(try await create(scene, "sport").first)
            try await scene.register("a", topics: .replace(["sport", "news"]))
            let fates = try await scene.store.create(
                ["sport", "art", "art"].map { try NewTopic(name: $0, now: scene.clock.now) }, of: scene.application.key)
            #expect(fates.first == .existed(sport))
            let art = fates[1].topic
            #expect(fates[1] == .created(art) && fates[2] == .existed(art))
            #expect(try await names(scene) == ["art", "news", "sport"])
            #expect(try await scene.store.topic(named: "sport", of: scene.application.key) == sport)
            #expect(try await scene.store.topic(named: "opera", of: scene.application.key) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `the list is cut, searched and told by expiry`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            try await create(scene, "news-1", "news-2", "old", "news-3")
            try await create(scene, "new-year", living: .seconds(60))
            #expect(try await names(scene, "new") == ["new-year", "news-1", "news-2", "news-3"])
            #expect(try await names(scene, hasExpiry: true) == ["new-year"])
            #expect(try await names(scene, "new", hasExpiry: false) == ["news-1", "news-2", "news-3"])
            let store = scene.store
            let part = try await store.topics(query(scene, "new"), skip: 1, limit: 2)
            #expect(part.total == 4 && part.elements.map(\.name) == ["news-1", "news-2"])
            let none = try await store.topics(query(scene, "%"), skip: 0, limit: 2)
            #expect(none.total == 0 && none.elements.isEmpty)
            let behind = try await store.topics(of: scene.application.key, after: "news-1", limit: 2)
            #expect(behind.map(\.name) == ["news-2", "news-3"])
            #expect(try await store.topics(of: scene.application.key, after: nil, limit: 9).count == 5)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a deleted topic is gone from everywhere, and its name begins anew`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a", topics: .replace(["t", "u"]))
            let application = scene.application.key
            let topic = try #require(try await scene.store.topic(named: "t", of: application))
            #expect(try await scene.devices(.topic("t")) == [device.key])
            #expect(try await scene.store.deleteTopics([topic.key, topic.key, Key(999)], of: application) == 1)
            #expect(try await names(scene) == ["u"])
            #expect(try await scene.devices(.topic("t")).isEmpty)
            #expect(try await scene.store.device(device.uuid, on: scene.platform.key)?.topics == ["u"])
            #expect(try await scene.store.deleteTopics([topic.key], of: application) == 0)
            let anew = try #require(try await create(scene, "t").first)
            #expect(anew.key != topic.key)
            #expect(try await scene.devices(.topic("t")).isEmpty)
            try await scene.register("a", topics: .change(subscribe: ["t"], unsubscribe: []))
            #expect(try await scene.devices(.topic("t")) == [device.key])
            #expect(try await scene.devices(.topic("u")) == [device.key])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a topic ends at its time, and a later subscription makes it anew`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let ending = try #require(try await create(scene, "t", living: .seconds(60)).first)
            #expect(ending.expiresAt == scene.clock.now + .seconds(60))
            let device = try await scene.register("a", topics: .replace(["t", "u"]))
            scene.clock.advance(by: .milliseconds(59_999))
            #expect(try await scene.devices(.topic("t")) == [device.key])
            scene.clock.advance(by: .milliseconds(1))
            #expect(try await scene.devices(.topic("t")).isEmpty)
            #expect(try await names(scene) == ["u"])
            #expect(try await scene.store.topic(named: "t", of: scene.application.key) == nil)
            #expect(try await scene.store.device(device.uuid, on: scene.platform.key)?.topics == ["u"])
            let other = try await scene.register("b", topics: .replace(["t"]))
            #expect(try await scene.devices(.topic("t")) == [other.key])
            let anew = try #require(try await scene.store.topic(named: "t", of: scene.application.key))
            #expect(anew.key != ending.key && anew.expiresAt == nil)
            #expect(try await scene.store.deleteTopics([ending.key], of: scene.application.key) == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device that keeps its topics does not keep one that ended`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            try await create(scene, "t", living: .seconds(60))
            try await scene.register("a", topics: .replace(["t", "u"]))
            scene.clock.advance(by: .seconds(60))
            try await create(scene, "t")
            #expect(try await scene.register("a", topics: .keep).topics == ["u"])
            #expect(try await scene.devices(.topic("t")).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `another application's topics are its own`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let topic = try #require(try await create(scene, "t").first)
            let stranger = try await scene.store.create(.named("weather"))
            #expect(try await scene.store.deleteTopics([topic.key], of: stranger.key) == 0)
            #expect(try await scene.store.topic(named: "t", of: stranger.key) == nil)
            #expect(
                try await scene.store.topics(TopicQuery(applicationKey: stranger.key), skip: 0, limit: 9).total == 0)
            #expect(try await names(scene) == ["t"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a back end subscribes devices by UUID and by token`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let fcm = try await scene.store.create(.of(scene.application, kind: .androidFCM))
            let first = try await scene.register("a", topics: .replace(["t"]), on: fcm)
            let second = try await scene.register("b", on: fcm)
            let refusals = try await scene.store.subscribe(
                [
                    Subscription(device: .uuid(first.uuid), topics: ["u"]),
                    Subscription(device: .token("b"), topics: ["t", "u"]),
                    Subscription(device: .token("b"), topics: ["v"]),
                ], of: scene.application.key)
            #expect(refusals == [nil, nil, nil])
            #expect(try await scene.store.device(first.uuid, on: fcm.key)?.topics == ["t", "u"])
            #expect(try await scene.store.device(second.uuid, on: fcm.key)?.topics == ["t", "u", "v"])
            let search = DeviceSearch(platforms: [scene.platform.key, fcm.key], topic: "u")
            #expect(try await scene.store.deviceCount(search) == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `one refusal, and nobody is subscribed`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let stranger = try await scene.store.create(.of(try await scene.store.create(.named("weather"))))
            let theirs = try await scene.register("c", on: stranger)
            let full = try await scene.register("a", topics: .replace(Set((1...1_024).map { "t\($0)" })))
            let device = try await scene.register("b")
            let refusals = try await scene.store.subscribe(
                [
                    Subscription(device: .uuid(device.uuid), topics: ["u"]),
                    Subscription(device: .uuid(theirs.uuid), topics: ["u"]),
                    Subscription(device: .uuid(UUID()), topics: ["u"]),
                    Subscription(device: .token("nobody's"), topics: ["u"]),
                    Subscription(device: .uuid(full.uuid), topics: ["u"]),
                    Subscription(device: .uuid(full.uuid), topics: ["t1"]),
                ], of: scene.application.key)
            #expect(
                refusals == [nil, .unknownDevice, .unknownDevice, .unknownDevice, .tooManyTopics(1_025), nil])
            #expect(try await scene.store.device(device.uuid, on: scene.platform.key)?.topics == [])
            #expect(try await scene.devices(.topic("u")).isEmpty)
        }
    }
}
