import BelfryService
import BelfryTesting
import FoundationEssentials
import Testing

/// Facts of a receipt besides counts: the message, the target, and what devices wait for.
@Suite struct PushRequestConformance {
    @Test(arguments: Engine.allCases)
    func `a push keeps its message and its target`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("1")
            let content = Push.Content(
                body: "hello", custom: ["ios": .object(["aps": .object(["badge": .integer(3)])])])
            let targets = [
                Target.everyone, try Target(devices: [device.uuid], isInteractiveOnly: true),
                try Target(topics: ["art", "news"], customUserIDs: ["B", "a"], platforms: [.ios]),
                try Target(customUserIDs: ["a"], platforms: [.ios, .android], isInteractiveOnly: true),
                try Target(platforms: [.ios]),
            ]
            var pushes: Set<Key<Push>> = []
            for target in targets {
                let order = PushRequest(
                    content: content, target: target, lane: .bulk, expiresAt: fixture.clock.now + .seconds(60))
                let push = try await PushService(store: fixture.store).send(order, for: fixture.application.key)
                #expect(try await fixture.store.request(of: push.key) == order)
                pushes.insert(push.key)
            }
            let contents = try await fixture.store.contents(of: Array(pushes) + [Key(9_999)]) { $0 }
            #expect(Set(contents.keys) == pushes && Set(contents.values) == [content])
            #expect(try await fixture.store.request(of: Key(9_999)) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a platform's last fault reaches earlier waiting pushes`(
        engine: Engine
    ) async throws {
        let (first, second) = (
            ConnectionFault(.dns, "no such name"), ConnectionFault(.tls, "the certificate is not trusted")
        )
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let other = try await store.create(.of(fixture.application))
            _ = try await fixture.registerMany(2)
            try await store.note(first, on: fixture.platform.key)
            fixture.clock.advance(by: .seconds(1))
            let push = try await fixture.push(on: [fixture.platform, other])
            #expect(try await store.connectionFaults(of: push.key).isEmpty, "nothing is known of it yet")
            try await fixture.fanOut()
            #expect(try await store.connectionFaults(of: push.key).isEmpty, "a fault from before")
            try await store.note(first, on: fixture.platform.key)
            try await store.note(first, on: other.key)
            fixture.clock.advance(by: .seconds(1))
            try await store.note(second, on: fixture.platform.key)
            let fault = PlatformFault(platform: fixture.platform.uuid, fault: second, at: fixture.clock.now)
            #expect(try await store.connectionFaults(of: push.key) == [fault], "no device waits on the other platform")
            let batch = try await fixture.claimOne()
            #expect(try await store.settle(Settlement(batch, all: .accepted)))
            #expect(try await store.connectionFaults(of: push.key).isEmpty, "no device waits")
            try await store.delete(fixture.platform.key, force: true)
            try await store.note(first, on: fixture.platform.key)
        }
    }
}
