import BelfryTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import BelfryService

/// "Android users in Germany on version 5 or later who follow news but not sports, at nine in their morning, in German, at most two a
/// day, not at night; and how many is that?"
@Suite struct QuestionTests {
    private static let zones = [
        "Pacific/Auckland", "Asia/Tokyo", "Asia/Kolkata", "Asia/Dubai", "Europe/Athens", "Europe/Berlin",
        "Europe/London", "America/Sao_Paulo", "America/New_York", "America/Denver", "America/Los_Angeles",
        "Pacific/Honolulu",
    ]
    private static let devices = 100_000

    @Test func `the product manager's question has its answer`() async throws {
        let server = try await TestAdminServer()
        server.clock.advance(to: try Instant("2026-06-01T06:00:00Z", field: ""))
        let application = try await server.admin.createApplication(name: try Name("news"), by: TestAdminServer.author)
            .application
        var platforms: [Platform] = []
        for kind in [PlatformKind.androidFCM, .ios] {
            platforms.append(try await server.store.create(.of(application, kind: kind)))
        }
        let expected = try await register(on: platforms, in: server)
        let app = "apps/\(application.uuid.lowercased)"

        let rules = try await server.send(
            .patch, app,
            #"{"quiet_hours":{"from":"22:00","to":"08:00","time_zone":"Europe/Berlin"},"caps":[{"limit":2,"per":"day"}]}"#
        )
        #expect(rules.status == 200, "\(rules)")
        let question = "platform:android country:DE version>=5 topic:news -topic:sports lang:de"
        let count = try await server.send(.post, "\(app)/audience/count", #"{"where":"\#(question)"}"#)
        #expect(count["devices"]?.wholeNumber == Int64(expected.count), "\(count)")

        let sent = try await server.send(
            .post, "\(app)/pushes",
            #"""
            {"message":{"body":"News","translations":{"de":{"body":"Neues"}}},"target":{"where":"\#(question)"},
             "send_at":{"local":"2026-06-02T09:00","past":"skip","time_zone":"Europe/Berlin"}}
            """#)
        #expect(200..<300 ~= sent.status, "\(sent)")
        let town = HandWorkers(server)
        // Every tenth of them had two pushes in the last day by then.
        let tired = Set(expected.keys.sorted().enumerated().filter { $0.offset.isMultiple(of: 10) }.map(\.element))
        try await runWorld(town, until: "2026-06-02T23:00:00Z", tiring: tired, of: application)

        let nine = try LocalTime("2026-06-02T09:00", field: "")
        for (device, zone) in expected where !tired.contains(device) {
            let due = try ZoneInfo(zone, field: "").instant(of: nine)
            #expect(town.told[device] == [due], "\(device) in \(zone)")
        }
        #expect(town.told.keys.allSatisfy { expected[$0] != nil && !tired.contains($0) })
        var answers: [Answer: Int] = [:]
        for push in try await server.store.allPushes() where push.content.body == "News" {
            answers.merge(try #require(try await server.store.receipt(push.receiptID)).counts, uniquingKeysWith: +)
        }
        #expect(answers == [.accepted: expected.count - tired.count, .skipped(.capped): tired.count])
    }

    /// Returns those that are meant, with their zones.
    private func register(on platforms: [Platform], in server: TestAdminServer) async throws -> [Key<Device>: String] {
        var (dice, expected): (SplitMix64, [Key<Device>: String]) = (SplitMix64(seed: 37), [:])
        for start in stride(from: 0, to: Self.devices, by: 2_000) {
            var planned: [(Registration, Platform, String?)] = []
            for number in start..<start + 2_000 {
                let platform = dice.pick(platforms)
                let (zone, language, country) = (
                    dice.pick(Self.zones), dice.pick(["de", "de-AT", "en"]), dice.pick(["DE", "AT", "DE"])
                )
                let version = dice.pick(["4.9", "5.0.1", "5.10", "12"])
                let topics = Set(["news", "sports", "weather"].filter { _ in dice.chance(0.6) })
                let profile = try DeviceProfile(appVersion: version, country: country, attributes: [:])
                let registration = try Registration(
                    token: DeviceToken(bytes: Array("token \(number)".utf8)), about: Device.About(),
                    customUserID: .keep, topics: .replace(topics),
                    detail: DeviceDetail.Change(language: language, timeZone: zone), profile: profile)
                let isMeant =
                    platform.kind == .androidFCM && country == "DE" && version != "4.9" && topics.contains("news")
                    && !topics.contains("sports") && language != "en"
                planned.append((registration, platform, isMeant ? zone : nil))
            }
            try await withThrowingTaskGroup(of: (Key<Device>, String?).self) { group in
                for (registration, platform, zone) in planned {
                    group.addTask { (try await server.store.register(registration, as: nil, on: platform).key, zone) }
                }
                for try await (device, zone) in group where zone != nil { expected[device] = zone }
            }
        }
        return expected
    }

    /// Sends what falls due, at its time. At six in the morning by their clocks two other pushes went to those who are to be tired.
    private func runWorld(
        _ town: HandWorkers, until end: String, tiring tired: Set<Key<Device>>,
        of application: BelfryService.Application
    ) async throws {
        let (end, clock) = (try Instant(end, field: ""), town.server.clock)
        for text in ["One", "Two"] {
            var content = Push.Content(body: text)
            content = content.paced(
                by: DeliveryRules(caps: [FrequencyCap(limit: 2, period: .day, kind: nil)]))
            for start in stride(from: 0, to: tired.count, by: 1_000) {
                let some = Array(tired.sorted()[start..<min(start + 1_000, tired.count)])
                let platform = try #require(try await town.server.store.platforms(of: application.key).first)
                _ = try await town.server.store.accept(
                    NewPush(
                        receiptID: UUID(), applicationKey: application.key, content: content,
                        audience: .list(.devices(some)), platformKeys: [platform.key], lane: .normal))
            }
        }
        clock.advance(to: try Instant("2026-06-01T20:00:00Z", field: ""))
        try await town.deliver()
        town.forget()
        let builder = PushBuilder(store: town.server.store, clock: clock)
        let scheduler = Scheduler(
            store: town.server.store, clock: clock, poll: .seconds(1), pushObserver: NoPushObserver(),
            loop: RetryingLoop(clock: clock, pause: .seconds(1), logger: .strict))
        while clock.now < end {
            for due in try await town.server.store.dueSchedules(atMost: 10) {
                try await scheduler.release(due, by: builder)
            }
            try await town.deliver()
            clock.advance(by: .seconds(900))
        }
    }
}

/// Workers that are run by hand.
private final class HandWorkers: Sendable {
    let server: TestAdminServer
    private let held = Mutex<[Key<Device>: [Instant]]>([:])

    init(_ server: TestAdminServer) { self.server = server }

    var told: [Key<Device>: [Instant]] { held.withLock { $0 } }

    func forget() { held.withLock { $0 = [:] } }

    func deliver() async throws {
        let (store, clock, log) = (server.store, server.clock, CapturedLog().logger)
        let provider = FakeProvider(ledger: Ledger(), clock: clock) { [self] _, device, _, now in
            held.withLock { $0[device, default: []].append(now) }
            return (.accepted, true)
        }
        let worker = DeliveryWorker.byHand(store, provider, clock: clock)
        let fanOuts = FanOutWorker(
            store: store, lanes: Lane.allCases, options: DeliveryOptions(),
            loop: RetryingLoop(clock: clock, pause: .seconds(1), logger: log))
        while true {
            let open = try await store.claimFanOuts(atMost: 4, lanes: Lane.allCases, for: .seconds(60))
            for fanOut in open { try await fanOuts.step(fanOut) }
            let bursts = try await store.claimBursts(
                BatchClaim(burstsMax: 8, roomElsewhere: .max, lease: .seconds(60)))
            for burst in bursts { await worker.deliver(burst) }
            if open.isEmpty, bursts.isEmpty { return }
        }
    }
}
