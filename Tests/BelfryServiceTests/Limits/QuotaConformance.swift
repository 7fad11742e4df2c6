import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

/// Full quotas take no more, and what is there goes on working.
@Suite struct QuotaConformance {
    private func refusal(_ body: () async throws -> Void) async throws -> Quota? {
        do {
            try await body()
            return nil
        } catch StoreError.quotaExceeded(let excess) {
            return excess.quota
        }
    }

    private func use(_ quota: Quota, in fixture: TestStore) async throws -> Int? {
        try await fixture.store.quotas(of: fixture.application.key).first { $0.quota == quota }?.use
    }

    /// Without a limit devices are not counted in memory, and a node of PostgreSQL is off while it stores what it added.
    private func expectDevices(_ count: Int, in fixture: TestStore) async throws {
        for _ in 0..<1_000 where try await use(.devices, in: fixture) == count { return }
        #expect(try await use(.devices, in: fixture) == count)
    }

    private func create(_ names: [String], in fixture: TestStore) async throws {
        let topics = try names.map { try NewTopic(name: $0, now: fixture.clock.now) }
        _ = try await fixture.store.create(topics, of: fixture.application.key)
    }

    private func schedule(_ fixture: TestStore, body: String = "hello") async throws -> Schedule {
        try await fixture.store.schedule(
            PushRequest(content: Push.Content(body: body), target: try Target(topics: ["t"])),
            at: fixture.clock.now + .seconds(600), for: fixture.application.key)
    }

