import BelfryCore
import BelfryTesting
import Foundation
import Testing

@Suite struct WalkConformance {
    @Test(arguments: Engine.allCases)
    func `a push is kept with a walk for each platform`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let other = try await scene.store.create(.of(scene.application, kind: .androidFCM))
            let push = try await scene.push(to: .list(.topic("t")), lane: .bulk, on: [scene.platform, other])
            let walks = try await scene.store.claimWalks(atMost: 9, lanes: Lane.allCases, for: .seconds(60))
            #expect(Set(walks.map(\.platformKey)) == [scene.platform.key, other.key])
            for walk in walks {
                #expect(walk.pushKey == push.key && walk.lane == .bulk && walk.audience == push.audience)
                #expect(walk.cursor == nil && walk.attempt == 1)
            }
            #expect(try await scene.store.claimWalks(atMost: 9, lanes: Lane.allCases, for: .seconds(60)).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a push on unknown ground is refused`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let gone = try await scene.store.create(.named("gone"))
            try await scene.store.delete(gone.key, force: true)
            await #expect(throws: StoreError.self) { try await scene.push(of: gone) }
            #expect(try await scene.store.nextDue() == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `walks are claimed lane by lane, and one for each application in turn`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let small = try await scene.store.create(.named("small"))
            let smallPlatform = try await scene.store.create(.of(small))
            for _ in 0..<5 { _ = try await scene.push(lane: .bulk) }
            let fair = try await scene.push(lane: .bulk, on: [smallPlatform], of: small)
            let first = try await scene.push(lane: .normal)
            let walks = try await scene.store.claimWalks(atMost: 3, lanes: Lane.allCases, for: .seconds(60))
            #expect(walks.map(\.lane) == [.normal, .bulk, .bulk])
            #expect(walks.first?.pushKey == first.key)
            #expect(walks.contains { $0.pushKey == fair.key })
            _ = try await scene.push(lane: .normal)
            let normal = try await scene.store.claimWalks(atMost: 3, lanes: [.normal], for: .seconds(60))
            #expect(normal.map(\.lane) == [.normal])
            let rest = try await scene.store.claimWalks(atMost: 99, lanes: Lane.allCases, for: .seconds(60))
            #expect(rest.count == 4)
        }
    }

    @Test(arguments: Engine.allCases)
    func `steps write pages, move the cursor and end the walk`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let keys = try await scene.registerMany(25)
            let push = try await scene.push()
            var found: [Key<Device>] = []
            for (index, expected) in [10, 10, 5].enumerated() {
                let walk = try #require(
                    try await scene.store.claimWalks(atMost: 1, lanes: Lane.allCases, for: .seconds(60)).first)
                #expect(walk.cursor == found.last)
                let devices = try await scene.store.devices(in: walk, after: walk.cursor, limit: 10)
                #expect(devices.count == expected)
                found += devices
                let pages = [Array(devices.prefix(4)), Array(devices.dropFirst(4))]
                #expect(try await scene.store.advance(WalkStep(walk: walk, pages: pages, isLast: expected < 10)))
                let receipt = try #require(try await scene.store.receipt(push.receiptID))
                #expect(receipt.isSpread == (index == 2))
                #expect(receipt.counts == [.pending: found.count])
            }
            #expect(found == keys)
            #expect(try await scene.store.claimWalks(atMost: 1, lanes: Lane.allCases, for: .seconds(60)).isEmpty)
            #expect(try await scene.claim(99).map(\.devices).joined().sorted() == keys)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a walk whose lease lapsed belongs to who claims it next`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let keys = try await scene.registerMany(3)
            let push = try await scene.push()
            func claim() async throws -> Walk? {
                try await scene.store.claimWalks(atMost: 1, lanes: Lane.allCases, for: .seconds(60)).first
            }
            let first = try #require(try await claim())
            scene.clock.advance(by: .seconds(59))
            #expect(try await claim() == nil)
            scene.clock.advance(by: .seconds(1))
            let second = try #require(try await claim())
            #expect(second.attempt == first.attempt + 1)
            #expect(try await scene.store.advance(WalkStep(walk: first, pages: [keys], isLast: true)) == false)
            #expect(try await scene.counts(of: push).isEmpty)
            let step = WalkStep(walk: second, pages: [[keys[0]]], isLast: false)
            #expect(try await scene.store.advance(step))
            #expect(try await scene.store.advance(step) == false)
            #expect(try await scene.counts(of: push) == [.pending: 1])
            let third = try #require(try await claim())
            #expect(third.cursor == keys[0])
            #expect(try await scene.store.advance(WalkStep(walk: third, pages: [Array(keys[1...])], isLast: true)))
            #expect(try await scene.store.advance(WalkStep(walk: third, pages: [], isLast: true)) == false)
            #expect(try await scene.counts(of: push) == [.pending: 3])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a push that finds nobody is settled when its walks end`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let push = try await scene.push()
            #expect(try await scene.store.receipt(push.receiptID)?.state == .spreading)
            scene.clock.advance(by: .seconds(1))
            try await scene.spread()
            let receipt = try #require(try await scene.store.receipt(push.receiptID))
            #expect(receipt.state == .settled && receipt.isSpread && receipt.devices == 0)
            #expect(receipt.settledAt == scene.clock.now && receipt.firstAnswerAt == nil)
            let nowhere = try await scene.push(on: [])
            #expect(try await scene.store.receipt(nowhere.receiptID)?.state == .settled)
        }
    }
}
