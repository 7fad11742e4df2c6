import BelfryService
import BelfryTesting
import Foundation
import Testing

@Suite struct ScheduleConformance {
    @Test(arguments: Engine.withModel)
    func `a schedule is kept as it was ordered`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let pushRequest = PushRequest(
                content: Push.Content(body: "hi", custom: ["android": .object(["n": .integer(9_007_199_254_740_993)])]),
                target: try Target(
                    topics: ["News"], customUserIDs: ["Kim"], platforms: [.ios, .bb10], isInteractiveOnly: true),
                lane: .bulk, guarantee: .atMostOnce, expiresAt: fixture.clock.now + .seconds(900))
            let dueAt = fixture.clock.now + .seconds(300)
            let schedule = try await fixture.ports.schedule(pushRequest, at: dueAt, for: fixture.application.key)
            #expect(
                schedule.pushRequest == pushRequest && schedule.dueAt == dueAt
                    && schedule.createdAt == fixture.clock.now)
            #expect(try await fixture.ports.schedule(schedule.key, of: fixture.application.key) == schedule)
            let few = PushRequest(content: pushRequest.content, target: try Target(devices: [UUID()]))
            let second = try await fixture.ports.schedule(few, at: dueAt, for: fixture.application.key)
            #expect(second.key > schedule.key)
            #expect(try await fixture.ports.schedule(second.key, of: fixture.application.key)?.pushRequest == few)
        }
    }

    @Test(arguments: Engine.allCases)
    func `schedules of others are unknown`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let other = try await fixture.ports.create(.named("weather"))
            let schedule = try await fixture.schedule(in: .seconds(300))
            #expect(try await fixture.ports.schedule(schedule.key, of: other.key) == nil)
            #expect(try await fixture.store.schedules(of: other.key, after: nil, limit: 9).isEmpty)
            let change = Schedule.Change(dueAt: fixture.clock.now)
            #expect(try await fixture.store.change(schedule.key, of: other.key, change) == nil)
            #expect(try await fixture.ports.cancel(schedule.key, of: other.key) == false)
            #expect(try await fixture.ports.schedule(schedule.key, of: fixture.application.key) == schedule)
            await #expect(throws: StoreError.self) {
                try await fixture.ports.schedule(schedule.pushRequest, at: .zero, for: Key(999))
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `pending schedules are listed by due time, in pages`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            var schedules: [Schedule] = []
            for seconds in [300, 100, 200, 100, 100] {
                schedules.append(try await fixture.schedule(in: .seconds(seconds)))
            }
            #expect(try await fixture.ports.cancel(schedules[2].key, of: fixture.application.key))
            let expected = [1, 3, 4, 0].map { schedules[$0] }
            let all = try await fixture.store.schedules(of: fixture.application.key, after: nil, limit: 9)
            #expect(all == expected)
            for count in 0..<4 {
                let page = try await fixture.store.schedules(
                    of: fixture.application.key, after: count == 0 ? nil : expected[count - 1], limit: 1)
                #expect(page == [expected[count]])
            }
            #expect(
                try await fixture.store.schedules(of: fixture.application.key, after: expected[3], limit: 1).isEmpty)
        }
    }

    @Test(arguments: Engine.withModel)
    func `due schedules come first, and only when due`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            #expect(try await fixture.ports.nextScheduleDue() == nil)
            let late = try await fixture.schedule(in: .seconds(200))
            let early = try await fixture.schedule(in: .seconds(100))
            #expect(try await fixture.ports.nextScheduleDue() == early.dueAt)
            #expect(try await fixture.ports.dueSchedules(atMost: 9).isEmpty)
            fixture.clock.advance(by: .seconds(100))
            #expect(try await fixture.ports.dueSchedules(atMost: 9) == [early])
            fixture.clock.advance(by: .seconds(100))
            #expect(try await fixture.ports.dueSchedules(atMost: 9) == [early, late])
            #expect(try await fixture.ports.dueSchedules(atMost: 1) == [early])
        }
    }

    @Test(arguments: Engine.withModel)
    func `a release ends the schedule and accepts its push, once`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(1)
            let schedule = try await fixture.schedule(in: .seconds(100))
            fixture.clock.advance(by: .seconds(100))
            let push = NewPush.sample(7, to: fixture.platform)
            #expect(try await fixture.ports.release(schedule, as: push)?.receiptID == push.receiptID)
            let again = NewPush.sample(8, to: fixture.platform)
            #expect(try await fixture.ports.release(schedule, as: again) == nil)
            #expect(try await fixture.ports.receipt(push.receiptID) != nil)
            #expect(try await fixture.ports.receipt(again.receiptID) == nil)
            #expect(try await fixture.ports.dueSchedules(atMost: 9).isEmpty)
            #expect(try await fixture.ports.nextScheduleDue() == nil)
            let ended = try await fixture.ports.schedule(schedule.key, of: fixture.application.key)
            #expect(ended?.ending == Schedule.Ending(.sent(receiptID: push.receiptID), at: fixture.clock.now))
            #expect(try await fixture.ports.cancel(schedule.key, of: fixture.application.key) == false)
            let change = Schedule.Change(dueAt: fixture.clock.now + .seconds(900))
            #expect(try await fixture.ports.change(schedule.key, of: fixture.application.key, change) == nil)
            try await fixture.fanOut()
            #expect(try await fixture.claim().count == 1)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a release that cannot be accepted leaves the schedule waiting`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let schedule = try await fixture.schedule(in: .zero)
            let push = NewPush(
                receiptID: UUID(), applicationKey: Key(999), content: schedule.pushRequest.content,
                audience: .list(.active),
                platformKeys: [], lane: .normal)
            await #expect(throws: StoreError.self) { try await fixture.ports.release(schedule, as: push) }
            #expect(try await fixture.ports.dueSchedules(atMost: 9) == [schedule])
        }
    }

    @Test(arguments: Engine.withModel)
    func `after a cancel nothing is released`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let schedule = try await fixture.schedule(in: .zero)
            #expect(try await fixture.ports.cancel(schedule.key, of: fixture.application.key))
            #expect(try await fixture.ports.release(schedule, as: .sample(to: fixture.platform)) == nil)
            #expect(try await fixture.ports.end(schedule, .expired) == false)
            #expect(try await fixture.ports.cancel(schedule.key, of: fixture.application.key) == false)
            let ended = try await fixture.ports.schedule(schedule.key, of: fixture.application.key)
            #expect(ended?.ending?.how == .cancelled)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a reader of it before a change is turned away`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let old = try await fixture.schedule(in: .zero)
            let change = Schedule.Change(content: Push.Content(body: "new"), dueAt: fixture.clock.now + .seconds(100))
            let new = try #require(try await fixture.ports.change(old.key, of: fixture.application.key, change))
            #expect(try new == old.changed(by: change, at: fixture.clock.now))
            #expect(try await fixture.ports.schedule(old.key, of: fixture.application.key) == new)
            #expect(try await fixture.ports.release(old, as: .sample(to: fixture.platform)) == nil)
            #expect(try await fixture.ports.end(old, .expired) == false)
            #expect(try await fixture.ports.nextScheduleDue() == new.dueAt)
            #expect(try await fixture.ports.release(new, as: .sample(to: fixture.platform)) != nil)
        }
    }

    @Test(arguments: Engine.withModel)
    func `a change names its seen version and clears fields`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.ports, fixture.application.key)
            let due = fixture.clock.now + .seconds(100)
            let old = try await store.schedule(
                PushRequest(
                    content: Push.Content(body: "x"), target: .everyone, lane: .bulk, expiresAt: due + .seconds(60)),
                at: due, for: app)
            let later = Schedule.Change(dueAt: due + .seconds(1), seen: old.version)
            let changed = try #require(try await store.change(old.key, of: app, later))
            #expect(changed.pushRequest == old.pushRequest && changed.dueAt == due + .seconds(1))
            await #expect(throws: EditConflict.self) { try await store.change(old.key, of: app, later) }
            #expect(try await store.schedule(old.key, of: app) == changed)
            let bare = try #require(
                try await store.change(
                    old.key, of: app, Schedule.Change(removed: [.expiry, .lane], seen: changed.version)))
            #expect(bare.pushRequest.expiresAt == nil && bare.pushRequest.lane == nil)
            #expect(bare.pushRequest.content == old.pushRequest.content && bare.dueAt == changed.dueAt)
            #expect(try await store.schedule(old.key, of: app) == bare)
            // Of many who saw the same version, one changes it.
            let won = await withTaskGroup(of: Bool.self) { group in
                for number in 1...8 {
                    let mine = Schedule.Change(dueAt: due + .seconds(10 + number), seen: bare.version)
                    group.addTask { (try? await store.change(old.key, of: app, mine)) != nil }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(won == 1)
            #expect(try await store.schedule(old.key, of: app)?.version == bare.version + 1)
        }
    }

    @Test(arguments: Engine.withModel)
    func `simultaneous cancels, changes and releases agree on the result`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            for number in 1...30 as ClosedRange<UInt64> {
                let schedule = try await fixture.schedule(in: .zero)
                let push = NewPush.sample(number, to: fixture.platform)
                async let cancelled = fixture.ports.cancel(schedule.key, of: fixture.application.key)
                async let released = fixture.ports.release(schedule, as: push)
                async let changed = fixture.ports.change(
                    schedule.key, of: fixture.application.key, Schedule.Change(dueAt: fixture.clock.now + .seconds(9)))
                let (isCancelled, accepted, _) = try await (cancelled, released, changed)
                let receipt = try await fixture.ports.receipt(push.receiptID)
                #expect((accepted != nil) == (receipt != nil))
                #expect(!(isCancelled && receipt != nil), "was cancelled and sent")
                let ending = try await fixture.ports.schedule(schedule.key, of: fixture.application.key)?.ending?.how
                if isCancelled { #expect(ending == .cancelled) }
                if accepted != nil { #expect(ending == .sent(receiptID: push.receiptID)) }
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `ended schedules are listed latest first, then forgotten`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let ends: [Schedule.How] = [
                .cancelled, .expired, .refused("too long"), .sent(receiptID: UUID(words: 3, 1)),
            ]
            var ended: [Schedule] = []
            for how in ends {
                let schedule = try await fixture.schedule(in: .zero)
                if case .sent = how {
                    #expect(try await fixture.ports.release(schedule, as: .sample(to: fixture.platform)) != nil)
                } else {
                    #expect(try await fixture.store.end(schedule, how))
                }
                ended.insert(schedule.ended(how, at: fixture.clock.now), at: 0)
                fixture.clock.advance(by: .seconds(1))
            }
            let application = fixture.application.key
            #expect(try await fixture.store.endedSchedules(of: application, after: nil, limit: 9) == ended)
            #expect(try await fixture.store.endedSchedules(of: application, after: ended[1], limit: 1) == [ended[2]])
            #expect(try await fixture.store.endedSchedules(of: application, after: ended[3], limit: 1).isEmpty)
            fixture.clock.advance(by: Schedule.keptFor + .seconds(1))
            for _ in ends {
                #expect(try await fixture.ports.cancel(try await fixture.schedule(in: .zero).key, of: application))
            }
            let left = try await fixture.store.endedSchedules(of: application, after: nil, limit: 99)
            #expect(left.count == ends.count && left.allSatisfy { $0.ending?.how == .cancelled })
        }
    }

    @Test(.timeLimit(.minutes(20)), arguments: Engine.withModel)
    func `one that falls due soon is announced`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            var receiver = fixture.ports.hints(of: .all).makeAsyncIterator()
            _ = try await fixture.schedule(in: .seconds(5))
            #expect(await receiver.next(isolation: nil) != nil)
            let far = try await fixture.schedule(in: Schedule.soon + .seconds(1))
            let change = Schedule.Change(dueAt: fixture.clock.now + .seconds(1))
            #expect(try await fixture.ports.change(far.key, of: fixture.application.key, change) != nil)
            #expect(await receiver.next(isolation: nil) != nil)
        }
    }
}

extension TestStore {
    func schedule(in wait: Duration, to target: Target = .everyone) async throws -> Schedule {
        try await ports.schedule(
            PushRequest(content: Push.Content(body: "hello"), target: target), at: clock.now + wait,
            for: application.key)
    }
}