    @Test(arguments: Engine.allCases)
    func `a full application keeps its devices`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.devices: 2])) { fixture in
            let first = try await fixture.register("a")
            let second = try await fixture.register("b", on: try await fixture.store.create(.of(fixture.application)))
            #expect(try await refusal { try await fixture.register("c", topics: .replace(["t"])) } == .devices)
            #expect(try await fixture.store.topic(named: "t", of: fixture.application.key) == nil)
            // Again, under another token, without a word, and back.
            try await fixture.register("a", topics: .replace(["u"]))
            let moved = try await fixture.register("a2", as: first.uuid)
            #expect(moved.key == first.key && moved.topics == ["u"])
            try await fixture.store.unregister(first.uuid, on: fixture.platform.key)
            #expect(try await fixture.register("a2").isActive)
            try await expectDevices(2, in: fixture)
            #expect(second.isActive)
        }
    }

    @Test(arguments: Engine.allCases)
    func `one application's quota is not another's`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.devices: 1, .topics: 1])) { fixture in
            let other = try await fixture.store.create(.of(try await fixture.store.create(.named("weather"))))
            try await fixture.register("a", topics: .replace(["t"]))
            try await fixture.register("a", topics: .replace(["t"]), on: other)
            #expect(try await refusal { try await fixture.register("b", on: other) } == .devices)
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices of a platform that is deleted make room`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.devices: 2])) { fixture in
            let beingDeleted = try await fixture.store.create(.of(fixture.application))
            try await fixture.register("a", on: beingDeleted)
            try await fixture.register("b", on: beingDeleted)
            #expect(try await refusal { try await fixture.register("c") } == .devices)
            try await fixture.store.delete(beingDeleted.key, force: true)
            #expect(try await refusal { try await fixture.register("c") } == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a registration with too many new topics is refused whole`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.topics: 3])) { fixture in
            let device = try await fixture.register("a", topics: .replace(["t", "u"]))
            #expect(try await refusal { try await fixture.register("b", topics: .replace(["v", "w"])) } == .topics)
            #expect(
                try await refusal {
                    try await fixture.register("a", topics: .change(subscribe: ["v", "w"], unsubscribe: ["t"]))
                } == .topics)
            #expect(try await fixture.store.device(device.uuid, on: fixture.platform.key)?.topics == ["t", "u"])
            #expect(try await use(.topics, in: fixture) == 2)
            try await expectDevices(1, in: fixture)
            try await fixture.register("b", topics: .replace(["t", "v"]))
            // Those that are there cost nothing.
            try await fixture.register("c", topics: .replace(["t", "u", "v"]))
            #expect(try await refusal { try await fixture.register("c", topics: .replace(["w"])) } == .topics)
        }
    }

    @Test(arguments: Engine.allCases)
    func `topics are made all or none, and leaving ones free`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.topics: 200])) { fixture in
            let names = (0..<150).map { "t\($0)" }
            try await create(names, in: fixture)
            #expect(try await refusal { try await create((100..<201).map { "t\($0)" }, in: fixture) } == .topics)
            #expect(try await use(.topics, in: fixture) == 150)
            try await create((100..<200).map { "t\($0)" }, in: fixture)
            let topics = try await fixture.store.topics(of: fixture.application.key, after: nil, limit: 100)
            #expect(try await fixture.store.deleteTopics(topics.map(\.key), of: fixture.application.key) == 100)
            #expect(try await use(.topics, in: fixture) == 100)
            try await create((0..<100).map { "u\($0)" }, in: fixture)
            #expect(try await refusal { try await create(["one more"], in: fixture) } == .topics)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a subscription batch over the topic limit subscribes nobody`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.topics: 3])) { fixture in
            let device = try await fixture.register("a", topics: .replace(["t"]))
            let subscriptions = { (topics: Set<String>) in [Subscription(device: .uuid(device.uuid), topics: topics)] }
            let subscribe = { (topics: Set<String>) in
                _ = try await fixture.store.subscribe(subscriptions(topics), of: fixture.application.key)
            }
            #expect(try await refusal { try await subscribe(["u", "v", "w"]) } == .topics)
            #expect(try await fixture.store.device(device.uuid, on: fixture.platform.key)?.topics == ["t"])
            #expect(try await use(.topics, in: fixture) == 1)
            try await subscribe(["t", "u", "v"])
            #expect(try await fixture.store.device(device.uuid, on: fixture.platform.key)?.topics == ["t", "u", "v"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `one batch makes so many topics and no more`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (first, second) = (try await fixture.register("a"), try await fixture.register("b"))
            let names = (0...NewTopic.batchMax).map { "t\($0)" }
            let batch = { (names: ArraySlice<String>) in
                [
                    Subscription(device: .uuid(first.uuid), topics: Set(names.prefix(600))),
                    Subscription(device: .uuid(second.uuid), topics: Set(names.dropFirst(600))),
                ]
            }
            await #expect(throws: InvalidInput.self) {
                try await fixture.store.subscribe(batch(names[...]), of: fixture.application.key)
            }
            #expect(try await use(.topics, in: fixture) == 0)
            let refusals = try await fixture.store.subscribe(batch(names.dropFirst()), of: fixture.application.key)
            #expect(refusals == [nil, nil])
            #expect(try await use(.topics, in: fixture) == NewTopic.batchMax)
            #expect(try await fixture.store.device(second.uuid, on: fixture.platform.key)?.topics.count == 424)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a user's active devices per platform are limited`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.userDevices: 2])) { fixture in
            let first = try await fixture.register("a", user: .set("kim"))
            try await fixture.register("b", user: .set("kim"))
            #expect(try await refusal { try await fixture.register("c", user: .set("kim")) } == .userDevices)
            try await fixture.register("c", user: .set("robin"))
            #expect(try await refusal { try await fixture.register("c", user: .set("kim")) } == .userDevices)
            try await fixture.register("a", user: .set("kim"))
            try await fixture.store.unregister(first.uuid, on: fixture.platform.key)
            try await fixture.register("c", user: .set("kim"))
            // It comes back as what it was.
            #expect(try await fixture.register("a").isActive)
        }
    }

    @Test(arguments: Engine.allCases)
    func `locations, their groups and geofences are bounded`(engine: Engine) async throws {
        let quotas = Quotas([.locations: 2, .locationGroups: 1, .geofences: 1])
        try await TestStore.play(on: engine, quotas: quotas) { fixture in
            let shop = try await fixture.locate()
            let spare = try await fixture.locate("spare")
            #expect(try await refusal { _ = try await fixture.locate("third") } == .locations)
            let plan = try LocationGroupPlan(name: "shops", summary: "", locations: [shop.key])
            let group = try await fixture.store.create(plan, of: fixture.application.key)
            #expect(
                try await refusal { _ = try await fixture.store.create(plan, of: fixture.application.key) }
                    == .locationGroups)
            let fence = try await fixture.fence([shop])
            #expect(try await refusal { _ = try await fixture.fence([shop]) } == .geofences)
            #expect(try await fixture.store.delete(fence.key, of: fixture.application.key))
            #expect(try await fixture.store.delete(group.key, of: fixture.application.key))
            #expect(try await fixture.store.delete(spare.key, of: fixture.application.key))
            _ = try await fixture.store.create(plan, of: fixture.application.key)
            _ = try await fixture.fence([shop])
            _ = try await fixture.locate("third")
        }
    }

    @Test(arguments: Engine.allCases)
    func `a schedule that ends makes room for another`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.schedules: 1])) { fixture in
            let first = try await schedule(fixture)
            #expect(try await refusal { _ = try await schedule(fixture) } == .schedules)
            #expect(try await fixture.store.cancel(first.key, of: fixture.application.key))
            _ = try await schedule(fixture)
            #expect(try await use(.schedules, in: fixture) == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a caller's idempotency keys are its own`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.idempotencyKeys: 2])) { fixture in
            func reserve(_ name: UInt8, by caller: Principal) async throws -> IdempotencyVerdict {
                try await fixture.store.reserve(
                    Reservation(
                        name: Array(repeating: name, count: 32), caller: caller,
                        request: Array(repeating: 1, count: 32),
                        idempotentID: UUID(), hold: .seconds(30)))
            }
            let (mine, other) = (Principal(fixture.application), Principal(.admin, fixture.application.key.rawValue))
            _ = try await reserve(1, by: mine)
            guard case .first(let idempotentID) = try await reserve(2, by: mine) else { return #expect(Bool(false)) }
            #expect(try await refusal { _ = try await reserve(3, by: mine) } == .idempotencyKeys)
            _ = try await reserve(4, by: other)
            // A repetition is no further key.
            #expect(try await reserve(1, by: mine) == .busy(for: .seconds(30)))
            try await fixture.store.release(
                Array(repeating: 2, count: 32), idempotentID: idempotentID, hadNoEffect: true)
            _ = try await reserve(3, by: mine)
            #expect(try await use(.idempotencyKeys, in: fixture) == 2)
            fixture.clock.advance(by: IdempotencyRecord.lifetime)
            #expect(try await fixture.store.deleteExpired(.idempotency, before: fixture.clock.now).rows == 3)
            #expect(try await use(.idempotencyKeys, in: fixture) == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `content over quota is refused until pushes are forgotten`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.content: 10_000])) { fixture in
            let long = String(repeating: "x", count: 4_000)
            let new = NewPush(
                receiptID: UUID(), applicationKey: fixture.application.key, content: .init(body: long),
                audience: .list(.active), platformKeys: [], lane: .normal)
            let first = try await fixture.store.accept(new)
            let waiting = try await schedule(fixture, body: long)
            #expect(try await refusal { _ = try await fixture.push(body: long) } == .content)
            #expect(try await refusal { _ = try await schedule(fixture, body: long) } == .content)
            // What is known to be accepted is no more content, and what was promised is sent.
            #expect(try await fixture.store.accept(new) == first)
            _ = try await fixture.push(body: "short")
            let release = NewPush(
                receiptID: UUID(), applicationKey: fixture.application.key, content: waiting.pushRequest.content,
                audience: .list(.active), platformKeys: [], lane: .normal)
            #expect(try await fixture.store.release(waiting, as: release) != nil)
            fixture.clock.advance(by: .seconds(10))
            _ = try await fixture.store.deleteExpired(.answers, before: fixture.clock.now)
            #expect(try await fixture.store.deleteExpired(.pushes, before: fixture.clock.now).rows == 2)
            #expect(try await refusal { _ = try await fixture.push(body: long) } == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `content that is changed counts as it is now`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.content: 10_000])) { fixture in
            let waiting = try await schedule(fixture, body: "short")
            let grow = { (count: Int) in
                let content = Push.Content(body: String(repeating: "x", count: count))
                _ = try await fixture.store.change(
                    waiting.key, of: fixture.application.key, Schedule.Change(content: content))
            }
            #expect(try await refusal { try await grow(12_000) } == .content)
            for _ in 0..<5 { try await grow(9_000) }
            #expect(
                try await refusal { _ = try await fixture.push(body: String(repeating: "x", count: 2_000)) } == .content
            )
            try await grow(10)
            _ = try await fixture.push(body: String(repeating: "x", count: 2_000))
        }
    }

    @Test(arguments: Engine.allCases)
    func `every quota is shown with its use and its limit`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.devices: 9])) { fixture in
            try await fixture.register("a", topics: .replace(["t", "u"]))
            _ = try await fixture.push()
            let uses = try await fixture.store.quotas(of: fixture.application.key)
            #expect(uses.map(\.quota) == Quota.allCases)
            #expect(uses.first == QuotaUse(quota: .devices, use: 1, limit: 9))
            #expect(uses.filter { $0.limit != nil }.count == 1)
            #expect(try await use(.topics, in: fixture) == 2)
            #expect(try await use(.userDevices, in: fixture) == nil)
        }
    }
}
