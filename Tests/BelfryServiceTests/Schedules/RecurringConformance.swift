import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// Schedules that are sent again and again, in the stores and in their model.
@Suite struct RecurringConformance {
    @Test(arguments: Engine.withModel)
    func `a recurring schedule is kept as it was ordered`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let rule = "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;UNTIL=20301231T235959Z"
            let schedule = try await fixture.recur(rule, except: ["2026-12-24", "2026-12-28T09:00"], missed: .skip)
            #expect(schedule.recurrence?.rule.text == rule && schedule.recurrence?.missed == .skip)
            #expect(try await fixture.ports.schedule(schedule.key, of: fixture.application.key) == schedule)
            #expect(try await fixture.ports.nextScheduleDue() == schedule.dueAt)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a release moves it on and accepts its push, once`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let schedule = try await fixture.recur()
            fixture.clock.advance(by: schedule.dueAt - fixture.clock.now)
            let pushes = (1...4).map { NewPush.sample($0, to: fixture.platform) }
            let accepted = try await withThrowingTaskGroup(of: Push?.self) { group in
                for push in pushes { group.addTask { try await fixture.ports.release(schedule, as: push) } }
                return try await group.reduce(into: []) { $0 += [$1].compactMap(\.self) }
            }
            #expect(accepted.count == 1, "nodes that read the same version")
            for push in pushes {
                let isThere = try await fixture.ports.receipt(push.receiptID) != nil
                #expect(isThere == (push.receiptID == accepted.first?.receiptID))
            }
            let moved = try #require(try await fixture.ports.schedule(schedule.key, of: fixture.application.key))
            #expect(moved.ending == nil && moved.version == schedule.version + 1)
            #expect(moved.dueAt == schedule.dueAt + .seconds(86_400))
            #expect(try await fixture.ports.dueSchedules(atMost: 9).isEmpty)
            #expect(try await fixture.ports.end(schedule, .missed) == false)
        }
    }

    @Test(arguments: Engine.withModel)
    func `however many times passed, it moves past now`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let schedule = try await fixture.recur()
            fixture.clock.advance(by: schedule.dueAt - fixture.clock.now + .seconds(10 * 86_400 + 60))
            #expect(try await fixture.ports.release(schedule, as: .sample(to: fixture.platform)) != nil)
            let moved = try await fixture.ports.schedule(schedule.key, of: fixture.application.key)
            #expect(moved?.dueAt == schedule.dueAt + .seconds(11 * 86_400))
        }
    }

    @Test(arguments: Engine.withModel)
    func `the last time ends it`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            var schedule = try await fixture.recur("FREQ=DAILY;COUNT=2")
            fixture.clock.advance(by: schedule.dueAt - fixture.clock.now)
            #expect(try await fixture.ports.end(schedule, .refused("too long")))
            schedule = try #require(try await fixture.ports.schedule(schedule.key, of: fixture.application.key))
            #expect(schedule.ending == nil)
            fixture.clock.advance(by: .seconds(86_400))
            let push = NewPush.sample(to: fixture.platform)
            #expect(try await fixture.ports.release(schedule, as: push) != nil)
            schedule = try #require(try await fixture.ports.schedule(schedule.key, of: fixture.application.key))
            #expect(schedule.ending?.how == .sent(receiptID: push.receiptID))
            #expect(try await fixture.ports.nextScheduleDue() == nil)
        }
    }

    @Test(arguments: Engine.withModel)
    func `it is paused, resumed and skipped`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (ports, app) = (fixture.ports, fixture.application.key)
            let schedule = try await fixture.recur()
            let paused = try #require(try await ports.change(schedule.key, of: app, .init(verb: .pause)))
            #expect(paused.nextAt == nil && paused.pausedAt == fixture.clock.now)
            fixture.clock.advance(by: schedule.dueAt - fixture.clock.now + .seconds(3 * 86_400))
            #expect(try await ports.dueSchedules(atMost: 9).isEmpty)
            #expect(try await ports.release(schedule, as: .sample(to: fixture.platform)) == nil)
            let resumed = try #require(try await ports.change(schedule.key, of: app, .init(verb: .resume)))
            #expect(resumed.nextAt == schedule.dueAt + .seconds(4 * 86_400) && resumed.pausedAt == nil)
            let skipped = try #require(try await ports.change(schedule.key, of: app, .init(verb: .skipNext)))
            #expect(skipped.nextAt == schedule.dueAt + .seconds(5 * 86_400))
            #expect(try await ports.schedule(schedule.key, of: app) == skipped)
            // What was skipped stays skipped.
            _ = try await ports.change(schedule.key, of: app, .init(verb: .pause))
            let again = try await ports.change(schedule.key, of: app, .init(verb: .resume))
            #expect(again?.nextAt == skipped.nextAt)
        }
    }

    @Test(arguments: Engine.withModel)
    func `changes that fit no recurring schedule are refused`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (ports, app) = (fixture.ports, fixture.application.key)
            let once = try await fixture.schedule(in: .seconds(100))
            let daily = try await fixture.recur("FREQ=DAILY;COUNT=1")
            for (key, change) in [
                (once.key, Schedule.Change(verb: .pause)), (daily.key, .init(dueAt: .zero)),
                (daily.key, .init(expiresAt: .distantFuture)), (daily.key, .init(verb: .skipNext)),
                (daily.key, .init(removed: [.recurrence])),
            ] {
                await #expect(throws: InvalidInput.self) { try await ports.change(key, of: app, change) }
            }
            let single = try await ports.change(
                daily.key, of: app, .init(dueAt: fixture.clock.now + .seconds(5), removed: [.recurrence]))
            #expect(single?.recurrence == nil && single?.nextAt == fixture.clock.now + .seconds(5))
            let turned = try await ports.change(once.key, of: app, .init(recurrence: daily.recurrence))
            #expect(turned?.nextAt == daily.dueAt)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a zone that is not known any more is told`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, clock) = (fixture.store, fixture.clock)
            let schedule = try await fixture.recur()
            _ = try await store.write { session in
                try session.prepared(
                    "UPDATE schedule SET recurrence = replace(recurrence, 'Vienna', 'Atlantis') WHERE id = $1"
                ).run(schedule.key)
            }
            let listed = try await store.schedules(of: fixture.application.key, after: nil, limit: 9)
            #expect(listed.map(\.recurrence?.zone.name) == ["Europe/Atlantis"])
            clock.advance(by: schedule.dueAt - clock.now)
            let scheduler = Scheduler(
                store: store, clock: clock, poll: .seconds(1), pushObserver: NoPushObserver(),
                loop: RetryingLoop(clock: clock, pause: .seconds(1), logger: CapturedLog().logger))
            for due in try await store.dueSchedules(atMost: 9) {
                try await scheduler.release(due, by: PushBuilder(store: store, clock: clock))
            }
            let reason = try await store.runs(of: schedule.key).first?.how.reason
            #expect(reason?.contains("'Europe/Atlantis'") == true)
        }
    }

    @Test(arguments: Engine.allCases)
    func `the history has the last hundred times`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application.key)
            var schedule = try await fixture.recur()
            var expected: [ScheduleRun] = []
            let push = NewPush.sample(to: fixture.platform)
            for number in 0..<(ScheduleRun.keptMax + 3) {
                fixture.clock.advance(by: schedule.dueAt - fixture.clock.now + .seconds(1))
                let how: Schedule.How =
                    switch number % 3 {
                    case 0: .missed
                    case 1: .refused("too long")
                    default: .expired
                    }
                expected.insert(ScheduleRun(dueAt: schedule.dueAt, at: fixture.clock.now, how: how), at: 0)
                #expect(try await store.end(schedule, how))
                schedule = try #require(try await store.schedule(schedule.key, of: app))
            }
            #expect(try await store.runs(of: schedule.key) == Array(expected.prefix(ScheduleRun.keptMax)))
            fixture.clock.advance(by: schedule.dueAt - fixture.clock.now)
            #expect(try await store.release(schedule, as: push) != nil)
            #expect(try await store.runs(of: schedule.key).first?.how == .sent(receiptID: push.receiptID))
            // Its history goes with it.
            #expect(try await store.cancel(schedule.key, of: app))
            fixture.clock.advance(by: Schedule.keptFor + .seconds(1))
            #expect(try await store.cancel(try await fixture.schedule(in: .zero).key, of: app))
            #expect(try await store.schedule(schedule.key, of: app) == nil)
            #expect(try await store.runs(of: schedule.key).isEmpty)
        }
    }
}

extension TestStore {
    /// A schedule at 9 o'clock in Vienna from tomorrow on.
    fileprivate func recur(
        _ rule: String = "FREQ=DAILY", except: [String] = [], missed: Recurrence.Missed = .runOnce
    ) async throws -> Schedule {
        let zone = try ZoneInfo("Europe/Vienna", field: "time_zone")
        let tomorrow = zone.local(at: clock.now).day + 1
        let recurrence = try Recurrence(
            rule: RecurrenceRule(rule, field: "rule"), start: LocalTime(day: tomorrow, second: 9 * 3_600), zone: zone,
            except: except, missed: missed)
        return try await ports.schedule(
            PushRequest(content: Push.Content(body: "hello"), target: .everyone),
            at: try recurrence.firstTime(after: clock.now), recurring: recurrence, for: application.key)
    }
}
