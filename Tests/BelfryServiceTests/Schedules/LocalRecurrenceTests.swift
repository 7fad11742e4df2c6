import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// Recurring schedules by the clocks of each recipient: their times, what becomes of them in the stores, and who gets them when.
@Suite struct LocalRecurrenceTests {
    /// At nine from Tuesday, 8 December 2026, which begins at 19:00 UTC of Monday.
    private static func made(
        _ rule: String = "FREQ=WEEKLY;BYDAY=TU", start: String = "2026-12-08T09:00", zone: String = "UTC",
        past: LocalDelivery.Past = .skip, except: [String] = [], missed: Recurrence.Missed = .runOnce
    ) throws -> Recurrence {
        try Recurrence(
            rule: RecurrenceRule(rule, field: "recurrence.rule"), start: LocalTime(start, field: "recurrence.start"),
            zone: ZoneInfo(zone, field: "recurrence.time_zone"), past: past, except: except, missed: missed)
    }

    private static func instant(_ text: String) throws -> Instant { try #require(Instant(text: text)) }

    /// A schedule that waits for the first time of a recurrence.
    private static func schedule(_ recurrence: Recurrence, madeAt: Instant) throws -> Schedule {
        Schedule(
            key: Key(7), applicationKey: Key(1),
            pushRequest: PushRequest(content: Push.Content(body: "hello"), target: .everyone),
            dueAt: try recurrence.firstTime(after: madeAt, isNew: true), createdAt: madeAt, version: 1,
            recurrence: recurrence, ending: nil)
    }

    private static func due(_ zone: String, _ occurrence: Schedule.Occurrence) throws -> String? {
        occurrence.local.due(in: try ZoneInfo(zone, field: "zone"))?.text
    }

    // MARK: Times

    /// Among them a gap and an overlap of Vienna's clocks, and of New York's.
    @Test(arguments: [
        "2026-12-08T09:00", "2027-03-28T02:30", "2027-10-31T02:30", "2027-03-14T02:30", "2027-11-07T01:30",
        "2027-06-30T00:00",
    ])
    func `a time begins before any zone, ends within 26 hours`(start: String) throws {
        let recurrence = try Self.made("FREQ=DAILY;COUNT=1", start: start)
        let time = try #require(recurrence.next(after: .zero))
        #expect(recurrence.localTime(at: time).text == start)
        let schedule = try Self.schedule(recurrence, madeAt: time + .seconds(-3_600))
        let occurrence = try #require(schedule.occurrence(at: time))
        #expect(occurrence.at == time && occurrence.dueAt == time && occurrence.local.steps.first == time)
        for zone in ZoneInfo.all {
            let due = try #require(occurrence.local.due(in: zone), "\(zone.name)")
            #expect(time <= due && due <= time + LocalDelivery.spread, "\(zone.name) \(due.text)")
        }
    }

    @Test(arguments: [
        ("2027-03-28T02:30", "2027-03-28T01:00:00.000Z"), ("2027-10-31T02:30", "2027-10-31T00:30:00.000Z"),
    ])
    func `skipped and repeated times of clocks count once`(start: String, vienna: String) throws {
        let recurrence = try Self.made("FREQ=DAILY", start: start)
        let time = try #require(recurrence.next(after: .zero))
        let occurrence = try #require(try Self.schedule(recurrence, madeAt: .zero).occurrence(at: time))
        #expect(try Self.due("Europe/Vienna", occurrence) == vienna)
    }

    @Test func `it says whose clocks they are`() throws {
        let recurrence = try Self.made(except: ["2026-12-15"])
        #expect(
            recurrence.words
                == "every Tuesday at 09:00 of each recipient, UTC where none is known, except on 2026-12-15")
        let times = recurrence.times(after: .zero, atMost: 2)
        #expect(times.map(\.text) == ["2026-12-07T19:00:00.000Z", "2026-12-21T19:00:00.000Z"])
        #expect(times.map { recurrence.localTime(at: $0).text } == ["2026-12-08T09:00", "2026-12-22T09:00"])
        let skipped = try recurrence.skipping(times[0])
        #expect(skipped.exceptions == ["2026-12-08", "2026-12-15"] && skipped.isLocal)
        #expect(skipped.next(after: .zero) == times[1])
        #expect(try Recurrence(stored: Array(skipped.storedText.utf8)) == skipped)
        let ending = try Self.made("FREQ=WEEKLY;BYDAY=TU;UNTIL=20261215T090000")
        #expect(ending.times(after: .zero, atMost: 9).count == 2 && ending.words.hasSuffix("until 2026-12-15T09:00"))
        #expect(throws: InvalidInput.self) { try Self.made("FREQ=DAILY;UNTIL=20261215T090000Z") }
    }

