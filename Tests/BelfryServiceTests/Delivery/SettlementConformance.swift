import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct SettlementConformance {
    @Test(arguments: Engine.allCases)
    func `a push's answer times are its closed batches'`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(10)
            let push = try await fixture.push()
            try await fixture.fanOut(batchesOf: 5)
            #expect(try await fixture.store.answerTimes(of: push.key).time(ofShare: 0.5) == nil)
            var ends: [Instant] = []
            for batch in try await fixture.claim(2) {
                fixture.clock.advance(by: .seconds(3))
                ends.append(fixture.clock.now)
                #expect(try await fixture.ports.settle(Settlement(batch, all: .accepted)))
            }
            let times = try await fixture.store.answerTimes(of: push.key)
            #expect(times.time(ofShare: 0.5) == ends[0] && times.time(ofShare: 0.51) == ends[1])
            #expect(times.time(ofShare: 1) == ends[1])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a device waits for minutes while its batch is sent`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let keys = try await fixture.registerMany(3)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let retryAt = fixture.clock.now + .seconds(5)
            let settlement = Settlement(
                batch: try await fixture.claimOne(), answers: [.pending, .accepted, .pending], retryAt: retryAt,
                retryTimes: [0: 15])
            #expect(try await store.settle(settlement))
            let retryTimes = settlement.waitEnds
            let counts: [Answer: Int] = [.pending: 2, .accepted: 1]
            #expect(try await fixture.counts(of: push) == counts)
            #expect(try await store.answerCounts(of: push.key) == [fixture.platform.key: counts])
            #expect(try await store.answer(of: keys[0], in: push.key) == .pending)
            #expect(try await store.nextDue() == retryAt)
            fixture.clock.advance(by: .seconds(5))
            let batch = try await fixture.claimOne()
            #expect(batch.answers == [.pending, .accepted, .pending])
            #expect(batch.retryTimes == retryTimes)
            #expect(try await store.load(batch)?.recipients.map(\.device) == [keys[2]])
            // Leases lapse, and the batch comes back untouched: the rest ends when it was to.
            for _ in 0..<2 {
                fixture.clock.advance(by: .seconds(60))
                #expect(try await fixture.claimOne().retryTimes == retryTimes)
            }
            fixture.clock.advance(by: .seconds(60))
            let lapsed = try await fixture.claimOne()
            #expect(try await store.settle(Settlement(handingBack: lapsed, at: fixture.clock.now)))
            let last = try await fixture.claimOne()
            #expect(last.retryTimes == retryTimes && last.answers == batch.answers)
            fixture.clock.advance(by: try #require(retryTimes[0]) - fixture.clock.now)
            let awake = try await fixture.claimOne()
            #expect(awake.retryTimes.isEmpty && awake.ready == [0, 2])
            #expect(try await store.settle(Settlement(awake, all: .accepted)))
            #expect(try await fixture.counts(of: push) == [.accepted: 3])
        }
    }

    @Test(arguments: Engine.withModel)
    func `a settlement said twice counts once`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(2)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            let half = Settlement(batch: batch, answers: [.accepted, .pending], retryAt: fixture.clock.now)
            #expect(try await fixture.ports.settle(half))
            #expect(try await fixture.ports.settle(half))
            #expect(try await fixture.counts(of: push) == [.accepted: 1, .pending: 1])
            let whole = Settlement(try await fixture.claimOne(), all: .refused(.badToken))
            #expect(try await fixture.ports.settle(whole))
            #expect(try await fixture.ports.settle(whole))
            #expect(try await fixture.ports.settle(half) == false)
            #expect(try await fixture.counts(of: push) == [.accepted: 1, .refused(.badToken): 1])
        }
    }

    @Test(arguments: Engine.withModel)
    func `a push is settled with its last batch`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let keys = try await fixture.registerMany(2)
            let push = try await fixture.push()
            try await fixture.fanOut(batchesOf: 1)
            let batches = try await fixture.claim(2)
            fixture.clock.advance(by: .seconds(1))
            let first = fixture.clock.now
            #expect(try await fixture.ports.settle(Settlement(batches[0], all: .gone)))
            fixture.clock.advance(by: .seconds(1))
            let half = try #require(try await fixture.ports.receipt(push.receiptID))
            #expect(half.state == .delivering && half.firstAnswerAt == first && half.settledAt == nil)
            #expect(half.devices == 2 && half.answered == 1)
            #expect(try await fixture.ports.settle(Settlement(batches[1], all: .expired)))
            let whole = try #require(try await fixture.ports.receipt(push.receiptID))
            #expect(whole.state == .settled && whole.firstAnswerAt == first && whole.settledAt == fixture.clock.now)
            #expect(whole.push == push.head)
            #expect(try await fixture.ports.answer(of: keys[0], in: push.key) == .gone)
            #expect(try await fixture.ports.answer(of: keys[1], in: push.key) == .expired)
            #expect(try await fixture.ports.answer(of: Key(999), in: push.key) == nil)
            #expect(try await fixture.ports.receipt(UUID()) == nil)
            #expect(try await fixture.ports.nextDue() == nil)
        }
    }

    @Test(arguments: Engine.withModel)
    func `only devices that registered before the verdict die`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let topics = Registration.TopicChange.replace(["t"])
            let dead = try await fixture.register("dead", topics: topics)
            let alive = try await fixture.register("alive", topics: topics)
            _ = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            fixture.clock.advance(by: .seconds(1))
            let since = fixture.clock.now
            try await fixture.register("alive")
            let deadTokens = [dead, alive].map { Settlement.DeadToken(device: $0.key, since: since) }
            #expect(try await fixture.ports.settle(Settlement(batch, all: .gone, deadTokens: deadTokens)))
            #expect(try await fixture.devices(.active) == [alive.key])
            #expect(try await fixture.devices(.topic("t")) == [alive.key])
            let row = try #require(try await fixture.ports.device(dead.uuid, on: fixture.platform.key))
            #expect(!row.isActive && row.token == dead.token && row.topics == ["t"])
            #expect(try await fixture.register("dead").key == dead.key)
            #expect(try await fixture.devices(.topic("t")) == [dead.key, alive.key])
        }
    }

    @Test(arguments: Engine.withModel)
    func `no verdict is believed while its platform is parked`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (ports, platform) = (fixture.ports, fixture.platform)
            let device = try await fixture.register("a")
            let batches = [try await fixture.claimBatch(), try await fixture.claimBatch()]
            fixture.clock.advance(by: .seconds(1))
            let dead = Settlement.DeadToken(device: device.key, since: fixture.clock.now)
            let many = Parking(cause: .deadTokens, detail: "many", since: fixture.clock.now)
            try await ports.park(platform.key, many)
            #expect(try await ports.settle(Settlement(batches[0], all: .gone, deadTokens: [dead])))
            #expect(try await fixture.devices(.active) == [device.key])
            try await ports.resume(platform.key)
            // Who was parked before does not park what was resumed.
            let late = Settlement(batches[1], all: .gone).parking(.init(many, of: platform))
            #expect(try await ports.settle(late))
            #expect(try await ports.platform(platform.key)?.parked == nil)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a verdict on an earlier token spares its device`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("old")
            let batch = try await fixture.claimBatch()
            try await fixture.register("new", as: device.uuid)
            let since = fixture.clock.now + .seconds(1)
            func settle(_ token: DeviceToken?) async throws -> Bool {
                let dead = Settlement.DeadToken(device: device.key, token: token, since: since)
                _ = try await fixture.ports.settle(Settlement(batch, all: .gone, deadTokens: [dead]))
                return try await fixture.devices(.active) == [device.key]
            }
            #expect(try await settle(device.token))
        }
    }

    @Test(arguments: Engine.withModel)
    func `a device its provider knows by another token has that`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("old", topics: .replace(["t"]), user: .set("u"))
            let batch = try await fixture.claimBatch()
            fixture.clock.advance(by: .seconds(1))
            #expect(try await fixture.ports.settle(Settlement(batch, moving: device, from: "old", to: "new")))
            let moved = try #require(try await fixture.ports.device(device.uuid, on: fixture.platform.key))
            #expect(moved.isActive && moved.token == DeviceToken(bytes: Array("new".utf8)))
            #expect(moved.topics == ["t"] && moved.customUserID == "u" && moved.registeredAt == fixture.clock.now)
            #expect(try await fixture.devices(.topic("t")) == [device.key])
            #expect(try await fixture.register("new").key == device.key)
            #expect(try await fixture.register("old").key != device.key)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a device that registered another token meanwhile keeps that`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("old")
            let batch = try await fixture.claimBatch()
            try await fixture.register("newest", as: device.uuid)
            #expect(try await fixture.ports.settle(Settlement(batch, moving: device, from: "old", to: "new")))
            let kept = try await fixture.ports.device(device.uuid, on: fixture.platform.key)
            #expect(kept?.token == DeviceToken(bytes: Array("newest".utf8)) && kept?.isActive == true)
        }
    }

    @Test(arguments: Engine.withModel)
    func `two devices with one token leave the later registration`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let first = try await fixture.register("old", topics: .replace(["t"]))
            let batch = try await fixture.claimBatch()
            fixture.clock.advance(by: .seconds(1))
            let second = try await fixture.register("new", topics: .replace(["t"]))
            #expect(try await fixture.ports.settle(Settlement(batch, moving: first, from: "old", to: "new")))
            #expect(try await fixture.devices(.active) == [second.key])
            #expect(try await fixture.devices(.topic("t")) == [second.key])
            let ceded = try #require(try await fixture.ports.device(first.uuid, on: fixture.platform.key))
            #expect(!ceded.isActive && ceded.token == first.token)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a device takes its token from older or unregistered ones`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let older = try await fixture.register("new", topics: .replace(["t"]))
            let gone = try await fixture.register("gone")
            fixture.clock.advance(by: .seconds(1))
            let device = try await fixture.register("old", topics: .replace(["t"]))
            let other = try await fixture.register("other")
            try await fixture.ports.unregister(gone.uuid, on: fixture.platform.key)
            let batch = try await fixture.claimBatch()
            let moves = [(device, "old", "new"), (other, "other", "gone")].map { device, from, to in
                Settlement.Move(
                    device: device.key, from: DeviceToken(bytes: Array(from.utf8)),
                    to: DeviceToken(bytes: Array(to.utf8)))
            }
            let settlement = Settlement(
                batch: batch, answers: batch.answers.map { _ in .accepted }, retryAt: nil, moves: moves)
            #expect(try await fixture.ports.settle(settlement))
            #expect(try await fixture.devices(.active) == [device.key, other.key])
            #expect(try await fixture.devices(.topic("t")) == [device.key])
            let evicted = try #require(try await fixture.ports.device(older.uuid, on: fixture.platform.key))
            #expect(!evicted.isActive && evicted.token == nil)
            #expect(try await fixture.register("new").key == device.key)
            #expect(try await fixture.register("gone").key == other.key)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a device that that is inactive takes no token`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let holder = try await fixture.register("new")
            let device = try await fixture.register("old")
            let batch = try await fixture.claimBatch()
            try await fixture.ports.unregister(device.uuid, on: fixture.platform.key)
            #expect(try await fixture.ports.settle(Settlement(batch, moving: device, from: "old", to: "new")))
            #expect(try await fixture.devices(.active) == [holder.key])
        }
    }

    @Test(arguments: Engine.withModel)
    func `a late settlement deactivates no device and parks nothing`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a")
            _ = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            fixture.clock.advance(by: .seconds(61))
            _ = try await fixture.claimOne()
            let late = Settlement(
                batch: batch, answers: [.gone], retryAt: nil,
                deadTokens: [.init(device: device.key, since: fixture.clock.now)],
                moves: [.init(device: device.key, from: DeviceToken(bytes: [97]), to: DeviceToken(bytes: [98]))],
                parkRequest: .init(
                    Parking(cause: .deadTokens, detail: "many", since: fixture.clock.now), of: fixture.platform)
            )
            #expect(try await fixture.ports.settle(late) == false)
            #expect(try await fixture.devices(.active) == [device.key])
            #expect(try await fixture.ports.device(device.uuid, on: fixture.platform.key)?.token == device.token)
            #expect(try await fixture.ports.platform(fixture.platform.key)?.parked == nil)
        }
    }

    @Test(arguments: Engine.withModel, [11, 12, 13] as [UInt64])
    func `whatever is settled, the counts equal the answers`(engine: Engine, seed: UInt64) async throws {
        try await TestStore.play(on: engine) { fixture in
            var dice = SplitMix64(seed: seed)
            let keys = try await fixture.registerMany(40)
            let push = try await fixture.push()
            try await fixture.fanOut(batchesOf: 7)
            let words: [Answer] = [.accepted, .gone, .expired, .unknown, .refused(.other), .skipped(.inactive)]
            var isOver = false
            while !isOver {
                for batch in try await fixture.claim(Int.random(in: 1...3, using: &dice)) where !dice.chance(0.2) {
                    let answers = batch.answers.map { answer in
                        answer == .pending && dice.chance(0.5) ? words.randomElement(using: &dice) ?? answer : answer
                    }
                    let retryAt = answers.contains(.pending) ? fixture.clock.now : nil
                    let settlement = Settlement(batch: batch, answers: answers, retryAt: retryAt)
                    #expect(try await fixture.ports.settle(settlement))
                    if dice.chance(0.3) { #expect(try await fixture.ports.settle(settlement)) }
                }
                if dice.chance(0.3) { fixture.clock.advance(by: .seconds(61)) }
                var sums: [Answer: Int] = [:]
                for key in keys {
                    sums[try #require(try await fixture.ports.answer(of: key, in: push.key)), default: 0] += 1
                }
                let receipt = try #require(try await fixture.ports.receipt(push.receiptID))
                #expect(receipt.counts == sums)
                isOver = sums[.pending] == nil
                #expect((receipt.state == .settled) == isOver)
            }
        }
    }
}
