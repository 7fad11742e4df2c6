import BelfryCore
import BelfryDelivery
import BelfryTesting
import FoundationEssentials
import Testing

/// Single promises of the scheduler, each in a small house of its own.
@Suite struct SchedulerTests {
    private static let options = DeliveryOptions(poll: .seconds(10))

    private func open(seed: UInt64 = 1) async throws -> House {
        let house = House(seed: seed)
        try await house.open(devices: 10)
        return house
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a schedule becomes a push at its time, not before and not after`(seed: UInt64) async throws {
        let house = try await open(seed: seed)
        house.start(options: Self.options)
        house.run(for: .seconds(3))
        var schedules: [Schedule] = []
        for milliseconds in [1, 15_000, 15_001, 47_123] {
            schedules.append(try await house.schedule(in: .milliseconds(milliseconds)))
        }
        house.run(for: .seconds(120))
        house.runUntilSettled()
        for schedule in schedules {
            let ending = try #require(house.ending(of: schedule))
            #expect(ending.at == schedule.dueAt)
        }
        #expect(house.ledger.order.count == 40)
    }

    @Test func `many due at the same moment all leave, each once`() async throws {
        let house = try await open()
        house.start(options: Self.options)
        for _ in 0..<200 { _ = try await house.schedule(in: .seconds(70)) }
        house.run(for: .seconds(75))
        house.runUntilSettled()
        #expect(house.store.contents.pushes.count == 200)
        #expect(house.ledger.order.count == 2_000)
    }

    @Test func `what fell due while nothing ran is sent at the start, unless it has expired`() async throws {
        let house = try await open()
        let missed = try await house.schedule(in: .seconds(5))
        let stale = try await house.schedule(in: .seconds(5), expiresIn: .seconds(50))
        house.clock.advance(by: .seconds(3_600))
        house.start(options: Self.options)
        house.run(for: .seconds(1))
        house.runUntilSettled()
        #expect(house.ending(of: stale)?.how == .expired)
        #expect(house.ending(of: missed)?.how.name == "sent")
        #expect(house.store.contents.pushes.count == 1)
    }

    @Test func `a schedule that was moved goes at its new time, with its new content`() async throws {
        let house = try await open()
        house.start(options: Self.options)
        let schedule = try await house.schedule(in: .seconds(20))
        house.run(for: .seconds(15))
        let later = Schedule.Change(content: Push.Content(body: "later"), dueAt: house.clock.now + .seconds(30))
        #expect(try await house.store.change(schedule.key, of: schedule.applicationKey, later) != nil)
        house.run(for: .seconds(29))
        #expect(house.store.contents.pushes.isEmpty)
        let sooner = Schedule.Change(dueAt: house.clock.now + .milliseconds(500))
        #expect(try await house.store.change(schedule.key, of: schedule.applicationKey, sooner) != nil)
        house.run(for: .milliseconds(500))
        house.runUntilSettled()
        #expect(house.store.contents.pushes.values.map(\.push.content.body) == ["later"])
    }

    @Test func `a cancelled schedule is never sent`() async throws {
        let house = try await open()
        let schedule = try await house.schedule(in: .seconds(5))
        house.start(options: Self.options)
        house.run(for: .milliseconds(4_999))
        #expect(try await house.store.cancel(schedule.key, of: schedule.applicationKey))
        house.run(for: .seconds(60))
        #expect(house.store.contents.pushes.isEmpty)
    }

    @Test func `content that a platform cannot take by then ends refused, and the others go`() async throws {
        let house = try await open()
        let content = Push.Content(body: "hi", custom: ["ios": .object(["badge": .string("many")])])
        let bad = try await house.schedule(in: .seconds(5), content: content)
        let good = try await house.schedule(in: .seconds(5))
        house.start(options: Self.options)
        house.run(for: .seconds(6))
        house.runUntilSettled()
        guard case .refused(let words) = house.ending(of: bad)?.how else {
            Issue.record("\(String(describing: house.ending(of: bad)))")
            return
        }
        #expect(words.contains("message.custom.ios.badge"))
        #expect(house.ending(of: good)?.how.name == "sent")
    }

    @Test func `the platforms are those of the due moment`() async throws {
        let house = try await open()
        let schedule = try await house.schedule(in: .seconds(50))
        let platform = try await house.store.create(.numbered(9, of: schedule.applicationKey, kind: .androidFCM))
        _ = try await house.store.register(.sample(200), as: nil, on: platform)
        house.start(options: Self.options)
        house.run(for: .seconds(51))
        house.runUntilSettled()
        #expect(house.ledger.order.count == 11)
    }
}

extension House {
    fileprivate func schedule(
        in wait: Duration, content: Push.Content = Push.Content(body: "hello"), expiresIn: Duration? = nil
    ) async throws -> Schedule {
        try await store.schedule(
            Order(content: content, target: .everyone, expiresAt: expiresIn.map { clock.now + $0 }),
            at: clock.now + wait, for: platforms[0].applicationKey)
    }

    fileprivate func ending(of schedule: Schedule) -> Schedule.Ending? {
        store.contents.schedules[schedule.key]?.ending
    }
}
