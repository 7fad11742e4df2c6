import BelfryCore
import BelfryTesting
import FoundationEssentials
import Testing

/// What a receipt tells besides counts: what was sent and to whom, and what devices wait for.
@Suite struct PushRequestConformance {
    @Test(arguments: Engine.allCases)
    func `a push keeps its message and its target`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let device = try await scene.register("1")
            let content = Push.Content(
                body: "hello", custom: ["ios": .object(["aps": .object(["badge": .integer(3)])])])
            let targets = [
                Target.everyone, try Target(devices: [device.uuid], isInteractiveOnly: true),
                try Target(topics: ["art", "news"], customUserIDs: ["B", "a"], platforms: [.ios]),
                try Target(customUserIDs: ["a"], platforms: [.ios, .android], isInteractiveOnly: true),
                try Target(platforms: [.ios]),
            ]
            for target in targets {
                let order = Order(
                    content: content, target: target, lane: .bulk, expiresAt: scene.clock.now + .seconds(60))
                let push = try await PushService(store: scene.store).send(order, for: scene.application.key)
                #expect(try await scene.store.request(of: push.key) == order)
            }
            #expect(try await scene.store.request(of: Key(9_999)) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `the last fault of a platform is told for pushes that wait there, and were accepted before`(
        engine: Engine
    ) async throws {
        let (first, second) = (
            ConnectionFault(.dns, "no such name"), ConnectionFault(.tls, "the certificate is not trusted")
        )
        try await Scene.play(on: engine) { scene in
            let store = scene.store
            let other = try await store.create(.of(scene.application))
            _ = try await scene.registerMany(2)
            try await store.note(first, on: scene.platform.key)
            scene.clock.advance(by: .seconds(1))
            let push = try await scene.push(on: [scene.platform, other])
            #expect(try await store.connectionFaults(of: push.key).isEmpty, "nothing is known of it yet")
            try await scene.spread()
            #expect(try await store.connectionFaults(of: push.key).isEmpty, "a fault from before")
            try await store.note(first, on: scene.platform.key)
            try await store.note(first, on: other.key)
            scene.clock.advance(by: .seconds(1))
            try await store.note(second, on: scene.platform.key)
            let fault = PlatformFault(platform: scene.platform.uuid, fault: second, at: scene.clock.now)
            #expect(try await store.connectionFaults(of: push.key) == [fault], "nobody waits on the other platform")
            let page = try await scene.claimOne()
            #expect(try await store.settle(Settlement(page, all: .accepted)))
            #expect(try await store.connectionFaults(of: push.key).isEmpty, "nobody waits")
            try await store.delete(scene.platform.key, force: true)
            try await store.note(first, on: scene.platform.key)
        }
    }
}
