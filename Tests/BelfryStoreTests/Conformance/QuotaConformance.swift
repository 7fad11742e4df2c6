import BelfryCore
import BelfryTesting
import Foundation
import Testing

/// What is full takes no more, and goes on with what it has.
@Suite struct QuotaConformance {
    private func refusal(_ body: () async throws -> Void) async throws -> Quota? {
        do {
            try await body()
            return nil
        } catch StoreError.quotaExceeded(let excess) {
            return excess.quota
        }
    }

    private func use(_ quota: Quota, in scene: Scene) async throws -> Int? {
        try await scene.store.quotas(of: scene.application.key).first { $0.quota == quota }?.use
    }

    private func create(_ names: [String], in scene: Scene) async throws {
        let topics = try names.map { try NewTopic(name: $0, now: scene.clock.now) }
        _ = try await scene.store.create(topics, of: scene.application.key)
    }

    private func schedule(_ scene: Scene, body: String = "hello") async throws -> Schedule {
        try await scene.store.schedule(
            Order(content: Push.Content(body: body), target: try Target(topics: ["t"])),
            at: scene.clock.now + .seconds(600), for: scene.application.key)
    }

    @Test(arguments: Engine.allCases)
    func `an application that is full of devices keeps those it has`(engine: Engine) async throws {
        try await Scene.play(on: engine, quotas: Quotas([.devices: 2])) { scene in
            let first = try await scene.register("a")
            let second = try await scene.register("b", on: try await scene.store.create(.of(scene.application)))
            #expect(try await refusal { try await scene.register("c", topics: .replace(["t"])) } == .devices)
            #expect(try await scene.store.topic(named: "t", of: scene.application.key) == nil)
            // Again, under another token, without a word, and back.
            try await scene.register("a", topics: .replace(["u"]))
            let moved = try await scene.register("a2", as: first.uuid)
            #expect(moved.key == first.key && moved.topics == ["u"])
            try await scene.store.unregister(first.uuid, on: scene.platform.key)
            #expect(try await scene.register("a2").isActive)
            #expect(try await use(.devices, in: scene) == 2)
            #expect(second.isActive)
        }
    }

