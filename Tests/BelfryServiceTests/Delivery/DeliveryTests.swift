import BelfryService
import BelfryTesting
import Testing

/// Single promises of the delivery, each in a small fixture of its own.
@Suite struct DeliveryTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func `an urgent push overtakes a broadcast`(seed: UInt64)
        async throws
    {
        let fixture = TestDelivery(seed: seed, pace: FakeProvider.Pace(burst: 500, delay: .seconds(2)))
        try await fixture.open(devices: 250)
        var options = DeliveryOptions()
        options.batchesInFlightMax = 1
        options.urgentBatchesInFlightMax = 1
        fixture.start(options: options)
        var broadcasts: [Push] = []
        for number in 1...40 as ClosedRange<UInt64> {
            broadcasts.append(try await fixture.push(number, lane: seed.isMultiple(of: 2) ? .normal : .bulk))
        }
        fixture.run(for: .seconds(9))
        let urgent = try await fixture.push(100, lane: .urgent)
        let toldBefore = Set(fixture.ledger.order)
        fixture.runUntilSettled()
        let order = fixture.ledger.order
        let place = try #require(order.firstIndex(of: urgent.key))
        let overtakers = Set(order[..<place]).subtracting(toldBefore)
        #expect(overtakers.count <= 2, "the two batches of the burst in flight may end first, no other may leave")
        #expect(toldBefore.count < broadcasts.count)
    }

    @Test func `a broadcast runs on the executor for it`() async throws {
        let fixture = TestDelivery(seed: 1)
        try await fixture.open(devices: 10)
        let broadcast = try await fixture.push(1)
        let urgent = try await fixture.push(2, lane: .urgent)
        let executor = SeededExecutor(seed: 1)
        var options = DeliveryOptions()
        options.broadcastExecutor = executor
        fixture.start(options: options)
        fixture.run(for: .seconds(5))
        #expect(try await fixture.store.receipt(urgent.receiptID)?.state == .settled)
        #expect(try await fixture.store.receipt(broadcast.receiptID)?.state != .settled)
        while executor.runOne() { fixture.run(for: .milliseconds(1)) }
        #expect(try await fixture.store.receipt(broadcast.receiptID)?.state == .settled)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a platform that stalls does not hold up another`(seed: UInt64) async throws {
        let fixture = TestDelivery(seed: seed, applications: 2) { platform in
            FakeProvider.Pace(burst: 500, delay: platform == 0 ? .seconds(60) : .zero)
        }
        try await fixture.open(devices: 10)
        for number in 1...60 as ClosedRange<UInt64> { _ = try await fixture.push(number, on: 0) }
        fixture.start(options: DeliveryOptions())
        fixture.run(for: .seconds(5))
        let swift = try await fixture.push(100, on: 1)
        fixture.run(for: .seconds(5))
        #expect(try await fixture.store.receipt(swift.receiptID)?.state == .settled)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `many platforms that stall do not hold up another`(seed: UInt64) async throws {
        let stalled = 12
        let fixture = TestDelivery(seed: seed, applications: stalled + 1) { platform in
            FakeProvider.Pace(burst: 500, delay: platform < stalled ? .seconds(60) : .zero)
        }
        try await fixture.open(devices: 10)
        for number in 1...120 as ClosedRange<UInt64> { _ = try await fixture.push(number, on: Int(number) % stalled) }
        fixture.start(options: DeliveryOptions())
        // Before their first batches end, and once it is known how long those stay.
        let rounds: [(number: UInt64, wait: Duration)] = [
            (200, .seconds(5)), (201, .seconds(65)), (202, .seconds(65)),
        ]
        for (number, wait) in rounds {
            fixture.run(for: wait)
            let swift = try await fixture.push(number, on: stalled)
            fixture.run(for: .seconds(5))
            #expect(try await fixture.store.receipt(swift.receiptID)?.state == .settled)
        }
    }

    @Test func `a push expiring while parked reaches no device`() async throws {
        let fixture = TestDelivery(seed: 1)
        try await fixture.open(devices: 10)
        try await fixture.store.park(fixture.platforms[0].key, Parking(cause: .credentials, detail: "", since: .zero))
        let push = try await fixture.push(1, expiresIn: .seconds(60))
        fixture.start(options: DeliveryOptions())
        fixture.run(for: .seconds(120))
        #expect(try await fixture.store.receipt(push.receiptID)?.state == .parked)
        try await fixture.store.resume(fixture.platforms[0].key)
        fixture.runUntilSettled()
        #expect(try await fixture.store.receipt(push.receiptID)?.counts == [.expired: 10])
        #expect(fixture.ledger.order.isEmpty)
    }

    @Test func `a push to no device is settled`() async throws {
        let fixture = TestDelivery(seed: 1)
        try await fixture.open(devices: 0)
        let push = try await fixture.push(1)
        fixture.start(options: DeliveryOptions())
        fixture.runUntilSettled()
        #expect(try await fixture.store.receipt(push.receiptID)?.state == .settled)
    }

    @Test(arguments: [(.zero, true), (.seconds(8_640_000), false)] as [(Duration, Bool)])
    func `a wave of new verdicts parks the platform, sparing devices`(ageMax: Duration, parks: Bool) async throws {
        let fixture = TestDelivery(seed: 1, plan: OutcomePlan(rates: OutcomePlan.Rates(gone: 1), sinceMax: ageMax))
        try await fixture.open(devices: 100)
        fixture.clock.advance(by: .seconds(60))
        let push = try await fixture.push(1)
        var options = DeliveryOptions()
        options.deadTokenBreaker = DeadTokenBreaker(shareMax: 0.2, answersMin: 50)
        fixture.start(options: options)
        fixture.runUntilSettled()
        let parked = try await fixture.store.platform(fixture.platforms[0].key)?.parked
        #expect(parked?.cause == (parks ? .deadTokens : nil))
        #expect(try await fixture.store.receipt(push.receiptID)?.counts == [.gone: 100])
        #expect(fixture.store.contents.devices.values.allSatisfy { $0.isActive })
    }

    @Test func `tokens that die with what they were for park nothing`() async throws {
        let fixture = TestDelivery(seed: 1, plan: OutcomePlan(rates: OutcomePlan.Rates(gone: 1), sinceMax: .zero))
        try await fixture.open(devices: 100, kind: .apple(.liveActivity))
        fixture.clock.advance(by: .seconds(60))
        let push = try await fixture.push(1)
        var options = DeliveryOptions()
        options.deadTokenBreaker = DeadTokenBreaker(shareMax: 0.2, answersMin: 50)
        fixture.start(options: options)
        fixture.runUntilSettled()
        #expect(try await fixture.store.platform(fixture.platforms[0].key)?.parked == nil)
        #expect(try await fixture.store.receipt(push.receiptID)?.counts == [.gone: 100])
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a graceful shutdown finishes batches and claims no more`(seed: UInt64) async throws {
        let fixture = TestDelivery(seed: seed, pace: FakeProvider.Pace(burst: 5, delay: .seconds(1)))
        try await fixture.open(devices: 10)
        // More than the eight bursts of fifty that a platform may have in flight.
        for number in 1...450 as ClosedRange<UInt64> { _ = try await fixture.push(number, guarantee: .atMostOnce) }
        fixture.start(options: DeliveryOptions())
        fixture.run(for: .milliseconds(1_500))
        fixture.stop()
        fixture.run(for: .seconds(2))
        #expect(fixture.hasStopped)
        let batches = fixture.store.contents.batches.values
        #expect(batches.allSatisfy { !$0.lease.isHeld })
        #expect(batches.contains { $0.batch.answers.allSatisfy { $0 == .accepted } })
        #expect(batches.allSatisfy { !$0.batch.answers.contains(.unknown) })
        #expect(batches.contains { $0.batch.attempt == 0 })
    }

    @Test func `an in-flight batch with old credentials parks nothing new`() async throws {
        let plan = OutcomePlan()
        let fixture = TestDelivery(seed: 1, plan: plan, pace: FakeProvider.Pace(delay: .seconds(5)))
        try await fixture.open(devices: 10)
        _ = try await fixture.push(1)
        fixture.refusedVersion = 1
        fixture.start(options: DeliveryOptions())
        fixture.run(for: .seconds(2))
        try await fixture.store.replaceCredentials(of: fixture.platforms[0].key, with: Sealed(bytes: [2]))
        fixture.run(for: .seconds(10))
        let platform = try await fixture.store.platform(fixture.platforms[0].key)
        #expect(platform?.parked == nil)
    }
}
