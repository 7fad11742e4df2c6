import BelfryCore
import BelfryTesting
import Foundation
import Testing

@Suite struct ScheduleConformance {
    @Test(arguments: Engine.allCases)
    func `a schedule is kept as it was ordered`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let order = Order(
                content: Push.Content(body: "hi", custom: ["android": .object(["n": .integer(9_007_199_254_740_993)])]),
                target: try Target(
                    topics: ["News"], customUserIDs: ["Kim"], platforms: [.ios, .bb10], isInteractiveOnly: true),
                lane: .bulk, guarantee: .atMostOnce, expiresAt: scene.clock.now + .seconds(900))
            let dueAt = scene.clock.now + .seconds(300)
            let schedule = try await scene.store.schedule(order, at: dueAt, for: scene.application.key)
            #expect(schedule.order == order && schedule.dueAt == dueAt && schedule.createdAt == scene.clock.now)
            #expect(try await scene.store.schedule(schedule.key, of: scene.application.key) == schedule)
            let few = Order(content: order.content, target: try Target(devices: [UUID()]))
            let second = try await scene.store.schedule(few, at: dueAt, for: scene.application.key)
            #expect(second.key > schedule.key)
            #expect(try await scene.store.schedule(second.key, of: scene.application.key)?.order == few)
        }
    }

    @Test(arguments: Engine.allCases)
    func `schedules of others are unknown`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let other = try await scene.store.create(.named("weather"))
            let schedule = try await scene.schedule(in: .seconds(300))
            #expect(try await scene.store.schedule(schedule.key, of: other.key) == nil)
            #expect(try await scene.store.schedules(of: other.key, after: nil, limit: 9).isEmpty)
            let change = Schedule.Change(dueAt: scene.clock.now)
            #expect(try await scene.store.change(schedule.key, of: other.key, change) == nil)
            #expect(try await scene.store.cancel(schedule.key, of: other.key) == false)
            #expect(try await scene.store.schedule(schedule.key, of: scene.application.key) == schedule)
            await #expect(throws: StoreError.self) {
                try await scene.store.schedule(schedule.order, at: .zero, for: Key(999))
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `those that wait are listed by their due times, page by page`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            var schedules: [Schedule] = []
            for seconds in [300, 100, 200, 100, 100] {
                schedules.append(try await scene.schedule(in: .seconds(seconds)))
            }
            #expect(try await scene.store.cancel(schedules[2].key, of: scene.application.key))
            let expected = [1, 3, 4, 0].map { schedules[$0] }
            let all = try await scene.store.schedules(of: scene.application.key, after: nil, limit: 9)
            #expect(all == expected)
            for count in 0..<4 {
                let page = try await scene.store.schedules(
                    of: scene.application.key, after: count == 0 ? nil : expected[count - 1], limit: 1)
                #expect(page == [expected[count]])
            }
            #expect(try await scene.store.schedules(of: scene.application.key, after: expected[3], limit: 1).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `what is due comes first, and only when it is due`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            #expect(try await scene.store.nextScheduleDue() == nil)
            let late = try await scene.schedule(in: .seconds(200))
            let early = try await scene.schedule(in: .seconds(100))
            #expect(try await scene.store.nextScheduleDue() == early.dueAt)
            #expect(try await scene.store.dueSchedules(atMost: 9).isEmpty)
            scene.clock.advance(by: .seconds(100))
            #expect(try await scene.store.dueSchedules(atMost: 9) == [early])
            scene.clock.advance(by: .seconds(100))
            #expect(try await scene.store.dueSchedules(atMost: 9) == [early, late])
            #expect(try await scene.store.dueSchedules(atMost: 1) == [early])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a release ends the schedule and accepts its push, once`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            _ = try await scene.registerMany(1)
            let schedule = try await scene.schedule(in: .seconds(100))
            scene.clock.advance(by: .seconds(100))
            let push = NewPush.sample(7, to: scene.platform)
            #expect(try await scene.store.release(schedule, as: push)?.receiptID == push.receiptID)
            let again = NewPush.sample(8, to: scene.platform)
            #expect(try await scene.store.release(schedule, as: again) == nil)
            #expect(try await scene.store.receipt(push.receiptID) != nil)
            #expect(try await scene.store.receipt(again.receiptID) == nil)
            #expect(try await scene.store.dueSchedules(atMost: 9).isEmpty)
            #expect(try await scene.store.nextScheduleDue() == nil)
            let ended = try await scene.store.schedule(schedule.key, of: scene.application.key)
            #expect(ended?.ending == Schedule.Ending(.sent(receiptID: push.receiptID), at: scene.clock.now))
            #expect(try await scene.store.cancel(schedule.key, of: scene.application.key) == false)
            let change = Schedule.Change(dueAt: scene.clock.now + .seconds(900))
            #expect(try await scene.store.change(schedule.key, of: scene.application.key, change) == nil)
            try await scene.spread()
            #expect(try await scene.claim().count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a release that cannot be accepted leaves the schedule waiting`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let schedule = try await scene.schedule(in: .zero)
            let push = NewPush(
                receiptID: UUID(), applicationKey: Key(999), content: schedule.order.content, audience: .list(.active),
                platformKeys: [], lane: .normal)
            await #expect(throws: StoreError.self) { try await scene.store.release(schedule, as: push) }
            #expect(try await scene.store.dueSchedules(atMost: 9) == [schedule])
        }
    }

    @Test(arguments: Engine.allCases)
    func `after a cancel nothing is released`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let schedule = try await scene.schedule(in: .zero)
            #expect(try await scene.store.cancel(schedule.key, of: scene.application.key))
            #expect(try await scene.store.release(schedule, as: .sample(to: scene.platform)) == nil)
            #expect(try await scene.store.end(schedule, .expired) == false)
            #expect(try await scene.store.cancel(schedule.key, of: scene.application.key) == false)
            let ended = try await scene.store.schedule(schedule.key, of: scene.application.key)
            #expect(ended?.ending?.how == .cancelled)
        }
    }

    @Test(arguments: Engine.allCases)
    func `whoever read it before a change is turned away`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let old = try await scene.schedule(in: .zero)
            let change = Schedule.Change(content: Push.Content(body: "new"), dueAt: scene.clock.now + .seconds(100))
            let new = try #require(try await scene.store.change(old.key, of: scene.application.key, change))
            #expect(new == old.changed(by: change))
            #expect(try await scene.store.schedule(old.key, of: scene.application.key) == new)
            #expect(try await scene.store.release(old, as: .sample(to: scene.platform)) == nil)
            #expect(try await scene.store.end(old, .expired) == false)
            #expect(try await scene.store.nextScheduleDue() == new.dueAt)
            #expect(try await scene.store.release(new, as: .sample(to: scene.platform)) != nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `cancels, changes and releases at the same moment agree on what happened`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            for number in 1...30 as ClosedRange<UInt64> {
                let schedule = try await scene.schedule(in: .zero)
                let push = NewPush.sample(number, to: scene.platform)
                async let cancelled = scene.store.cancel(schedule.key, of: scene.application.key)
                async let released = scene.store.release(schedule, as: push)
                async let changed = scene.store.change(
                    schedule.key, of: scene.application.key, Schedule.Change(dueAt: scene.clock.now + .seconds(9)))
                let (isCancelled, accepted, _) = try await (cancelled, released, changed)
                let receipt = try await scene.store.receipt(push.receiptID)
                #expect((accepted != nil) == (receipt != nil))
                #expect(!(isCancelled && receipt != nil), "was cancelled and sent")
                let ending = try await scene.store.schedule(schedule.key, of: scene.application.key)?.ending?.how
                if isCancelled { #expect(ending == .cancelled) }
                if accepted != nil { #expect(ending == .sent(receiptID: push.receiptID)) }
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `what has ended is told, the last first, and forgotten in the end`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let ends: [Schedule.How] = [
                .cancelled, .expired, .refused("too long"), .sent(receiptID: UUID(words: 3, 1)),
            ]
            var ended: [Schedule] = []
            for how in ends {
                let schedule = try await scene.schedule(in: .zero)
                if case .sent = how {
                    #expect(try await scene.store.release(schedule, as: .sample(to: scene.platform)) != nil)
                } else {
                    #expect(try await scene.store.end(schedule, how))
                }
                ended.insert(schedule.ended(how, at: scene.clock.now), at: 0)
                scene.clock.advance(by: .seconds(1))
            }
            let application = scene.application.key
            #expect(try await scene.store.endedSchedules(of: application, after: nil, limit: 9) == ended)
            #expect(try await scene.store.endedSchedules(of: application, after: ended[1], limit: 1) == [ended[2]])
            #expect(try await scene.store.endedSchedules(of: application, after: ended[3], limit: 1).isEmpty)
            scene.clock.advance(by: Schedule.keptFor + .seconds(1))
            for _ in ends {
                #expect(try await scene.store.cancel(try await scene.schedule(in: .zero).key, of: application))
            }
            let left = try await scene.store.endedSchedules(of: application, after: nil, limit: 99)
            #expect(left.count == ends.count && left.allSatisfy { $0.ending?.how == .cancelled })
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: Engine.allCases)
    func `one that falls due soon is announced`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            var ear = scene.store.hints().makeAsyncIterator()
            _ = try await scene.schedule(in: .seconds(5))
            #expect(await ear.next(isolation: nil) != nil)
            let far = try await scene.schedule(in: Schedule.soon + .seconds(1))
            let change = Schedule.Change(dueAt: scene.clock.now + .seconds(1))
            #expect(try await scene.store.change(far.key, of: scene.application.key, change) != nil)
            #expect(await ear.next(isolation: nil) != nil)
        }
    }
}

extension Scene {
    func schedule(in wait: Duration, to target: Target = .everyone) async throws -> Schedule {
        try await store.schedule(
            Order(content: Push.Content(body: "hello"), target: target), at: clock.now + wait, for: application.key)
    }
}