    @Test(arguments: Engine.allCases)
    func `one application's quota is not another's`(engine: Engine) async throws {
        try await Scene.play(on: engine, quotas: Quotas([.devices: 1, .topics: 1])) { scene in
            let other = try await scene.store.create(.of(try await scene.store.create(.named("weather"))))
            try await scene.register("a", topics: .replace(["t"]))
            try await scene.register("a", topics: .replace(["t"]), on: other)
            #expect(try await refusal { try await scene.register("b", on: other) } == .devices)
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices of a platform that is deleted make room`(engine: Engine) async throws {
        try await Scene.play(on: engine, quotas: Quotas([.devices: 2])) { scene in
            let doomed = try await scene.store.create(.of(scene.application))
            try await scene.register("a", on: doomed)
            try await scene.register("b", on: doomed)
            #expect(try await refusal { try await scene.register("c") } == .devices)
            try await scene.store.delete(doomed.key, force: true)
            #expect(try await refusal { try await scene.register("c") } == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a registration with too many new topics is refused whole`(engine: Engine) async throws {
        try await Scene.play(on: engine, quotas: Quotas([.topics: 3])) { scene in
            let device = try await scene.register("a", topics: .replace(["t", "u"]))
            #expect(try await refusal { try await scene.register("b", topics: .replace(["v", "w"])) } == .topics)
            #expect(
                try await refusal {
                    try await scene.register("a", topics: .change(subscribe: ["v", "w"], unsubscribe: ["t"]))
                } == .topics)
            #expect(try await scene.store.device(device.uuid, on: scene.platform.key)?.topics == ["t", "u"])
            #expect(try await use(.topics, in: scene) == 2)
            #expect(try await use(.devices, in: scene) == 1)
            try await scene.register("b", topics: .replace(["t", "v"]))
            // Those that are there cost nothing.
            try await scene.register("c", topics: .replace(["t", "u", "v"]))
            #expect(try await refusal { try await scene.register("c", topics: .replace(["w"])) } == .topics)
        }
    }

    @Test(arguments: Engine.allCases)
    func `topics are made all or not at all, and those that go make room`(engine: Engine) async throws {
        try await Scene.play(on: engine, quotas: Quotas([.topics: 200])) { scene in
            let names = (0..<150).map { "t\($0)" }
            try await create(names, in: scene)
            #expect(try await refusal { try await create((100..<201).map { "t\($0)" }, in: scene) } == .topics)
            #expect(try await use(.topics, in: scene) == 150)
            try await create((100..<200).map { "t\($0)" }, in: scene)
            let topics = try await scene.store.topics(of: scene.application.key, after: nil, limit: 100)
            #expect(try await scene.store.deleteTopics(topics.map(\.key), of: scene.application.key) == 100)
            #expect(try await use(.topics, in: scene) == 100)
            try await create((0..<100).map { "u\($0)" }, in: scene)
            #expect(try await refusal { try await create(["one more"], in: scene) } == .topics)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a batch of subscriptions that needs too many topics subscribes nobody`(engine: Engine) async throws {
        try await Scene.play(on: engine, quotas: Quotas([.topics: 3])) { scene in
            let device = try await scene.register("a", topics: .replace(["t"]))
            let subscriptions = { (topics: Set<String>) in [Subscription(device: .uuid(device.uuid), topics: topics)] }
            let subscribe = { (topics: Set<String>) in
                _ = try await scene.store.subscribe(subscriptions(topics), of: scene.application.key)
            }
            #expect(try await refusal { try await subscribe(["u", "v", "w"]) } == .topics)
            #expect(try await scene.store.device(device.uuid, on: scene.platform.key)?.topics == ["t"])
            #expect(try await use(.topics, in: scene) == 1)
            try await subscribe(["t", "u", "v"])
            #expect(try await scene.store.device(device.uuid, on: scene.platform.key)?.topics == ["t", "u", "v"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `one batch makes so many topics and no more`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let (first, second) = (try await scene.register("a"), try await scene.register("b"))
            let names = (0...NewTopic.batchMax).map { "t\($0)" }
            let batch = { (names: ArraySlice<String>) in
                [
                    Subscription(device: .uuid(first.uuid), topics: Set(names.prefix(600))),
                    Subscription(device: .uuid(second.uuid), topics: Set(names.dropFirst(600))),
                ]
            }
            await #expect(throws: InvalidInput.self) {
                try await scene.store.subscribe(batch(names[...]), of: scene.application.key)
            }
            #expect(try await use(.topics, in: scene) == 0)
            let refusals = try await scene.store.subscribe(batch(names.dropFirst()), of: scene.application.key)
            #expect(refusals == [nil, nil])
            #expect(try await use(.topics, in: scene) == NewTopic.batchMax)
            #expect(try await scene.store.device(second.uuid, on: scene.platform.key)?.topics.count == 424)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a custom user id has so many active devices on a platform`(engine: Engine) async throws {
        try await Scene.play(on: engine, quotas: Quotas([.userDevices: 2])) { scene in
            let first = try await scene.register("a", user: .set("kim"))
            try await scene.register("b", user: .set("kim"))
            #expect(try await refusal { try await scene.register("c", user: .set("kim")) } == .userDevices)
            try await scene.register("c", user: .set("robin"))
            #expect(try await refusal { try await scene.register("c", user: .set("kim")) } == .userDevices)
            try await scene.register("a", user: .set("kim"))
            try await scene.store.unregister(first.uuid, on: scene.platform.key)
            try await scene.register("c", user: .set("kim"))
            // It comes back as what it was.
            #expect(try await scene.register("a").isActive)
        }
    }

    @Test(arguments: Engine.allCases)
    func `locations, their groups and geofences are bounded`(engine: Engine) async throws {
        let quotas = Quotas([.locations: 2, .locationGroups: 1, .geofences: 1])
        try await Scene.play(on: engine, quotas: quotas) { scene in
            let shop = try await scene.locate()
            let spare = try await scene.locate("spare")
            #expect(try await refusal { _ = try await scene.locate("third") } == .locations)
            let plan = try LocationGroupPlan(name: "shops", summary: "", locations: [shop.key])
            let group = try await scene.store.create(plan, of: scene.application.key)
            #expect(
                try await refusal { _ = try await scene.store.create(plan, of: scene.application.key) }
                    == .locationGroups)
            let fence = try await scene.fence([shop])
            #expect(try await refusal { _ = try await scene.fence([shop]) } == .geofences)
            #expect(try await scene.store.delete(fence.key, of: scene.application.key))
            #expect(try await scene.store.delete(group.key, of: scene.application.key))
            #expect(try await scene.store.delete(spare.key, of: scene.application.key))
            _ = try await scene.store.create(plan, of: scene.application.key)
            _ = try await scene.fence([shop])
            _ = try await scene.locate("third")
        }
    }

    @Test(arguments: Engine.allCases)
    func `a schedule that ends makes room for another`(engine: Engine) async throws {
        try await Scene.play(on: engine, quotas: Quotas([.schedules: 1])) { scene in
            let first = try await schedule(scene)
            #expect(try await refusal { _ = try await schedule(scene) } == .schedules)
            #expect(try await scene.store.cancel(first.key, of: scene.application.key))
            _ = try await schedule(scene)
            #expect(try await use(.schedules, in: scene) == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a caller's idempotency keys are its own`(engine: Engine) async throws {
        try await Scene.play(on: engine, quotas: Quotas([.idempotencyKeys: 2])) { scene in
            func reserve(_ name: UInt8, by caller: Principal) async throws -> IdempotencyVerdict {
                try await scene.store.reserve(
                    Reservation(
                        name: Array(repeating: name, count: 32), caller: caller,
                        request: Array(repeating: 1, count: 32),
                        seed: UUID(), hold: .seconds(30)))
            }
            let (mine, other) = (Principal(scene.application), Principal(.admin, scene.application.key.rawValue))
            _ = try await reserve(1, by: mine)
            guard case .first(let seed) = try await reserve(2, by: mine) else { return #expect(Bool(false)) }
            #expect(try await refusal { _ = try await reserve(3, by: mine) } == .idempotencyKeys)
            _ = try await reserve(4, by: other)
            // A repetition is no further key.
            #expect(try await reserve(1, by: mine) == .busy(for: .seconds(30)))
            try await scene.store.release(Array(repeating: 2, count: 32), seed: seed, hadNoEffect: true)
            _ = try await reserve(3, by: mine)
            #expect(try await use(.idempotencyKeys, in: scene) == 2)
            scene.clock.advance(by: IdempotencyRecord.lifetime)
            #expect(try await scene.store.forget(.idempotency, before: scene.clock.now).rows == 3)
            #expect(try await use(.idempotencyKeys, in: scene) == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `content is refused when so much is kept, and forgotten pushes make room`(engine: Engine) async throws {
        try await Scene.play(on: engine, quotas: Quotas([.content: 10_000])) { scene in
            let long = String(repeating: "x", count: 4_000)
            let new = NewPush(
                receiptID: UUID(), applicationKey: scene.application.key, content: .init(body: long),
                audience: .list(.active), platformKeys: [], lane: .normal)
            let first = try await scene.store.accept(new)
            let waiting = try await schedule(scene, body: long)
            #expect(try await refusal { _ = try await scene.push(body: long) } == .content)
            #expect(try await refusal { _ = try await schedule(scene, body: long) } == .content)
            // What is known to be accepted is no more content, and what was promised is sent.
            #expect(try await scene.store.accept(new) == first)
            _ = try await scene.push(body: "short")
            let release = NewPush(
                receiptID: UUID(), applicationKey: scene.application.key, content: waiting.order.content,
                audience: .list(.active), platformKeys: [], lane: .normal)
            #expect(try await scene.store.release(waiting, as: release) != nil)
            scene.clock.advance(by: .seconds(10))
            _ = try await scene.store.forget(.answers, before: scene.clock.now)
            #expect(try await scene.store.forget(.pushes, before: scene.clock.now).rows == 2)
            #expect(try await refusal { _ = try await scene.push(body: long) } == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `content that is changed counts as it is now`(engine: Engine) async throws {
        try await Scene.play(on: engine, quotas: Quotas([.content: 10_000])) { scene in
            let waiting = try await schedule(scene, body: "short")
            let grow = { (count: Int) in
                let content = Push.Content(body: String(repeating: "x", count: count))
                _ = try await scene.store.change(
                    waiting.key, of: scene.application.key, Schedule.Change(content: content))
            }
            #expect(try await refusal { try await grow(12_000) } == .content)
            for _ in 0..<5 { try await grow(9_000) }
            #expect(
                try await refusal { _ = try await scene.push(body: String(repeating: "x", count: 2_000)) } == .content)
            try await grow(10)
            _ = try await scene.push(body: String(repeating: "x", count: 2_000))
        }
    }

    @Test(arguments: Engine.allCases)
    func `every quota is shown with its use and its limit`(engine: Engine) async throws {
        try await Scene.play(on: engine, quotas: Quotas([.devices: 9])) { scene in
            try await scene.register("a", topics: .replace(["t", "u"]))
            _ = try await scene.push()
            let uses = try await scene.store.quotas(of: scene.application.key)
            #expect(uses.map(\.quota) == Quota.allCases)
            #expect(uses.first == QuotaUse(quota: .devices, use: 1, limit: 9))
            #expect(uses.filter { $0.limit != nil }.count == 1)
            #expect(try await use(.topics, in: scene) == 2)
            #expect(try await use(.userDevices, in: scene) == nil)
        }
    }
}
