import BelfryCore
import BelfryTesting
import Foundation
import Testing

@Suite struct SettlementConformance {
    @Test(arguments: Engine.allCases)
    func `a device rests for minutes while others of its page are carried`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            let keys = try await scene.registerMany(3)
            let push = try await scene.push()
            try await scene.spread()
            let retryAt = scene.clock.now + .seconds(5)
            let settlement = Settlement(
                page: try await scene.claimOne(), answers: [.pending, .accepted, .pending], retryAt: retryAt,
                rests: [0: 15])
            #expect(try await store.settle(settlement))
            let rests = settlement.restEnds
            let counts: [Answer: Int] = [.pending: 2, .accepted: 1]
            #expect(try await scene.counts(of: push) == counts)
            #expect(try await store.answerCounts(of: push.key) == [scene.platform.key: counts])
            #expect(try await store.answer(of: keys[0], in: push.key) == .pending)
            #expect(try await store.nextDue() == retryAt)
            scene.clock.advance(by: .seconds(5))
            let page = try await scene.claimOne()
            #expect(page.answers == [.pending, .accepted, .pending])
            #expect(page.rests == rests)
            #expect(try await store.load(page)?.recipients.map(\.device) == [keys[2]])
            // Leases lapse, and the page comes back untouched: the rest ends when it was to.
            for _ in 0..<2 {
                scene.clock.advance(by: .seconds(60))
                #expect(try await scene.claimOne().rests == rests)
            }
            scene.clock.advance(by: .seconds(60))
            let lapsed = try await scene.claimOne()
            #expect(try await store.settle(Settlement(handingBack: lapsed, at: scene.clock.now)))
            let last = try await scene.claimOne()
            #expect(last.rests == rests && last.answers == page.answers)
            scene.clock.advance(by: try #require(rests[0]) - scene.clock.now)
            let awake = try await scene.claimOne()
            #expect(awake.rests.isEmpty && awake.ready == [0, 2])
            #expect(try await store.settle(Settlement(awake, all: .accepted)))
            #expect(try await scene.counts(of: push) == [.accepted: 3])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a settlement said twice counts once`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            _ = try await scene.registerMany(2)
            let push = try await scene.push()
            try await scene.spread()
            let page = try await scene.claimOne()
            let half = Settlement(page: page, answers: [.accepted, .pending], retryAt: scene.clock.now)
            #expect(try await scene.store.settle(half))
            #expect(try await scene.store.settle(half))
            #expect(try await scene.counts(of: push) == [.accepted: 1, .pending: 1])
            let whole = Settlement(try await scene.claimOne(), all: .refused(.badToken))
            #expect(try await scene.store.settle(whole))
            #expect(try await scene.store.settle(whole))
            #expect(try await scene.store.settle(half) == false)
            #expect(try await scene.counts(of: push) == [.accepted: 1, .refused(.badToken): 1])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a push is settled with its last page`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let keys = try await scene.registerMany(2)
            let push = try await scene.push()
            try await scene.spread(pagesOf: 1)
            let pages = try await scene.claim(2)
            scene.clock.advance(by: .seconds(1))
            let first = scene.clock.now
            #expect(try await scene.store.settle(Settlement(pages[0], all: .gone)))
            scene.clock.advance(by: .seconds(1))
            let half = try #require(try await scene.store.receipt(push.receiptID))
            #expect(half.state == .delivering && half.firstAnswerAt == first && half.settledAt == nil)
            #expect(half.devices == 2 && half.answered == 1)
            #expect(try await scene.store.settle(Settlement(pages[1], all: .expired)))
            let whole = try #require(try await scene.store.receipt(push.receiptID))
            #expect(whole.state == .settled && whole.firstAnswerAt == first && whole.settledAt == scene.clock.now)
            #expect(whole.push == push.head)
            #expect(try await scene.store.answer(of: keys[0], in: push.key) == .gone)
            #expect(try await scene.store.answer(of: keys[1], in: push.key) == .expired)
            #expect(try await scene.store.answer(of: Key(999), in: push.key) == nil)
            #expect(try await scene.store.receipt(UUID()) == nil)
            #expect(try await scene.store.nextDue() == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `only devices that registered before the verdict die`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let topics = Registration.TopicChange.replace(["t"])
            let dead = try await scene.register("dead", topics: topics)
            let alive = try await scene.register("alive", topics: topics)
            _ = try await scene.push()
            try await scene.spread()
            let page = try await scene.claimOne()
            scene.clock.advance(by: .seconds(1))
            let since = scene.clock.now
            try await scene.register("alive")
            let deaths = [dead, alive].map { Settlement.Death(device: $0.key, since: since) }
            #expect(try await scene.store.settle(Settlement(page, all: .gone, deaths: deaths)))
            #expect(try await scene.devices(.active) == [alive.key])
            #expect(try await scene.devices(.topic("t")) == [alive.key])
            let row = try #require(try await scene.store.device(dead.uuid, on: scene.platform.key))
            #expect(!row.isActive && row.token == dead.token && row.topics == ["t"])
            #expect(try await scene.register("dead").key == dead.key)
            #expect(try await scene.devices(.topic("t")) == [dead.key, alive.key])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device that its provider knows by another token has that one`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("old", topics: .replace(["t"]), user: .set("u"))
            let page = try await scene.claimPage()
            scene.clock.advance(by: .seconds(1))
            #expect(try await scene.store.settle(Settlement(page, moving: device, from: "old", to: "new")))
            let moved = try #require(try await scene.store.device(device.uuid, on: scene.platform.key))
            #expect(moved.isActive && moved.token == DeviceToken(bytes: Array("new".utf8)))
            #expect(moved.topics == ["t"] && moved.customUserID == "u" && moved.registeredAt == scene.clock.now)
            #expect(try await scene.devices(.topic("t")) == [device.key])
            #expect(try await scene.register("new").key == device.key)
            #expect(try await scene.register("old").key != device.key)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device that registered another token meanwhile keeps that`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("old")
            let page = try await scene.claimPage()
            try await scene.register("newest", as: device.uuid)
            #expect(try await scene.store.settle(Settlement(page, moving: device, from: "old", to: "new")))
            let kept = try await scene.store.device(device.uuid, on: scene.platform.key)
            #expect(kept?.token == DeviceToken(bytes: Array("newest".utf8)) && kept?.isActive == true)
        }
    }

    @Test(arguments: Engine.allCases)
    func `of two devices with one token the later registration is left`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let first = try await scene.register("old", topics: .replace(["t"]))
            let page = try await scene.claimPage()
            scene.clock.advance(by: .seconds(1))
            let second = try await scene.register("new", topics: .replace(["t"]))
            #expect(try await scene.store.settle(Settlement(page, moving: first, from: "old", to: "new")))
            #expect(try await scene.devices(.active) == [second.key])
            #expect(try await scene.devices(.topic("t")) == [second.key])
            let ceded = try #require(try await scene.store.device(first.uuid, on: scene.platform.key))
            #expect(!ceded.isActive && ceded.token == first.token)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device takes its new token from an older one, and from one that unregistered`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let older = try await scene.register("new", topics: .replace(["t"]))
            let gone = try await scene.register("gone")
            scene.clock.advance(by: .seconds(1))
            let device = try await scene.register("old", topics: .replace(["t"]))
            let other = try await scene.register("other")
            try await scene.store.unregister(gone.uuid, on: scene.platform.key)
            let page = try await scene.claimPage()
            let moves = [(device, "old", "new"), (other, "other", "gone")].map { device, from, to in
                Settlement.Move(
                    device: device.key, from: DeviceToken(bytes: Array(from.utf8)),
                    to: DeviceToken(bytes: Array(to.utf8)))
            }
            let settlement = Settlement(
                page: page, answers: page.answers.map { _ in .accepted }, retryAt: nil, moves: moves)
            #expect(try await scene.store.settle(settlement))
            #expect(try await scene.devices(.active) == [device.key, other.key])
            #expect(try await scene.devices(.topic("t")) == [device.key])
            let evicted = try #require(try await scene.store.device(older.uuid, on: scene.platform.key))
            #expect(!evicted.isActive && evicted.token == nil)
            #expect(try await scene.register("new").key == device.key)
            #expect(try await scene.register("gone").key == other.key)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device that is inactive takes nobody's token`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let holder = try await scene.register("new")
            let device = try await scene.register("old")
            let page = try await scene.claimPage()
            try await scene.store.unregister(device.uuid, on: scene.platform.key)
            #expect(try await scene.store.settle(Settlement(page, moving: device, from: "old", to: "new")))
            #expect(try await scene.devices(.active) == [holder.key])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a late settlement kills nobody and parks nothing`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("a")
            _ = try await scene.push()
            try await scene.spread()
            let page = try await scene.claimOne()
            scene.clock.advance(by: .seconds(61))
            _ = try await scene.claimOne()
            let late = Settlement(
                page: page, answers: [.gone], retryAt: nil,
                deaths: [.init(device: device.key, since: scene.clock.now)],
                moves: [.init(device: device.key, from: DeviceToken(bytes: [97]), to: DeviceToken(bytes: [98]))],
                halt: .init(Parking(cause: .deaths, detail: "many", since: scene.clock.now), of: scene.platform))
            #expect(try await scene.store.settle(late) == false)
            #expect(try await scene.devices(.active) == [device.key])
            #expect(try await scene.store.device(device.uuid, on: scene.platform.key)?.token == device.token)
            #expect(try await scene.store.platform(scene.platform.key)?.parked == nil)
        }
    }

    @Test(arguments: Engine.allCases, [11, 12, 13] as [UInt64])
    func `whatever is settled, the counts equal the answers`(engine: Engine, seed: UInt64) async throws {
        try await Scene.play(on: engine) { scene in
            var dice = SplitMix64(seed: seed)
            let keys = try await scene.registerMany(40)
            let push = try await scene.push()
            try await scene.spread(pagesOf: 7)
            let words: [Answer] = [.accepted, .gone, .expired, .unknown, .refused(.other), .skipped(.inactive)]
            var isOver = false
            while !isOver {
                for page in try await scene.claim(Int.random(in: 1...3, using: &dice)) where !dice.chance(0.2) {
                    let answers = page.answers.map { answer in
                        answer == .pending && dice.chance(0.5) ? words.randomElement(using: &dice) ?? answer : answer
                    }
                    let retryAt = answers.contains(.pending) ? scene.clock.now : nil
                    let settlement = Settlement(page: page, answers: answers, retryAt: retryAt)
                    #expect(try await scene.store.settle(settlement))
                    if dice.chance(0.3) { #expect(try await scene.store.settle(settlement)) }
                }
                if dice.chance(0.3) { scene.clock.advance(by: .seconds(61)) }
                var sums: [Answer: Int] = [:]
                for key in keys {
                    sums[try #require(try await scene.store.answer(of: key, in: push.key)), default: 0] += 1
                }
                let receipt = try #require(try await scene.store.receipt(push.receiptID))
                #expect(receipt.counts == sums)
                isOver = sums[.pending] == nil
                #expect((receipt.state == .settled) == isOver)
            }
        }
    }
}