    /// On a Tuesday at eight in Vienna, when it is four in Tokyo.
    @Test(
        arguments: [
            (LocalDelivery.Past.skip, nil, "2026-12-08T08:00:00.000Z"),
            (.send, "2026-12-08T07:00:00.000Z", "2026-12-08T07:00:00.000Z"),
            (.nextDay, "2026-12-09T00:00:00.000Z", "2026-12-08T08:00:00.000Z"),
        ] as [(LocalDelivery.Past, String?, String)])
    func `a new one begins with what is still to come`(past: LocalDelivery.Past, tokyo: String?, due: String) throws {
        let now = try Self.instant("2026-12-08T07:00:00Z")
        let schedule = try Self.schedule(Self.made(past: past), madeAt: now)
        #expect(schedule.dueAt.text == "2026-12-07T19:00:00.000Z")
        let occurrence = try #require(schedule.occurrence(at: now))
        #expect(try Self.due("Asia/Tokyo", occurrence) == tokyo)
        #expect(try Self.due("Europe/Vienna", occurrence) == "2026-12-08T08:00:00.000Z")
        #expect(occurrence.dueAt.text == due && occurrence.local.parent == schedule.key)
        #expect(schedule.moved(past: occurrence)?.dueAt.text == "2026-12-14T19:00:00.000Z")
        let changed = try Self.made().firstTime(after: now)
        #expect(changed.text == "2026-12-14T19:00:00.000Z", "a change begins with what is to come everywhere")
    }

    @Test func `late recipients of a daily one get the next`() throws {
        let now = try Self.instant("2026-12-08T07:00:00Z")
        let schedule = try Self.schedule(Self.made("FREQ=DAILY", past: .nextDay), madeAt: now)
        let occurrence = try #require(schedule.occurrence(at: now))
        #expect(try Self.due("Asia/Tokyo", occurrence) == nil)
        let moved = try #require(schedule.moved(past: occurrence))
        let next = try #require(moved.occurrence(at: moved.dueAt))
        #expect(try Self.due("Asia/Tokyo", next) == "2026-12-09T00:00:00.000Z")
    }

    @Test func `a schedule that was set aside keeps its time`() throws {
        let recurrence = try Self.made()
        let schedule = try Self.schedule(recurrence, madeAt: try Self.instant("2026-12-01T00:00:00Z"))
        let now = schedule.dueAt + .seconds(3_600)
        let late = Schedule(
            key: schedule.key, applicationKey: schedule.applicationKey, pushRequest: schedule.pushRequest, dueAt: now,
            createdAt: schedule.createdAt, version: 1, recurrence: recurrence, ending: nil)
        #expect(late.occurrence(at: now) == schedule.occurrence(at: schedule.dueAt))
    }

    /// Three days and an hour after its first time, two of a daily one are under way.
    @Test(arguments: [Recurrence.Missed.runOnce, .skip])
    func `missed times are one, later ones come`(missed: Recurrence.Missed) throws {
        let first = try Self.instant("2026-12-07T19:00:00Z")
        let recurrence = try Self.made("FREQ=DAILY", missed: missed)
        let schedule = try Self.schedule(recurrence, madeAt: first + .seconds(-3_600))
        let now = first + .seconds(73 * 3_600)
        let occurrence = try #require(schedule.occurrence(at: now))
        #expect(occurrence.at == first + .seconds(48 * 3_600))
        #expect(occurrence.local.time.text == "2026-12-10T09:00")
        // Tokyo's time has passed.
        #expect(try Self.due("Asia/Tokyo", occurrence) == (missed == .skip ? nil : "2026-12-10T00:00:00.000Z"))
        #expect((occurrence.dueAt > now) == (missed == .skip))
        let moved = try #require(schedule.moved(past: occurrence))
        #expect(moved.dueAt == first + .seconds(72 * 3_600) && moved.dueAt <= now, "it is due at once")
        let next = try #require(moved.occurrence(at: now))
        #expect(next.at == moved.dueAt && moved.moved(past: next)?.dueAt == first + .seconds(96 * 3_600))
    }

    @Test func `a time past everywhere is sent once, or skipped`() throws {
        let first = try Self.instant("2026-12-07T19:00:00Z")
        let now = first + .seconds(27 * 3_600)
        let sent = try Self.schedule(Self.made(), madeAt: .zero)
        #expect(sent.dueAt == first && sent.occurrence(at: now)?.dueAt == first)
        #expect(try Self.schedule(Self.made(missed: .skip), madeAt: .zero).occurrence(at: now) == nil)
    }

    // MARK: In the stores

