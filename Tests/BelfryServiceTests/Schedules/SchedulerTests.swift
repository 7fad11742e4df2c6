import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// Single promises of the scheduler, each in a small fixture of its own.
@Suite struct SchedulerTests {
    private static let options = DeliveryOptions(poll: .seconds(10))

    private func open(seed: UInt64 = 1) async throws -> TestDelivery {
        let fixture = TestDelivery(seed: seed)
        try await fixture.open(devices: 10)
        return fixture
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a schedule becomes a push exactly at its time`(seed: UInt64) async throws {
        let fixture = try await open(seed: seed)
        fixture.start(options: Self.options)
        fixture.run(for: .seconds(3))
        var schedules: [Schedule] = []
        for milliseconds in [1, 15_000, 15_001, 47_123] {
            schedules.append(try await fixture.schedule(in: .milliseconds(milliseconds)))
        }
        fixture.run(for: .seconds(120))
        fixture.runUntilSettled()
        for schedule in schedules {
            let ending = try #require(fixture.ending(of: schedule))
            #expect(ending.at == schedule.dueAt)
        }
        #expect(fixture.ledger.order.count == 40)
    }

    @Test func `many due at the same moment all leave, each once`() async throws {
        let fixture = try await open()
        fixture.start(options: Self.options)
        for _ in 0..<200 { _ = try await fixture.schedule(in: .seconds(70)) }
        fixture.run(for: .seconds(75))
        fixture.runUntilSettled()
        #expect(fixture.store.contents.pushes.count == 200)
        #expect(fixture.ledger.order.count == 2_000)
    }

    @Test func `overdue schedules are sent at start unless expired`() async throws {
        let fixture = try await open()
        let missed = try await fixture.schedule(in: .seconds(5))
        let stale = try await fixture.schedule(in: .seconds(5), expiresIn: .seconds(50))
        fixture.clock.advance(by: .seconds(3_600))
        fixture.start(options: Self.options)
        fixture.run(for: .seconds(1))
        fixture.runUntilSettled()
        #expect(fixture.ending(of: stale)?.how == .expired)
        #expect(fixture.ending(of: missed)?.how.name == "sent")
        #expect(fixture.store.contents.pushes.count == 1)
    }

    @Test func `a moved schedule goes at its new time, content updated`() async throws {
        let fixture = try await open()
        fixture.start(options: Self.options)
        let schedule = try await fixture.schedule(in: .seconds(20))
        fixture.run(for: .seconds(15))
        let later = Schedule.Change(content: Push.Content(body: "later"), dueAt: fixture.clock.now + .seconds(30))
        #expect(try await fixture.store.change(schedule.key, of: schedule.applicationKey, later) != nil)
        fixture.run(for: .seconds(29))
        #expect(fixture.store.contents.pushes.isEmpty)
        let sooner = Schedule.Change(dueAt: fixture.clock.now + .milliseconds(500))
        #expect(try await fixture.store.change(schedule.key, of: schedule.applicationKey, sooner) != nil)
        fixture.run(for: .milliseconds(500))
        fixture.runUntilSettled()
        #expect(fixture.store.contents.pushes.values.map(\.push.content.body) == ["later"])
    }

    @Test func `a cancelled schedule is never sent`() async throws {
        let fixture = try await open()
        let schedule = try await fixture.schedule(in: .seconds(5))
        fixture.start(options: Self.options)
        fixture.run(for: .milliseconds(4_999))
        #expect(try await fixture.store.cancel(schedule.key, of: schedule.applicationKey))
        fixture.run(for: .seconds(60))
        #expect(fixture.store.contents.pushes.isEmpty)
    }

    @Test func `a platform refusing due content stops no other`() async throws {
        let fixture = try await open()
        let content = Push.Content(body: "hi", custom: ["ios": .object(["badge": .string("many")])])
        let bad = try await fixture.schedule(in: .seconds(5), content: content)
        let good = try await fixture.schedule(in: .seconds(5))
        fixture.start(options: Self.options)
        fixture.run(for: .seconds(6))
        fixture.runUntilSettled()
        guard case .refused(let words) = fixture.ending(of: bad)?.how else {
            Issue.record("\(String(describing: fixture.ending(of: bad)))")
            return
        }
        #expect(words.contains("message.custom.ios.badge"))
        #expect(fixture.ending(of: good)?.how.name == "sent")
    }

    /// Five minutes, or more, after a time of `daily`, three days without a server.
    @Test(arguments: [(Recurrence.Missed.runOnce, 3), (.skip, 2)])
    func `missed times are one push, or none`(missed: Recurrence.Missed, pushes: Int) async throws {
        let fixture = try await open()
        let schedule = try await fixture.daily("FREQ=DAILY;COUNT=5", missed: missed)
        fixture.clock.advance(by: schedule.dueAt - fixture.clock.now + .seconds(2 * 86_400 + 301))
        fixture.start(options: DeliveryOptions(poll: .seconds(3_600)))
        fixture.run(for: .seconds(3 * 86_400))
        fixture.runUntilSettled()
        #expect(fixture.store.contents.pushes.count == pushes)
        #expect(fixture.ending(of: schedule)?.how.name == "sent")
    }

    @Test func `a recurring schedule is sent at each time`() async throws {
        let fixture = try await open()
        fixture.start(options: DeliveryOptions(poll: .seconds(3_600)))
        let schedule = try await fixture.daily("FREQ=DAILY;COUNT=3", missed: .skip)
        fixture.run(for: schedule.dueAt - fixture.clock.now + .seconds(86_400 + 1))
        #expect(fixture.store.contents.pushes.count == 2)
        // The platforms are those of each time.
        let platform = try await fixture.store.create(.numbered(9, of: schedule.applicationKey, kind: .androidFCM))
        _ = try await fixture.store.register(.sample(200), as: nil, on: platform)
        fixture.run(for: .seconds(2 * 86_400))
        fixture.runUntilSettled()
        let times = fixture.store.contents.pushes.values.map(\.push.acceptedAt).sorted()
        #expect(times == (0...2).map { schedule.dueAt + .seconds($0 * 86_400) })
        #expect(fixture.ledger.order.count == 31)
    }

    @Test func `refused content leaves the next time`() async throws {
        let fixture = try await open()
        let content = Push.Content(body: "hi", custom: ["ios": .object(["badge": .string("many")])])
        let schedule = try await fixture.daily("FREQ=DAILY", missed: .runOnce, content: content)
        fixture.start(options: DeliveryOptions(poll: .seconds(3_600)))
        fixture.run(for: schedule.dueAt - fixture.clock.now + .seconds(1))
        let kept = fixture.store.contents.schedules[schedule.key]
        #expect(kept?.ending == nil && kept?.dueAt == schedule.dueAt + .seconds(86_400))
    }

    @Test func `the platforms are those of the due moment`() async throws {
        let fixture = try await open()
        let schedule = try await fixture.schedule(in: .seconds(50))
        let platform = try await fixture.store.create(.numbered(9, of: schedule.applicationKey, kind: .androidFCM))
        _ = try await fixture.store.register(.sample(200), as: nil, on: platform)
        fixture.start(options: Self.options)
        fixture.run(for: .seconds(51))
        fixture.runUntilSettled()
        #expect(fixture.ledger.order.count == 11)
    }
}

extension TestDelivery {
    fileprivate func schedule(
        in wait: Duration, content: Push.Content = Push.Content(body: "hello"), expiresIn: Duration? = nil
    ) async throws -> Schedule {
        try await store.schedule(
            PushRequest(content: content, target: .everyone, expiresAt: expiresIn.map { clock.now + $0 }),
            at: clock.now + wait, for: platforms[0].applicationKey)
    }

    /// At noon of the next day and after it.
    fileprivate func daily(
        _ rule: String, missed: Recurrence.Missed, content: Push.Content = Push.Content(body: "hello")
    ) async throws -> Schedule {
        let zone = try ZoneInfo("UTC", field: "zone")
        let recurrence = try Recurrence(
            rule: RecurrenceRule(rule, field: "rule"),
            start: LocalTime(day: zone.local(at: clock.now).day + 1, second: 43_200), zone: zone, missed: missed)
        return try await store.schedule(
            PushRequest(content: content, target: .everyone), at: try recurrence.firstTime(after: clock.now),
            recurring: recurrence, for: platforms[0].applicationKey)
    }

    fileprivate func ending(of schedule: Schedule) -> Schedule.Ending? {
        store.contents.schedules[schedule.key]?.ending
    }
}
