import BelfryCore
import BelfryDelivery
import BelfryTesting
import Testing

/// Single promises of the delivery, each in a small house of its own.
@Suite struct DeliveryTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func `an urgent push overtakes a broadcast`(seed: UInt64)
        async throws
    {
        let house = House(seed: seed, pace: FakeProvider.Pace(burst: 500, delay: .seconds(2)))
        try await house.open(devices: 250)
        var options = DeliveryOptions()
        options.pagesInAirMax = 1
        options.urgentPagesInAirMax = 1
        house.start(options: options)
        var broadcasts: [Push] = []
        for number in 1...40 as ClosedRange<UInt64> {
            broadcasts.append(try await house.push(number, lane: seed.isMultiple(of: 2) ? .normal : .bulk))
        }
        house.run(for: .seconds(9))
        let urgent = try await house.push(100, lane: .urgent)
        let toldBefore = Set(house.ledger.order)
        house.runUntilSettled()
        let order = house.ledger.order
        let place = try #require(order.firstIndex(of: urgent.key))
        let overtakers = Set(order[..<place]).subtracting(toldBefore)
        #expect(overtakers.count <= 1, "pages in the air may land first, no other may leave")
        #expect(toldBefore.count < broadcasts.count)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a platform that stalls does not hold up another`(seed: UInt64) async throws {
        let house = House(seed: seed, applications: 2) { platform in
            FakeProvider.Pace(burst: 500, delay: platform == 0 ? .seconds(60) : .zero)
        }
        try await house.open(devices: 10)
        for number in 1...60 as ClosedRange<UInt64> { _ = try await house.push(number, on: 0) }
        house.start(options: DeliveryOptions())
        house.run(for: .seconds(5))
        let swift = try await house.push(100, on: 1)
        house.run(for: .seconds(5))
        #expect(try await house.store.receipt(swift.receiptID)?.state == .settled)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `many platforms that stall do not hold up another`(seed: UInt64) async throws {
        let stalled = 12
        let house = House(seed: seed, applications: stalled + 1) { platform in
            FakeProvider.Pace(burst: 500, delay: platform < stalled ? .seconds(60) : .zero)
        }
        try await house.open(devices: 10)
        for number in 1...120 as ClosedRange<UInt64> { _ = try await house.push(number, on: Int(number) % stalled) }
        house.start(options: DeliveryOptions())
        // Before their first pages land, and once it is known how long those stay.
        let rounds: [(number: UInt64, wait: Duration)] = [
            (200, .seconds(5)), (201, .seconds(65)), (202, .seconds(65)),
        ]
        for (number, wait) in rounds {
            house.run(for: wait)
            let swift = try await house.push(number, on: stalled)
            house.run(for: .seconds(5))
            #expect(try await house.store.receipt(swift.receiptID)?.state == .settled)
        }
    }

    @Test func `a push that expires while its platform is parked is told to nobody`() async throws {
        let house = House(seed: 1)
        try await house.open(devices: 10)
        try await house.store.park(house.platforms[0].key, Parking(cause: .credentials, detail: "", since: .zero))
        let push = try await house.push(1, expiresIn: .seconds(60))
        house.start(options: DeliveryOptions())
        house.run(for: .seconds(120))
        #expect(try await house.store.receipt(push.receiptID)?.state == .parked)
        try await house.store.resume(house.platforms[0].key)
        house.runUntilSettled()
        #expect(try await house.store.receipt(push.receiptID)?.counts == [.expired: 10])
        #expect(house.ledger.order.isEmpty)
    }

    @Test func `a push to nobody is settled`() async throws {
        let house = House(seed: 1)
        try await house.open(devices: 0)
        let push = try await house.push(1)
        house.start(options: DeliveryOptions())
        house.runUntilSettled()
        #expect(try await house.store.receipt(push.receiptID)?.state == .settled)
    }

    @Test func `a wave of deaths parks the platform and spares the devices`() async throws {
        let house = House(seed: 1, plan: OutcomePlan(rates: OutcomePlan.Rates(gone: 1), sinceMax: .zero))
        try await house.open(devices: 100)
        house.clock.advance(by: .seconds(60))
        let push = try await house.push(1)
        var options = DeliveryOptions()
        options.deathWatch = DeathWatch(shareMax: 0.2, answersMin: 50)
        house.start(options: options)
        house.runUntilSettled()
        #expect(try await house.store.platform(house.platforms[0].key)?.parked?.cause == .deaths)
        #expect(try await house.store.receipt(push.receiptID)?.counts == [.gone: 100])
        #expect(house.store.contents.devices.values.allSatisfy { $0.isActive })
    }

    @Test func `tokens that die with what they were for park nothing`() async throws {
        let house = House(seed: 1, plan: OutcomePlan(rates: OutcomePlan.Rates(gone: 1), sinceMax: .zero))
        try await house.open(devices: 100, kind: .apple(.liveActivity))
        house.clock.advance(by: .seconds(60))
        let push = try await house.push(1)
        var options = DeliveryOptions()
        options.deathWatch = DeathWatch(shareMax: 0.2, answersMin: 50)
        house.start(options: options)
        house.runUntilSettled()
        #expect(try await house.store.platform(house.platforms[0].key)?.parked == nil)
        #expect(try await house.store.receipt(push.receiptID)?.counts == [.gone: 100])
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a graceful shutdown finishes the pages in the air and claims no more`(seed: UInt64) async throws {
        let house = House(seed: seed, pace: FakeProvider.Pace(burst: 5, delay: .seconds(1)))
        try await house.open(devices: 10)
        for number in 1...40 as ClosedRange<UInt64> { _ = try await house.push(number, guarantee: .atMostOnce) }
        house.start(options: DeliveryOptions())
        house.run(for: .milliseconds(1_500))
        house.stop()
        house.run(for: .seconds(2))
        #expect(house.hasStopped)
        let pages = house.store.contents.pages.values
        #expect(pages.allSatisfy { !$0.lease.isHeld })
        #expect(pages.contains { $0.page.answers.allSatisfy { $0 == .accepted } })
        #expect(pages.allSatisfy { !$0.page.answers.contains(.unknown) })
        #expect(pages.contains { $0.page.attempt == 0 })
    }

    @Test func `a page in the air with old credentials does not park a platform that has new ones`() async throws {
        let plan = OutcomePlan()
        let house = House(seed: 1, plan: plan, pace: FakeProvider.Pace(delay: .seconds(5)))
        try await house.open(devices: 10)
        _ = try await house.push(1)
        house.barredVersion = 1
        house.start(options: DeliveryOptions())
        house.run(for: .seconds(2))
        try await house.store.replaceCredentials(of: house.platforms[0].key, with: Sealed(bytes: [2]))
        house.run(for: .seconds(10))
        let platform = try await house.store.platform(house.platforms[0].key)
        #expect(platform?.parked == nil)
    }
}
