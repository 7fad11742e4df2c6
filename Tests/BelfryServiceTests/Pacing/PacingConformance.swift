import BelfryTesting
import Foundation
import Synchronization
import Testing

@testable import BelfryService

/// Rules at work: the same on both engines.
@Suite struct PacingConformance {
    @Test(arguments: Engine.allCases)
    func `devices wait for the end of their quiet hours`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let town = PacedTown(fixture)
            fixture.clock.advance(to: try Instant("2026-06-01T12:00:00Z", field: ""))
            let (vienna, tokyo) = (
                try await town.register("vienna", zone: "Europe/Vienna"),
                try await town.register("tokyo", zone: "Asia/Tokyo")
            )
            try await town.edit(quietHours: #"{"from":"20:00","to":"08:00","time_zone":"UTC"}"#)
            let push = try await town.send(badge: .add(1))
            try await town.deliver()
            #expect(town.told(push) == [vienna])
            let platform = fixture.platform.key
            #expect(try await fixture.store.detail(of: tokyo, on: platform)?.badge == 0, "it counts once it is sent")
            #expect(try await fixture.counts(of: push) == [.accepted: 1, .pending: 1])
            // Eight in Tokyo is 23:00 UTC.
            fixture.clock.advance(to: try Instant("2026-06-01T22:59:00Z", field: ""))
            try await town.deliver()
            #expect(town.told(push) == [vienna])
            fixture.clock.advance(to: try Instant("2026-06-01T23:00:00Z", field: ""))
            try await town.deliver()
            #expect(town.told(push) == [vienna, tokyo])
            #expect(try await fixture.store.detail(of: tokyo, on: platform)?.badge == 1)
            #expect(try await fixture.counts(of: push) == [.accepted: 2])
        }
    }

    @Test(arguments: Engine.allCases)
    func `transactional pushes go out at night, others may not`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let town = PacedTown(fixture)
            fixture.clock.advance(to: try Instant("2026-06-01T23:00:00Z", field: ""))
            let device = try await town.register("a", zone: nil)
            try await town.edit(quietHours: #"{"from":"22:00","to":"08:00","then":"skip"}"#)
            let code = try await town.send(kind: "transactional")
            let news = try await town.send(kind: "news")
            try await town.deliver()
            #expect(town.told(code) == [device] && town.told(news).isEmpty)
            #expect(try await fixture.counts(of: news) == [.skipped(.quietHours): 1])
            try await town.edit(quietHours: #"{"from":"22:00","to":"08:00","then":"passive"}"#)
            let silent = try await town.send(kind: "news")
            try await town.deliver()
            #expect(town.told(silent) == [device] && town.provider.passive == [silent.key])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a zone that nobody knows is that of the user`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let town = PacedTown(fixture)
            fixture.clock.advance(to: try Instant("2026-06-01T12:00:00Z", field: ""))
            let profile = UserProfile(stored: nil, timeZone: "Asia/Tokyo", attributes: [:])
            _ = try await fixture.store.setUser("eva", of: fixture.application.key) { _ in profile }
            _ = try await town.register("a", zone: "GMT+09:00", user: "eva")
            let abroad = try await town.register("b", zone: "Europe/Vienna", user: "eva")
            try await town.edit(quietHours: #"{"from":"20:00","to":"08:00","then":"skip"}"#)
            let push = try await town.send()
            try await town.deliver()
            #expect(town.told(push) == [abroad])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a user's phones share a cap, codes do not count`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let town = PacedTown(fixture)
            fixture.clock.advance(to: try Instant("2026-06-01T12:00:00Z", field: ""))
            let phones = [try await town.register("a", user: "eva"), try await town.register("b", user: "eva")]
            let other = try await town.register("c")
            try await town.edit(caps: #"[{"limit":2,"per":"day"},{"limit":1,"per":"week","kind":"shop"}]"#)
            let first = try await town.send(kind: "shop")
            try await town.deliver()
            #expect(town.told(first) == phones + [other])
            let again = try await town.send(kind: "shop")
            let code = try await town.send(kind: "transactional")
            let second = try await town.send()
            try await town.deliver()
            #expect(town.told(again).isEmpty && town.told(code) == phones + [other])
            #expect(try await fixture.counts(of: again) == [.skipped(.capped): 3])
            #expect(town.told(second) == phones + [other])
            let third = try await town.send()
            try await town.deliver()
            #expect(town.told(third).isEmpty)
            fixture.clock.advance(by: .seconds(86_400))
            let tomorrow = try await town.send()
            try await town.deliver()
            #expect(town.told(tomorrow) == phones + [other])
        }
    }

    /// A worker that dies between the count and the send has counted; the batch is sent again and counts no more.
    @Test(arguments: Engine.allCases)
    func `a push that is sent again counts once`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let device = try await fixture.register("a").key
            var pacing = Pacing()
            pacing.rules = DeliveryRules(caps: [FrequencyCap(limit: 1, period: .day, kind: nil)])
            let (one, two) = (
                PacingRequest.sample(1, pacing, devices: [device]), PacingRequest.sample(2, pacing, devices: [device])
            )
            #expect(try await fixture.ports.pace([one]) == [[:]])
            #expect(try await fixture.ports.pace([one, two]) == [[:], [device: .skip(.capped)]])
            fixture.clock.advance(by: .seconds(86_401))
            #expect(try await fixture.ports.pace([two]) == [[:]])
            let before = fixture.clock.now + .seconds(-60)
            #expect(try await fixture.store.deleteExpired(.caps, before: before).rows == 1)
        }
    }

    @Test func `nodes that count together admit no more`() async throws {
        try await TestStore.play(on: .postgres) { fixture in
            let device = try await fixture.register("a").key
            var pacing = Pacing()
            pacing.rules = DeliveryRules(caps: [FrequencyCap(limit: 3, period: .day, kind: nil)])
            let requests = (1...24).map { PacingRequest.sample($0, pacing, devices: [device]) }
            let store = fixture.store
            let skipped = try await withThrowingTaskGroup(of: Int.self) { group in
                for request in requests { group.addTask { try await store.pace([request])[0].count } }
                return try await group.reduce(0, +)
            }
            #expect(skipped == 21)
        }
    }

    /// A server that starts anew releases no step that waits.
    @Test(
        arguments: Engine.allCases,
        [(1, 60, [10, 20, 25, 25]), (4, 60, [8, 16, 24, 25]), (8, 60, [8, 16, 24, 25]), (12, 6, [1, 2, 3, 4])])
    func `a throttled push tells so many devices a minute`(
        engine: Engine, plan: (platforms: Int, perMinute: Int, told: [Int])
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let town = PacedTown(fixture)
            fixture.clock.advance(to: try Instant("2026-06-01T12:00:00Z", field: ""))
            var platforms = [fixture.platform]
            while platforms.count < plan.platforms {
                platforms.append(try await fixture.ports.create(.of(fixture.application)))
            }
            for number in 0..<25 { try await fixture.register("\(number)", on: platforms[number % plan.platforms]) }
            let push = try await town.send(perMinute: plan.perMinute)
            var counts: [Int] = []
            for _ in plan.told {
                try await town.deliver()
                _ = try await (fixture.store as? SQLiteStore)?.takeOver()
                try await town.deliver()
                counts.append(town.told(push).count)
                #expect(try await fixture.store.damagedFanOutCount() == 0, "the rest waits, and is not damaged")
                #expect(try await fixture.store.damagedPushes(of: [fixture.application.key], limit: 9).isEmpty)
                fixture.clock.advance(by: .seconds(10))
            }
            #expect(counts == plan.told)
            #expect(try await fixture.counts(of: push) == [.accepted: counts.last ?? 0])
        }
    }
}

