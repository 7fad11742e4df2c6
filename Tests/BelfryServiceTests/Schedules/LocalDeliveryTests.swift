import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

/// A time by the clocks of each recipient.
@Suite struct LocalDeliveryTests {
    private func delivery(
        _ time: String, past: LocalDelivery.Past = .send, madeAt: String = "2026-01-01T00:00:00Z", zone: String = "UTC"
    ) throws -> LocalDelivery {
        try LocalDelivery(
            time: LocalTime(time, field: "local"), past: past, zone: ZoneInfo(zone, field: "zone"),
            madeAt: Instant(madeAt, field: "made"))
    }

    private func due(_ zone: String, _ delivery: LocalDelivery) throws -> String? {
        try delivery.due(in: ZoneInfo(zone, field: "zone"))?.text
    }

    @Test func `skipped and repeated times of clocks count once`() throws {
        let gap = try delivery("2026-03-29T02:30")
        #expect(try due("Europe/Vienna", gap) == "2026-03-29T01:00:00.000Z")
        let overlap = try delivery("2026-10-25T02:30")
        #expect(try due("Europe/Vienna", overlap) == "2026-10-25T00:30:00.000Z")
    }

    @Test func `every zone comes to it once within 26 hours`() throws {
        for time in ["2026-12-24T09:00", "2026-03-29T02:30", "2026-11-01T01:30"] {
            let delivery = try delivery(time)
            let steps = delivery.steps
            #expect(ZoneInfo.all.count > 300 && steps.count > 20)
            #expect(zip(steps, steps.dropFirst()).allSatisfy { $0 < $1 })
            let (first, last) = try (#require(steps.first), #require(steps.last))
            #expect(last - first <= .seconds(27 * 3_600), "\(last.text) \(first.text)")
            for zone in ZoneInfo.all { #expect(delivery.due(in: zone).map(steps.contains) == true, "\(zone.name)") }
        }
    }

    @Test func `a past time is sent, skipped, or sent tomorrow`() throws {
        let made = "2026-12-24T12:00:00Z"
        for (past, tokyo) in [
            (LocalDelivery.Past.send, made.replacing("Z", with: ".000Z")), (.skip, nil),
            (.nextDay, "2026-12-25T00:00:00.000Z"),
        ] as [(LocalDelivery.Past, String?)] {
            let delivery = try delivery("2026-12-24T09:00", past: past, madeAt: made)
            #expect(try due("Asia/Tokyo", delivery) == tokyo)
            #expect(try due("America/New_York", delivery) == "2026-12-24T14:00:00.000Z", "not past")
        }
    }

    /// The last clocks come to nine at 21:00 UTC.
    @Test(arguments: [LocalDelivery.Past.send, .nextDay])
    func `a time past everywhere is refused after five minutes`(past: LocalDelivery.Past) throws {
        let last = try delivery("2026-12-24T09:00", past: past, madeAt: "2026-12-24T21:05:00Z")
        #expect(try last.first() >= last.madeAt)
        let late = try delivery("2026-12-24T09:00", past: past, madeAt: "2026-12-24T21:05:01Z")
        #expect(throws: InvalidInput.self) { try late.first() }
    }

    @Test(arguments: Engine.allCases)
    func `invented zones crowd out no zone of the system`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            for (number, zone) in ["Aa/1", "Aa/2", "Aa/3", "Europe/Vienna"].enumerated() {
                let registration = try Registration(
                    token: DeviceToken(bytes: Array("d\(number)".utf8)), about: .init(), customUserID: .clear,
                    topics: .keep, detail: DeviceDetail.Change(timeZone: zone))
                _ = try await fixture.store.register(registration, as: nil, on: fixture.platform)
            }
            let app = fixture.application.key
            #expect(try await fixture.store.timeZones(of: app, atMost: 9).count == 4)
            #expect(try await fixture.store.timeZones(of: app, atMost: 2) == ["europe/vienna"])
        }
    }

    @Test func `the stored form gives it again`() throws {
        let delivery = try delivery("2026-12-24T09:00", past: .nextDay, zone: "Europe/Vienna")
        var target = Target.everyone
        target.local = delivery
        #expect(try Target(stored: Array(target.storedText.utf8)) == target)
        let unknown = target.storedText.replacing("Vienna", with: "Atlantis")
        #expect(try Target(stored: Array(unknown.utf8)).local?.zone.name == "Europe/Atlantis")
    }

