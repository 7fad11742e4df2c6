import BelfryService
import BelfryTesting
import Foundation
import Testing

@Suite struct BatchConformance {
    @Test(arguments: Engine.withModel)
    func `a batch is claimed once, then after its lease lapses`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let keys = try await fixture.registerMany(3)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            #expect(batch.devices == keys && batch.answers == [.pending, .pending, .pending])
            #expect(batch.pushKey == push.key && batch.platformKey == fixture.platform.key && batch.lane == .normal)
            #expect(batch.attempt == 1 && !batch.isLapsed)
            #expect(try await fixture.claim(5).isEmpty)
            #expect(try await fixture.ports.nextDue() == fixture.clock.now + .seconds(60))
            fixture.clock.advance(by: .seconds(60))
            let again = try await fixture.claimOne()
            #expect(again.key == batch.key && again.attempt == 2 && again.isLapsed)
            #expect(try await fixture.ports.settle(Settlement(batch, all: .accepted)) == false)
            #expect(try await fixture.counts(of: push) == [.pending: 3])
            #expect(try await fixture.ports.settle(Settlement(again, all: .accepted)))
            #expect(try await fixture.counts(of: push) == [.accepted: 3])
        }
    }

    @Test(arguments: Engine.withModel)
    func `a batch handed back is no lapsed one`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(1)
            _ = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            let retryAt = fixture.clock.now + .seconds(5)
            #expect(try await fixture.ports.settle(Settlement(handingBack: batch, at: retryAt)))
            #expect(try await fixture.ports.nextDue() == retryAt)
            #expect(try await fixture.claim().isEmpty)
            fixture.clock.advance(by: .seconds(5))
            let again = try await fixture.claimOne()
            #expect(again.attempt == 2 && !again.isLapsed)
        }
    }

    @Test(arguments: Engine.withModel)
    func `urgent batches go before normal ones, and those before bulk`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(4)
            for lane in [Lane.bulk, .normal, .normal, .urgent] { _ = try await fixture.push(lane: lane) }
            try await fixture.fanOut()
            #expect(try await fixture.claim(2).map(\.lane) == [.urgent, .normal])
            #expect(try await fixture.claim(9, lanes: [.bulk]).map(\.lane) == [.bulk])
            #expect(try await fixture.claim(9).map(\.lane) == [.normal])
        }
    }

    @Test(arguments: Engine.withModel)
    func `a platform's batches are claimed by due time`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let keys = try await fixture.registerMany(4)
            _ = try await fixture.push()
            try await fixture.fanOut(batchesOf: 1)
            let first = try await fixture.claimOne()
            #expect(first.devices == [keys[0]])
            #expect(try await fixture.ports.settle(Settlement(handingBack: first, at: fixture.clock.now + .seconds(1))))
            fixture.clock.advance(by: .seconds(1))
            #expect(try await fixture.claim(4).map(\.devices) == [[keys[1]], [keys[2]], [keys[3]], [keys[0]]])
        }
    }

    @Test(arguments: Engine.withModel)
    func `within a lane each application has its turn`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let small = try await fixture.ports.create(.named("small"))
            let smallPlatform = try await fixture.ports.create(.of(small))
            _ = try await fixture.registerMany(20)
            _ = try await fixture.registerMany(2, on: smallPlatform)
            _ = try await fixture.push()
            _ = try await fixture.push(on: [smallPlatform], of: small)
            try await fixture.fanOut(batchesOf: 1)
            let batches = try await fixture.claim(6)
            #expect(batches.count { $0.platformKey == smallPlatform.key } == 2)
            #expect(batches.count { $0.platformKey == fixture.platform.key } == 4)
        }
    }

    @Test(arguments: Engine.withModel)
    func `single claims of two applications alternate`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let other = try await fixture.ports.create(.named("other"))
            let otherPlatform = try await fixture.ports.create(.of(other))
            _ = try await fixture.registerMany(8)
            _ = try await fixture.registerMany(8, on: otherPlatform)
            _ = try await fixture.push()
            _ = try await fixture.push(on: [otherPlatform], of: other)
            try await fixture.fanOut(batchesOf: 1)
            var claimed: [Key<Platform>: Int] = [:]
            for _ in 0..<8 { claimed[try await fixture.claimOne().platformKey, default: 0] += 1 }
            #expect(claimed == [fixture.platform.key: 4, otherPlatform.key: 4])
        }
    }

    @Test(arguments: Engine.withModel)
    func `no platform is given more than it has room for`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let other = try await fixture.ports.create(.of(fixture.application))
            _ = try await fixture.registerMany(9)
            _ = try await fixture.registerMany(9, on: other)
            _ = try await fixture.push(lane: .urgent, on: [fixture.platform, other])
            _ = try await fixture.push(lane: .normal, on: [fixture.platform, other])
            try await fixture.fanOut(batchesOf: 3)
            let batches = try await fixture.claim(99, room: [fixture.platform.key: 4], elsewhere: 1)
            #expect(batches.count { $0.platformKey == fixture.platform.key } == 4)
            #expect(batches.count { $0.platformKey == other.key } == 1)
            #expect(try await fixture.claim(99, room: [fixture.platform.key: 0], elsewhere: 0).isEmpty)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a load holds push, platform and devices`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let keys = try await fixture.registerMany(5)
            let push = try await fixture.push(body: "zażółć / \"gęślą\"")
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            let dead = try await fixture.register("3")
            try await fixture.ports.unregister(dead.uuid, on: fixture.platform.key)
            let load = try #require(try await fixture.ports.load(batch))
            #expect(load.push == push)
            #expect(load.platform == fixture.platform)
            #expect(load.recipients.map(\.device) == keys.filter { $0 != dead.key })
            #expect(load.recipients.allSatisfy { $0.registeredAt == fixture.clock.now })
            for recipient in load.recipients {
                let uuid = try await fixture.ports.register(
                    try Registration(token: recipient.token, about: .init(), customUserID: .keep, topics: .keep),
                    as: nil, on: fixture.platform)
                #expect(uuid.key == recipient.device)
            }
        }
    }

    @Test(arguments: Engine.withModel)
    func `a load omits answered devices, even far apart`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let keys = try await fixture.registerMany(200)
            let few = [keys[3], keys[100], keys[199]]
            _ = try await fixture.push(to: .list(.devices(few)))
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            let half = Settlement(
                batch: batch, answers: [.pending, .accepted, .pending], retryAt: fixture.clock.now)
            #expect(try await fixture.ports.settle(half))
            let again = try await fixture.claimOne()
            #expect(again.answers == half.answers)
            let recipients = try await fixture.ports.load(again)?.recipients ?? []
            #expect(recipients.map(\.device) == [few[0], few[2]])
            #expect(recipients.allSatisfy { $0.registeredAt == fixture.clock.now })
        }
    }

    @Test(arguments: Engine.withModel)
    func `a parked platform's batches wait and resume in order`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let keys = try await fixture.registerMany(3)
            let push = try await fixture.push()
            try await fixture.fanOut(batchesOf: 1)
            let batch = try await fixture.claimOne()
            let parking = Parking(cause: .credentials, detail: "revoked", since: fixture.clock.now)
            let later = fixture.clock.now + .seconds(3_600)
            #expect(
                try await fixture.ports.settle(
                    Settlement(handingBack: batch, at: later, parkRequest: .init(parking, of: fixture.platform))))
            #expect(try await fixture.ports.platform(fixture.platform.key)?.parked == parking)
            #expect(try await fixture.ports.receipt(push.receiptID)?.parked.map(\.parking) == [parking])
            #expect(try await fixture.ports.receipt(push.receiptID)?.state == .parked)
            #expect(try await fixture.claim(9).isEmpty)
            #expect(try await fixture.ports.nextDue() == nil)
            fixture.clock.advance(by: .seconds(1))
            try await fixture.ports.resume(fixture.platform.key)
            #expect(try await fixture.ports.receipt(push.receiptID)?.state == .delivering)
            let due = try #require(try await fixture.ports.nextDue())
            #expect(due <= fixture.clock.now)
            #expect(try await fixture.claim(9).map(\.devices) == keys.map { [$0] })
        }
    }

    @Test(arguments: Engine.withModel)
    func `resuming does not break a lease`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(1)
            _ = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            try await fixture.ports.park(
                fixture.platform.key, Parking(cause: .deadTokens, detail: "many", since: fixture.clock.now))
            try await fixture.ports.resume(fixture.platform.key)
            #expect(try await fixture.claim(9).isEmpty)
            #expect(try await fixture.ports.settle(Settlement(batch, all: .accepted)))
        }
    }

    @Test(arguments: Engine.withModel)
    func `small batches are claimed, loaded and settled together, individually fenced`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.ports
            let devices = try await fixture.registerMany(2)
            var pushes: [Push] = []
            for number in 1...40 { pushes.append(try await fixture.push(body: "hello \(number)")) }
            try await fixture.fanOut()
            let claim = BatchClaim(burstsMax: 1, roomElsewhere: 1, lease: .seconds(60))
            let burst = try await store.claimBatches(claim)
            #expect(Set(burst.map(\.pushKey)) == Set(pushes.map(\.key)))
            #expect(try await store.claimBatches(claim).isEmpty)
            let loads = try await store.load(burst)
            #expect(loads.map { $0?.push.key } == burst.map(\.pushKey))
            #expect(loads.allSatisfy { $0?.recipients.map(\.device) == devices })
            #expect(Set(loads.compactMap { $0?.push.content.body }).count == 40)
            // The lease of one lapses, and another delivery worker has it.
            #expect(try await store.settle(Settlement(handingBack: burst[7], at: fixture.clock.now)))
            let again = try #require(try await store.claimBatches(claim).first)
            #expect(again.key == burst[7].key)
            let areSettled = try await store.settle(burst.map { Settlement($0, all: .accepted) })
            #expect(areSettled == burst.map { $0.key != again.key })
            #expect(try await store.settle([Settlement(again, all: .gone)]) == [true])
            for push in pushes {
                let expected: [Answer: Int] = push.key == again.pushKey ? [.gone: 2] : [.accepted: 2]
                #expect(try await fixture.counts(of: push) == expected)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a load's content is bounded as a burst is`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(1)
            let text = String(repeating: "x", count: 60_000)
            for _ in 1...40 { _ = try await fixture.push(body: text) }
            try await fixture.fanOut()
            var open = try await fixture.ports.claimBatches(
                BatchClaim(burstsMax: 1, roomElsewhere: 1, lease: .seconds(60)))[...]
            #expect(open.count == 40)
            while !open.isEmpty {
                let loads = try await fixture.ports.load(Array(open))
                #expect(!loads.isEmpty && loads.allSatisfy { $0?.push.content.body == text })
                open = open.dropFirst(loads.count)
            }
        }
    }
}