    @Test(arguments: Engine.withModel)
    func `a time becomes a schedule, once`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (ports, app) = (fixture.ports, fixture.application.key)
            let schedule = try await fixture.recurLocally()
            #expect(try await ports.schedule(schedule.key, of: app) == schedule)
            fixture.clock.advance(by: schedule.dueAt - fixture.clock.now)
            let occurrence = try #require(schedule.occurrence(at: fixture.clock.now))
            let started = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 1...4 { group.addTask { try await ports.start(occurrence, of: schedule) } }
                return try await group.reduce(into: []) { if $1 { $0.append($1) } }
            }
            #expect(started.count == 1, "nodes that read the same version")
            let moved = try #require(try await ports.schedule(schedule.key, of: app))
            #expect(moved.ending == nil && moved.version == schedule.version + 1)
            #expect(moved.dueAt == schedule.dueAt + .seconds(86_400))
            let due = try await ports.dueSchedules(atMost: 9)
            let child = try #require(due.first)
            #expect(due.count == 1 && child.recurrence == nil && child.local == occurrence.local)
            var request = schedule.pushRequest
            request.target.local = occurrence.local
            #expect(child.pushRequest == request && child.local?.parent == schedule.key)
            #expect(try await ports.start(occurrence, of: schedule) == false)
        }
    }

    @Test(arguments: Engine.withModel)
    func `cancelling it cancels what it started`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (ports, app) = (fixture.ports, fixture.application.key)
            let schedule = try await fixture.recurLocally()
            let children = [try await fixture.startNext(of: schedule), try await fixture.startNext(of: schedule)]
            let other = try await fixture.schedule(in: .zero)
            #expect(try await ports.cancel(schedule.key, of: app))
            for child in children {
                #expect(try await ports.schedule(child.key, of: app)?.ending?.how == .cancelled)
            }
            #expect(try await ports.dueSchedules(atMost: 9).map(\.key) == [other.key])
            #expect(try await ports.cancel(schedule.key, of: app) == false)
        }
    }

    @Test(arguments: Engine.withModel)
    func `pausing it leaves what it started`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (ports, app) = (fixture.ports, fixture.application.key)
            let schedule = try await fixture.recurLocally()
            let child = try await fixture.startNext(of: schedule)
            let stale = try #require(try await ports.schedule(schedule.key, of: app))
            _ = try await ports.change(schedule.key, of: app, .init(verb: .pause))
            fixture.clock.advance(by: .seconds(3 * 86_400))
            #expect(try await ports.dueSchedules(atMost: 9).map(\.key) == [child.key])
            let late = try #require(stale.occurrence(at: fixture.clock.now))
            #expect(try await ports.start(late, of: stale) == false, "it was paused meanwhile")
            let resumed = try #require(try await ports.change(schedule.key, of: app, .init(verb: .resume)))
            #expect(resumed.dueAt == schedule.dueAt + .seconds(4 * 86_400), "what is to come everywhere")
            let skipped = try await ports.change(schedule.key, of: app, .init(verb: .skipNext))
            #expect(skipped?.dueAt == schedule.dueAt + .seconds(5 * 86_400))
        }
    }

    @Test(arguments: Engine.withModel)
    func `the last time ends it`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let schedule = try await fixture.recurLocally("FREQ=DAILY;COUNT=1")
            let child = try await fixture.startNext(of: schedule)
            let ended = try await fixture.ports.schedule(schedule.key, of: fixture.application.key)
            #expect(ended?.ending == Schedule.Ending(.started(child.key), at: fixture.clock.now))
            #expect(try await fixture.ports.nextScheduleDue() == child.dueAt)
        }
    }

    @Test(arguments: Engine.allCases)
    func `the history has the schedules and their states`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application.key)
            let schedule = try await fixture.recurLocally()
            let child = try await fixture.startNext(of: schedule)
            let run = ScheduleRun(
                dueAt: schedule.dueAt, at: fixture.clock.now, how: .started(child.key), childState: "waiting")
            #expect(try await store.runs(of: schedule.key) == [run])
            #expect(try await store.cancel(child.key, of: app))
            #expect(try await store.runs(of: schedule.key).map(\.childState) == ["cancelled"])
            // The schedule of a time is gone before its recurring schedule.
            fixture.clock.advance(by: Schedule.keptFor + .seconds(1))
            #expect(try await store.cancel(try await fixture.schedule(in: .zero).key, of: app))
            #expect(try await store.schedule(child.key, of: app) == nil)
            let left = try await store.runs(of: schedule.key)
            #expect(left.map(\.how) == [.started(child.key)] && left.map(\.childState) == [nil])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a full quota refuses no time, which counts`(engine: Engine) async throws {
        try await TestStore.play(on: engine, quotas: Quotas([.schedules: 2])) { fixture in
            let schedule = try await fixture.recurLocally()
            let other = try await fixture.schedule(in: .seconds(9 * 86_400))
            _ = try await fixture.startNext(of: schedule)
            // Of three that wait one ends, which makes no room yet.
            #expect(try await fixture.store.cancel(other.key, of: fixture.application.key))
            await #expect(throws: (any Error).self) { try await fixture.schedule(in: .seconds(900)) }
            #expect(try await fixture.store.cancel(schedule.key, of: fixture.application.key))
            for _ in 1...2 { _ = try await fixture.schedule(in: .seconds(900)) }
            await #expect(throws: (any Error).self) { try await fixture.schedule(in: .seconds(900)) }
        }
    }

    // MARK: Who gets it when

    /// Daily, so that two times are under way at once: Kiritimati's second before Honolulu's first.
    @Test(arguments: Engine.allCases)
    func `each device gets each time by its own clock`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let zones = [
                "Pacific/Kiritimati", "Pacific/Auckland", "Asia/Tokyo", "Asia/Kolkata", "Europe/Vienna",
                "America/New_York", "Pacific/Honolulu", "Pacific/Pago_Pago",
            ]
            let schedule = try await fixture.recurLocally("FREQ=DAILY;COUNT=3", to: Target(topics: ["news"]))
            let recurrence = try #require(schedule.recurrence)
            let times = recurrence.times(after: .zero, atMost: 9).map { recurrence.localTime(at: $0) }
            var expected: [Key<Device>: [Instant]] = [:]
            for (number, name) in zones.enumerated() {
                let zone = try ZoneInfo(name, field: "zone")
                let registration = try Registration(
                    token: DeviceToken(bytes: Array("d\(number)".utf8)), about: .init(), customUserID: .clear,
                    topics: .replace(["news"]), detail: DeviceDetail.Change(timeZone: name))
                let device = try await fixture.ports.register(registration, as: nil, on: fixture.platform).key
                expected[device] = times.map { zone.instant(of: $0) }
            }
            let scheduler = Scheduler(
                store: store, clock: fixture.clock, poll: .seconds(1), pushObserver: NoPushObserver(),
                loop: RetryingLoop(clock: fixture.clock, pause: .seconds(1), logger: .strict))
            let builder = PushBuilder(store: store, clock: fixture.clock)
            var (sent, rounds, together): ([Key<Device>: [Instant]], Int, Int) = ([:], 0, 0)
            while let next = try await store.nextScheduleDue(), rounds < 300 {
                rounds += 1
                fixture.clock.advance(by: max(.zero, next - fixture.clock.now))
                for due in try await store.dueSchedules(atMost: 10) { try await scheduler.release(due, by: builder) }
                try await fixture.fanOut()
                while let batch = try await fixture.claim(1).first {
                    for device in batch.devices { sent[device, default: []].append(fixture.clock.now) }
                    _ = try await store.settle(Settlement(batch, all: .accepted))
                }
                let waiting = try await store.schedules(of: fixture.application.key, after: nil, limit: 9)
                together = max(together, waiting.count { $0.local != nil })
            }
            #expect(times.count == 3 && sent == expected)
            #expect(together == 2, "overlapping times")
            let runs = try await store.runs(of: schedule.key)
            #expect(runs.map(\.childState) == ["sent", "sent", "sent"])
            for run in runs {
                let pushes = try await store.runs(of: try #require(run.how.child)).compactMap(\.how.receiptID)
                // The last of its steps is noted though nobody is there.
                #expect(pushes.count == zones.count + 1, "each has receipts of its own")
            }
        }
    }
}

extension TestStore {
    /// A schedule at 9 o'clock of each recipient, from a day on that has not begun anywhere.
    fileprivate func recurLocally(_ rule: String = "FREQ=DAILY", to target: Target = .everyone) async throws -> Schedule
    {
        let day = ZoneInfo.utc.local(at: clock.now).day + 2
        let recurrence = try Recurrence(
            rule: RecurrenceRule(rule, field: "rule"), start: LocalTime(day: day, second: 9 * 3_600), zone: .utc,
            past: .skip)
        return try await ports.schedule(
            PushRequest(content: Push.Content(body: "hello"), target: target, lane: .bulk),
            at: try recurrence.firstTime(after: clock.now, isNew: true), recurring: recurrence, for: application.key)
    }

    /// Moves the clock to the next time, and starts its schedule.
    fileprivate func startNext(of schedule: Schedule) async throws -> Schedule {
        let schedule = try #require(try await ports.schedule(schedule.key, of: application.key))
        clock.advance(by: schedule.dueAt - clock.now)
        let occurrence = try #require(schedule.occurrence(at: clock.now))
        #expect(try await ports.start(occurrence, of: schedule))
        return try #require(try await ports.dueSchedules(atMost: 9).first { $0.local == occurrence.local })
    }
}
