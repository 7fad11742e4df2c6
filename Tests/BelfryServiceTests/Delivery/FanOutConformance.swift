import BelfryService
import BelfryTesting
import Foundation
import Testing

@Suite struct FanOutConformance {
    @Test(arguments: Engine.withModel)
    func `a push is kept with a fan-out for each platform`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let other = try await fixture.ports.create(.of(fixture.application, kind: .androidFCM))
            let push = try await fixture.push(to: .list(.topic("t")), lane: .bulk, on: [fixture.platform, other])
            let fanOuts = try await fixture.ports.claimFanOuts(atMost: 9, lanes: Lane.allCases, for: .seconds(60))
            #expect(Set(fanOuts.map(\.platformKey)) == [fixture.platform.key, other.key])
            for fanOut in fanOuts {
                #expect(fanOut.pushKey == push.key && fanOut.lane == .bulk && fanOut.audience == push.audience)
                #expect(fanOut.cursor == nil && fanOut.attempt == 1)
            }
            #expect(try await fixture.ports.claimFanOuts(atMost: 9, lanes: Lane.allCases, for: .seconds(60)).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a push on unknown ground is refused`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let gone = try await fixture.ports.create(.named("gone"))
            try await fixture.store.delete(gone.key, force: true)
            await #expect(throws: StoreError.self) { try await fixture.push(of: gone) }
            #expect(try await fixture.ports.nextDue() == nil)
        }
    }

    @Test(arguments: Engine.withModel)
    func `fan-outs are claimed by lane, one per application in turn`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let small = try await fixture.ports.create(.named("small"))
            let smallPlatform = try await fixture.ports.create(.of(small))
            for _ in 0..<5 { _ = try await fixture.push(lane: .bulk) }
            let fair = try await fixture.push(lane: .bulk, on: [smallPlatform], of: small)
            let first = try await fixture.push(lane: .normal)
            let fanOuts = try await fixture.ports.claimFanOuts(atMost: 3, lanes: Lane.allCases, for: .seconds(60))
            #expect(fanOuts.map(\.lane) == [.normal, .bulk, .bulk])
            #expect(fanOuts.first?.pushKey == first.key)
            #expect(fanOuts.contains { $0.pushKey == fair.key })
            _ = try await fixture.push(lane: .normal)
            let normal = try await fixture.ports.claimFanOuts(atMost: 3, lanes: [.normal], for: .seconds(60))
            #expect(normal.map(\.lane) == [.normal])
            let rest = try await fixture.ports.claimFanOuts(atMost: 99, lanes: Lane.allCases, for: .seconds(60))
            #expect(rest.count == 4)
        }
    }

    @Test(arguments: Engine.withModel)
    func `steps write batches, move the cursor and end the fan-out`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let keys = try await fixture.registerMany(25)
            let push = try await fixture.push()
            var found: [Key<Device>] = []
            for (index, expected) in [10, 10, 5].enumerated() {
                let fanOut = try #require(
                    try await fixture.ports.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60)).first)
                #expect(fanOut.cursor == found.last)
                let devices = try await fixture.ports.devices(in: fanOut, after: fanOut.cursor, limit: 10)
                #expect(devices.count == expected)
                found += devices
                let batches = [Array(devices.prefix(4)), Array(devices.dropFirst(4))]
                #expect(
                    try await fixture.ports.advance(FanOutStep(fanOut: fanOut, batches: batches, isLast: expected < 10))
                )
                let receipt = try #require(try await fixture.ports.receipt(push.receiptID))
                #expect(receipt.isFannedOut == (index == 2))
                #expect(receipt.counts == [.pending: found.count])
            }
            #expect(found == keys)
            #expect(try await fixture.ports.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60)).isEmpty)
            #expect(try await fixture.claim(99).map(\.devices).joined().sorted() == keys)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a lapsed fan-out belongs to its next claimer`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let keys = try await fixture.registerMany(3)
            let push = try await fixture.push()
            func claim() async throws -> FanOut? {
                try await fixture.ports.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60)).first
            }
            let first = try #require(try await claim())
            fixture.clock.advance(by: .seconds(59))
            #expect(try await claim() == nil)
            fixture.clock.advance(by: .seconds(1))
            let second = try #require(try await claim())
            #expect(second.attempt == first.attempt + 1)
            #expect(try await fixture.ports.advance(FanOutStep(fanOut: first, batches: [keys], isLast: true)) == false)
            #expect(try await fixture.counts(of: push).isEmpty)
            let step = FanOutStep(fanOut: second, batches: [[keys[0]]], isLast: false)
            #expect(try await fixture.ports.advance(step))
            #expect(try await fixture.ports.advance(step) == false)
            #expect(try await fixture.counts(of: push) == [.pending: 1])
            let third = try #require(try await claim())
            #expect(third.cursor == keys[0])
            #expect(
                try await fixture.ports.advance(FanOutStep(fanOut: third, batches: [Array(keys[1...])], isLast: true)))
            #expect(try await fixture.ports.advance(FanOutStep(fanOut: third, batches: [], isLast: true)) == false)
            #expect(try await fixture.counts(of: push) == [.pending: 3])
        }
    }

    @Test(arguments: Engine.withModel)
    func `a push without devices settles when its fan-outs end`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let push = try await fixture.push()
            #expect(try await fixture.ports.receipt(push.receiptID)?.state == .fanningOut)
            fixture.clock.advance(by: .seconds(1))
            try await fixture.fanOut()
            let receipt = try #require(try await fixture.ports.receipt(push.receiptID))
            #expect(receipt.state == .settled && receipt.isFannedOut && receipt.devices == 0)
            #expect(receipt.settledAt == fixture.clock.now && receipt.firstAnswerAt == nil)
            let nowhere = try await fixture.push(on: [])
            #expect(try await fixture.ports.receipt(nowhere.receiptID)?.state == .settled)
        }
    }
}