    /// Devices of twelve zones, some that travel between them and some without a zone of their own.
    @Test(arguments: Engine.allCases)
    func `each device gets one push by its own clock`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let start = fixture.clock.now
            let zones = [
                "Pacific/Auckland", "Asia/Tokyo", "Asia/Kolkata", "Asia/Dubai", "Europe/Athens", "Europe/Vienna",
                "Europe/London", "America/Sao_Paulo", "America/New_York", "America/Denver", "America/Los_Angeles",
                "Pacific/Honolulu",
            ]
            func register(_ number: Int, in zone: String?, user: String? = nil) async throws -> Key<Device> {
                let registration = try Registration(
                    token: DeviceToken(bytes: Array("d\(number)".utf8)), about: .init(),
                    customUserID: user.map { .set($0) } ?? .clear, topics: .replace(["news"]),
                    detail: DeviceDetail.Change(timeZone: zone))
                return try await fixture.ports.register(registration, as: nil, on: fixture.platform).key
            }
            var expected: [Key<Device>: Instant] = [:]
            let day = start + .seconds(3 * 86_400)
            let delivery = try LocalDelivery(
                time: LocalTime(String(day.text.prefix(10)) + "T09:00", field: "local"), past: .send,
                zone: ZoneInfo("Europe/Vienna", field: "zone"), madeAt: start)
            for number in 0..<60 {
                let zone = zones[number % zones.count]
                let key = try await register(number, in: zone)
                expected[key] = delivery.due(in: try ZoneInfo(zone, field: ""))
            }
            let profile = UserProfile(stored: nil, timeZone: "Asia/Tokyo", attributes: [:])
            _ = try await store.setUser("kim", of: fixture.application.key) { _ in profile }
            expected[try await register(100, in: nil, user: "kim")] = delivery.due(
                in: try ZoneInfo("Asia/Tokyo", field: ""))
            let unknown = UserProfile(stored: nil, timeZone: "Mars/Olympus", attributes: [:])
            _ = try await store.setUser("lee", of: fixture.application.key) { _ in unknown }
            for (number, user) in [(101, nil), (102, "lee")] as [(Int, String?)] {
                expected[try await register(number, in: nil, user: user)] = delivery.due(
                    in: try ZoneInfo("Europe/Vienna", field: ""))
            }
            let schedule = try await PushService(store: store).schedule(
                PushRequest(content: Push.Content(body: "Good morning"), target: Target(topics: ["news"])),
                at: delivery,
                for: fixture.application, by: .local(systemUser: "test"))
            let scheduler = Scheduler(
                store: store, clock: fixture.clock, poll: .seconds(1), pushObserver: NoPushObserver(),
                loop: RetryingLoop(clock: fixture.clock, pause: .seconds(1), logger: .strict))
            let builder = PushBuilder(store: store, clock: fixture.clock)
            var (sent, rounds): ([Key<Device>: [Instant]], Int) = ([:], 0)
            while let next = try await store.nextScheduleDue(), rounds < 60 {
                rounds += 1
                fixture.clock.advance(by: next - fixture.clock.now)
                for due in try await store.dueSchedules(atMost: 10) { try await scheduler.release(due, by: builder) }
                try await fixture.fanOut()
                while let batch = try await fixture.claim(1).first {
                    for device in batch.devices { sent[device, default: []].append(fixture.clock.now) }
                    _ = try await store.settle(Settlement(batch, all: .accepted))
                }
                // A traveller who has it goes where it is still to come, one who has not goes where it was already, and others
                // join there, or where nobody was.
                if rounds == 14 {
                    _ = try await register(1, in: "Pacific/Honolulu")
                    for (number, zone) in [(10, "Asia/Tokyo"), (103, "Asia/Tokyo"), (104, "Asia/Shanghai")] {
                        expected[try await register(number, in: zone)] = delivery.steps.last
                    }
                }
            }
            for (device, time) in expected { #expect(sent[device] == [time], "device \(device)") }
            let ended = try #require(try await store.schedule(schedule.key, of: fixture.application.key))
            #expect(ended.ending?.how.name == "sent")
            let runs = try await store.runs(of: schedule.key)
            #expect(runs.count >= 12 && runs.count <= 15, "nothing is noted of zones without devices")
        }
    }

    @Test(arguments: Engine.allCases)
    func `steps that passed while nobody looked are one push`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, clock) = (fixture.store, fixture.clock)
            for (number, zone) in ["Asia/Tokyo", "Europe/Vienna", "America/Denver"].enumerated() {
                let registration = try Registration(
                    token: DeviceToken(bytes: Array("d\(number)".utf8)), about: .init(), customUserID: .clear,
                    topics: .keep, detail: DeviceDetail.Change(timeZone: zone))
                _ = try await store.register(registration, as: nil, on: fixture.platform)
            }
            let day = String((clock.now + .seconds(2 * 86_400)).text.prefix(10))
            let delivery = LocalDelivery(
                time: try LocalTime(day + "T09:00", field: ""), past: .skip, zone: try ZoneInfo("UTC", field: ""),
                madeAt: clock.now)
            let schedule = try await PushService(store: store).schedule(
                PushRequest(content: Push.Content(body: "Good morning"), target: .everyone), at: delivery,
                for: fixture.application, by: .local(systemUser: "test"))
            let scheduler = Scheduler(
                store: store, clock: clock, poll: .seconds(1), pushObserver: NoPushObserver(),
                loop: RetryingLoop(clock: clock, pause: .seconds(1), logger: .strict))
            clock.advance(by: .seconds(5 * 86_400))
            for _ in 0..<3 {
                for due in try await store.dueSchedules(atMost: 9) {
                    try await scheduler.release(due, by: PushBuilder(store: store, clock: clock))
                }
            }
            let receipts = try await store.allPushes().map(\.receiptID)
            #expect(receipts.count == 1)
            try await fixture.fanOut()
            #expect(try await fixture.claim(9).flatMap(\.devices).count == 3)
            let ended = try await store.schedule(schedule.key, of: fixture.application.key)
            #expect(ended?.ending?.how == .sent(receiptID: receipts[0]))
        }
    }

    /// A throttled push, say, that goes on for hours.
    @Test(arguments: Engine.allCases)
    func `a step leaves out what an earlier one finds`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, clock) = (fixture.store, fixture.clock)
            var keys: [Key<Device>] = []
            for (number, zone) in ["Asia/Tokyo", "Asia/Tokyo", "Asia/Tokyo", "Asia/Kolkata"].enumerated() {
                let registration = try Registration(
                    token: DeviceToken(bytes: Array("d\(number)".utf8)), about: .init(), customUserID: .clear,
                    topics: .keep, detail: DeviceDetail.Change(timeZone: zone))
                keys.append(try await store.register(registration, as: nil, on: fixture.platform).key)
            }
            // Now in Tokyo, three and a half hours later in Kolkata.
            let tokyo = String((clock.now + .seconds(9 * 3_600)).text.prefix(19))
            let delivery = LocalDelivery(
                time: try LocalTime(tokyo, field: ""), past: .send, zone: try ZoneInfo("UTC", field: ""),
                madeAt: clock.now)
            _ = try await PushService(store: store).schedule(
                PushRequest(content: Push.Content(body: "Good morning"), target: .everyone), at: delivery,
                for: fixture.application, by: .local(systemUser: "test"))
            let scheduler = Scheduler(
                store: store, clock: clock, poll: .seconds(1), pushObserver: NoPushObserver(),
                loop: RetryingLoop(clock: clock, pause: .seconds(1), logger: .strict))
            func release() async throws {
                for due in try await store.dueSchedules(atMost: 9) {
                    try await scheduler.release(due, by: PushBuilder(store: store, clock: clock))
                }
            }
            try await release()
            let fanOut = try #require(
                try await store.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60)).first)
            #expect(try await store.advance(FanOutStep(fanOut: fanOut, batches: [[keys[0]]], isLast: false)))
            clock.advance(by: .seconds(4 * 3_600))
            try await release()
            #expect(try await store.allPushes().count == 1, "it waits some minutes for the first")
            clock.advance(by: .seconds(600))
            try await release()
            #expect(try await store.allPushes().count == 2)
            try await fixture.fanOut()
            #expect(try await fixture.claim(9).flatMap(\.devices).sorted() == keys, "each once")
        }
    }
}