/// Devices of one platform, a provider that notes whom it told, and a worker that runs by hand.
private struct PacedTown {
    private let fixture: TestStore
    let provider = NotingProvider()

    init(_ fixture: TestStore) { self.fixture = fixture }

    func register(_ token: String, zone: String? = nil, user: String? = nil) async throws -> Key<Device> {
        let registration = try Registration(
            token: DeviceToken(bytes: Array(token.utf8)), about: Device.About(),
            customUserID: user.map { .set($0) } ?? .keep, topics: .keep, detail: DeviceDetail.Change(timeZone: zone))
        return try await fixture.ports.register(registration, as: nil, on: fixture.platform).key
    }

    func edit(quietHours: String? = nil, caps: String? = nil) async throws {
        try await fixture.store.edit(
            fixture.application.key,
            ApplicationEdit(
                quietHours: try quietHours.map {
                    .set(try QuietHours(JSONValue(json: $0.utf8), field: "quiet_hours"))
                } ?? .keep,
                caps: try caps.map { try FrequencyCap.list(JSONValue(json: $0.utf8), field: "caps") }))
    }

    func send(kind: String? = nil, perMinute: Int? = nil, badge: BadgeChange? = nil) async throws -> Push {
        var content = Push.Content(body: "hello", badge: badge)
        content.pacing = Pacing(kind: kind, perMinute: perMinute)
        let new = try await PushBuilder(store: fixture.ports, clock: fixture.clock).build(
            PushRequest(content: content, target: Target(AudienceExpression(text: "everyone", field: ""))),
            for: fixture.application.key)
        return try await fixture.ports.accept(new)
    }

    func told(_ push: Push) -> [Key<Device>] { provider.told(push.key) }

    /// Works until nothing is due.
    func deliver() async throws {
        let worker = DeliveryWorker.byHand(fixture.ports, provider, clock: fixture.clock)
        while true {
            let fanOuts = try await fixture.ports.claimFanOuts(atMost: 4, lanes: Lane.allCases, for: .seconds(60))
            for fanOut in fanOuts {
                let slice = try await fixture.ports.slice(
                    of: fanOut.audience, on: fanOut.platformKey, after: fanOut.cursor,
                    limit: fanOut.devicesPerStep(atMost: 500))
                let step = FanOutStep(
                    fanOut: fanOut, batches: [slice.devices], isLast: slice.end == nil, cursor: slice.end)
                #expect(try await fixture.ports.advance(step))
            }
            let batches = try await fixture.claim(9)
            for batch in batches { await worker.deliver([batch]) }
            if fanOuts.isEmpty, batches.isEmpty { return }
        }
    }
}

private final class NotingProvider: Provider {
    private let held = Mutex<(told: [Key<Push>: [Key<Device>]], passive: [Key<Push>])>(([:], []))

    var room: Int { 10_000 }

    func service(of token: DeviceToken) -> String? { nil }

    func refusesCredentials() async -> Bool? { nil }

    var passive: [Key<Push>] { held.withLock { $0.passive } }

    func told(_ push: Key<Push>) -> [Key<Device>] { held.withLock { $0.told[push] ?? [] } }

    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        held.withLock { held in
            held.told[push.key, default: []] += recipients.map(\.device)
            if push.content.pacing.isPassive { held.passive.append(push.key) }
        }
        return recipients.map { _ in .accepted }
    }
}
