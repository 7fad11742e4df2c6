import BelfryCore
import BelfryTesting
import Foundation
import Testing

@Suite struct PageConformance {
    @Test(arguments: Engine.allCases)
    func `a page is claimed once, and again when its lease lapses`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let keys = try await scene.registerMany(3)
            let push = try await scene.push()
            try await scene.spread()
            let page = try await scene.claimOne()
            #expect(page.devices == keys && page.answers == [.pending, .pending, .pending])
            #expect(page.pushKey == push.key && page.platformKey == scene.platform.key && page.lane == .normal)
            #expect(page.attempt == 1 && !page.isLapsed)
            #expect(try await scene.claim(5).isEmpty)
            #expect(try await scene.store.nextDue() == scene.clock.now + .seconds(60))
            scene.clock.advance(by: .seconds(60))
            let again = try await scene.claimOne()
            #expect(again.key == page.key && again.attempt == 2 && again.isLapsed)
            #expect(try await scene.store.settle(Settlement(page, all: .accepted)) == false)
            #expect(try await scene.counts(of: push) == [.pending: 3])
            #expect(try await scene.store.settle(Settlement(again, all: .accepted)))
            #expect(try await scene.counts(of: push) == [.accepted: 3])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a page handed back is no lapsed one`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            _ = try await scene.registerMany(1)
            _ = try await scene.push()
            try await scene.spread()
            let page = try await scene.claimOne()
            let retryAt = scene.clock.now + .seconds(5)
            #expect(try await scene.store.settle(Settlement(handingBack: page, at: retryAt)))
            #expect(try await scene.store.nextDue() == retryAt)
            #expect(try await scene.claim().isEmpty)
            scene.clock.advance(by: .seconds(5))
            let again = try await scene.claimOne()
            #expect(again.attempt == 2 && !again.isLapsed)
        }
    }

    @Test(arguments: Engine.allCases)
    func `urgent pages go before normal ones, and those before bulk`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            _ = try await scene.registerMany(4)
            for lane in [Lane.bulk, .normal, .normal, .urgent] { _ = try await scene.push(lane: lane) }
            try await scene.spread()
            #expect(try await scene.claim(2).map(\.lane) == [.urgent, .normal])
            #expect(try await scene.claim(9, lanes: [.bulk]).map(\.lane) == [.bulk])
            #expect(try await scene.claim(9).map(\.lane) == [.normal])
        }
    }

    @Test(arguments: Engine.allCases)
    func `pages of one platform are claimed in the order of their due times`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let keys = try await scene.registerMany(4)
            _ = try await scene.push()
            try await scene.spread(pagesOf: 1)
            let first = try await scene.claimOne()
            #expect(first.devices == [keys[0]])
            #expect(try await scene.store.settle(Settlement(handingBack: first, at: scene.clock.now + .seconds(1))))
            scene.clock.advance(by: .seconds(1))
            #expect(try await scene.claim(4).map(\.devices) == [[keys[1]], [keys[2]], [keys[3]], [keys[0]]])
        }
    }

    @Test(arguments: Engine.allCases)
    func `within a lane each application has its turn`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let small = try await scene.store.create(.named("small"))
            let smallPlatform = try await scene.store.create(.of(small))
            _ = try await scene.registerMany(20)
            _ = try await scene.registerMany(2, on: smallPlatform)
            _ = try await scene.push()
            _ = try await scene.push(on: [smallPlatform], of: small)
            try await scene.spread(pagesOf: 1)
            let pages = try await scene.claim(6)
            #expect(pages.count { $0.platformKey == smallPlatform.key } == 2)
            #expect(pages.count { $0.platformKey == scene.platform.key } == 4)
        }
    }

    @Test(arguments: Engine.allCases)
    func `single claims of two applications alternate`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let other = try await scene.store.create(.named("other"))
            let otherPlatform = try await scene.store.create(.of(other))
            _ = try await scene.registerMany(8)
            _ = try await scene.registerMany(8, on: otherPlatform)
            _ = try await scene.push()
            _ = try await scene.push(on: [otherPlatform], of: other)
            try await scene.spread(pagesOf: 1)
            var claimed: [Key<Platform>: Int] = [:]
            for _ in 0..<8 { claimed[try await scene.claimOne().platformKey, default: 0] += 1 }
            #expect(claimed == [scene.platform.key: 4, otherPlatform.key: 4])
        }
    }

    @Test(arguments: Engine.allCases)
    func `no platform is given more than it has room for`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let other = try await scene.store.create(.of(scene.application))
            _ = try await scene.registerMany(9)
            _ = try await scene.registerMany(9, on: other)
            _ = try await scene.push(lane: .urgent, on: [scene.platform, other])
            _ = try await scene.push(lane: .normal, on: [scene.platform, other])
            try await scene.spread(pagesOf: 3)
            let pages = try await scene.claim(99, room: [scene.platform.key: 4], elsewhere: 1)
            #expect(pages.count { $0.platformKey == scene.platform.key } == 4)
            #expect(pages.count { $0.platformKey == other.key } == 1)
            #expect(try await scene.claim(99, room: [scene.platform.key: 0], elsewhere: 0).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a load holds the push, the platform and whom to tell`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let keys = try await scene.registerMany(5)
            let push = try await scene.push(body: "zażółć / \"gęślą\"")
            try await scene.spread()
            let page = try await scene.claimOne()
            let dead = try await scene.register("3")
            try await scene.store.unregister(dead.uuid, on: scene.platform.key)
            let load = try #require(try await scene.store.load(page))
            #expect(load.push == push)
            #expect(load.platform == scene.platform)
            #expect(load.recipients.map(\.device) == keys.filter { $0 != dead.key })
            for recipient in load.recipients {
                let uuid = try await scene.store.register(
                    try Registration(token: recipient.token, about: .init(), customUserID: .keep, topics: .keep),
                    as: nil, on: scene.platform)
                #expect(uuid.key == recipient.device)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a load leaves out who is answered, also where devices stand far apart`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let keys = try await scene.registerMany(200)
            let few = [keys[3], keys[100], keys[199]]
            _ = try await scene.push(to: .list(.devices(few)))
            try await scene.spread()
            let page = try await scene.claimOne()
            let half = Settlement(
                page: page, answers: [.pending, .accepted, .pending], retryAt: scene.clock.now)
            #expect(try await scene.store.settle(half))
            let again = try await scene.claimOne()
            #expect(again.answers == half.answers)
            #expect(try await scene.store.load(again)?.recipients.map(\.device) == [few[0], few[2]])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a parked platform's pages wait, and run in order and at once when it resumes`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let keys = try await scene.registerMany(3)
            let push = try await scene.push()
            try await scene.spread(pagesOf: 1)
            let page = try await scene.claimOne()
            let parking = Parking(cause: .credentials, detail: "revoked", since: scene.clock.now)
            let later = scene.clock.now + .seconds(3_600)
            #expect(
                try await scene.store.settle(
                    Settlement(handingBack: page, at: later, halt: .init(parking, of: scene.platform))))
            #expect(try await scene.store.platform(scene.platform.key)?.parked == parking)
            #expect(try await scene.store.receipt(push.receiptID)?.parked == [parking])
            #expect(try await scene.store.receipt(push.receiptID)?.state == .parked)
            #expect(try await scene.claim(9).isEmpty)
            #expect(try await scene.store.nextDue() == nil)
            scene.clock.advance(by: .seconds(1))
            try await scene.store.resume(scene.platform.key)
            #expect(try await scene.store.receipt(push.receiptID)?.state == .delivering)
            let due = try #require(try await scene.store.nextDue())
            #expect(due <= scene.clock.now)
            #expect(try await scene.claim(9).map(\.devices) == keys.map { [$0] })
        }
    }

    @Test(arguments: Engine.allCases)
    func `resuming does not break a lease`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            _ = try await scene.registerMany(1)
            _ = try await scene.push()
            try await scene.spread()
            let page = try await scene.claimOne()
            try await scene.store.park(
                scene.platform.key, Parking(cause: .deaths, detail: "many", since: scene.clock.now))
            try await scene.store.resume(scene.platform.key)
            #expect(try await scene.claim(9).isEmpty)
            #expect(try await scene.store.settle(Settlement(page, all: .accepted)))
        }
    }
}
