import BelfryTesting
import Foundation
import Synchronization
import Testing

@testable import BelfryService

@Suite struct DeliveryNoteConformance {
    private func settle(
        _ batch: Batch, _ outcomes: [Outcome], in fixture: TestStore
    ) async throws {
        let load = try #require(try await fixture.ports.load(batch))
        let settlement = Settlement(
            of: batch, sending: load, outcomes: outcomes, policy: RetryPolicy(), now: fixture.clock.now, jitter: 0)
        #expect(try await fixture.ports.settle(settlement))
    }

    @Test(arguments: Engine.allCases)
    func `attempts keep the provider's words and the next due time`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let keys = try await fixture.registerMany(2)
            let push = try await fixture.push()
            #expect(try await fixture.ports.delivery(of: keys[0], in: push.key) == nil)
            try await fixture.fanOut()
            let start = fixture.clock.now
            let fresh = try #require(try await fixture.ports.delivery(of: keys[0], in: push.key))
            #expect(fresh.answer == .pending && fresh.attempts.isEmpty && fresh.next == .attempt(at: start))
            let first = try await fixture.claimOne()
            let leased = try #require(try await fixture.ports.delivery(of: keys[0], in: push.key))
            guard case .inFlight(let until) = leased.next else { throw StoreError.unknown("lease: \(leased)") }
            #expect(until > start)
            try await settle(
                first, [.failed(retryAfter: nil).saying("503 ServiceUnavailable"), .accepted], in: fixture)
            let waiting = try #require(try await fixture.ports.delivery(of: keys[0], in: push.key))
            #expect(waiting.next == .attempt(at: start + .seconds(2)) && waiting.claims == 1)
            #expect(waiting.attempts.map(\.answer) == [#"failed, "503 ServiceUnavailable""#])
            #expect(waiting.attempts.map(\.at) == [start] && waiting.platform == fixture.platform.key)
            fixture.clock.advance(by: .seconds(3))
            try await settle(try await fixture.claimOne(), [.accepted], in: fixture)
            let done = try #require(try await fixture.ports.delivery(of: keys[0], in: push.key))
            #expect(done.answer == .accepted && done.next == .nothing && done.answeredAt == start)
            #expect(done.attempts.map(\.answer) == [#"failed, "503 ServiceUnavailable""#, "accepted"])
            #expect(done.attempts.map(\.number) == [1, 2])
            let other = try #require(try await fixture.ports.delivery(of: keys[1], in: push.key))
            #expect(other.answer == .accepted && other.attempts.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a push's last lease end is known while leased`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(1)
            let push = try await fixture.push()
            func end() async throws -> Instant? { try await fixture.store.leasesEnd(of: push.key) }
            #expect(try await end() == nil)
            let fanOuts = try await fixture.ports.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(50))
            #expect(fanOuts.count == 1)
            #expect(try await end() == fixture.clock.now + .seconds(50))
            fixture.clock.advance(by: .seconds(60))
            try await fixture.fanOut()
            #expect(try await end() == nil, "what is spread has no lease, and what waits has none yet")
            let batch = try await fixture.claimOne()
            let until = try #require(try await end())
            #expect(until > fixture.clock.now)
            try await settle(batch, [.accepted], in: fixture)
            #expect(try await end() == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a history stays bounded however often a batch is tried`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let keys = try await fixture.registerMany(1)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let words = String(repeating: "w", count: 100)
            for _ in 1...60 {
                fixture.clock.advance(by: .seconds(1_200))
                try await settle(
                    try await fixture.claimOne(), [.failed(retryAfter: nil).saying(words)], in: fixture)
            }
            let delivery = try #require(try await fixture.ports.delivery(of: keys[0], in: push.key))
            #expect(delivery.claims == 60 && delivery.attempts.last?.number == 60)
            #expect(20..<60 ~= delivery.attempts.count)
        }
    }

    @Test(arguments: Engine.allCases)
    func `unresolved target names are kept or found`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, service) = (fixture.store, PushService(store: fixture.store))
            let device = try await fixture.register("a", topics: .replace(["town"]))
            let strangers = (0..<25).map { _ in UUID() }
            func unmatched(_ target: Target) async throws -> UnresolvedTargets {
                let push = try await service.send(
                    PushRequest(content: Push.Content(body: "Hello"), target: target), for: fixture.application.key)
                return try await store.unmatchedNames(of: push.key)
            }
            #expect(try await unmatched(Target(devices: [device.uuid, device.uuid])).isEmpty)
            #expect(try await unmatched(.everyone).isEmpty)
            let named = try await unmatched(Target(devices: [device.uuid] + strangers + strangers))
            #expect(named.devices.count == 25 && named.devices.uuids == Array(strangers.prefix(20)))
            let topics = try await unmatched(Target(topics: ["Town", "sprots"], customUserIDs: ["nobody"]))
            #expect(topics == UnresolvedTargets(topics: ["sprots"], customUserIDs: ["nobody"]))
        }
    }

    @Test(arguments: Engine.allCases)
    func `an imported device is listed by the UUID it uses`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let old = UUID(words: 0x1111_2222_3333_4444, 0x8555_6666_7777_8888)
            let own = try await fixture.register("own")
            _ = try await store.importDevices(
                [
                    DeviceImport(
                        registration: try Registration(
                            token: DeviceToken(bytes: Array("moved".utf8)), about: Device.About(), customUserID: .clear,
                            topics: .replace([])), uuid: old)
                ], on: fixture.platform)
            let push = try await PushService(store: store).send(
                PushRequest(content: Push.Content(body: "Hello"), target: try Target(devices: [own.uuid, old])),
                for: fixture.application.key)
            let request = try #require(try await store.request(of: push.key))
            #expect(Set(request.target.devices ?? []) == [own.uuid, old])
            try await fixture.fanOut()
            let page = try await store.answers(in: push.key, kind: .all, after: nil, limit: 9)
            #expect(Set(page.answers.map(\.uuid)) == [own.uuid, old])
        }
    }

    @Test(arguments: Engine.allCases)
    func `no more calls wait for an old server than may`(engine: Engine) async throws {
        let dropped = DroppedCalls()
        try await TestStore.play(on: engine, observer: dropped) { fixture in
            let (store, platform) = (fixture.store, fixture.platform.key)
            func mirror() async throws {
                try await store.mirror(MirrorCall(.delete), of: Key(1), on: platform, atMost: 2)
            }
            for _ in 0..<3 { try await mirror() }
            #expect(try await store.mirrorBacklog() == 2)
            #expect(dropped.count.load(ordering: .relaxed) == 1)
            try await store.settle(try await store.mirrorEntries(limit: 1).map(\.key))
            try await mirror()
            #expect(try await store.mirrorBacklog() == 2)
            #expect(dropped.count.load(ordering: .relaxed) == 1)
        }
    }
}

private final class DroppedCalls: StoreObserver {
    let count = Atomic(0)

    func writesWaiting(_ count: Int) {}
    func transactionEnded(after duration: Duration) {}
    func unmirrored(_ count: Int) { self.count.add(count, ordering: .relaxed) }
}
