import BelfryService
import BelfryTesting
import Testing

/// Refused credentials: doubted while one device says so, believed when they agree, and tried again by themselves.
@Suite struct RefusedCredentialsTests {
    private func open(devices: Int) async throws -> TestDelivery {
        let fixture = TestDelivery(seed: 1)
        try await fixture.open(devices: devices)
        return fixture
    }

    private func platform(_ fixture: TestDelivery) async throws -> Platform {
        try #require(try await fixture.store.platform(fixture.platforms[0].key))
    }

    private func refuse(_ count: Int, _ fixture: TestDelivery) {
        let tokens = fixture.store.contents.devices.values.sorted { $0.key < $1.key }.compactMap(\.token).prefix(count)
        fixture.refusedTokens.set(tokens)
    }

    @Test func `one device's answer parks nothing and is retried`() async throws {
        let fixture = try await open(devices: 10)
        refuse(1, fixture)
        let push = try await fixture.push(1)
        fixture.start(options: DeliveryOptions())
        fixture.run(for: .seconds(1))
        #expect(try await platform(fixture).parked == nil)
        #expect(try await fixture.store.receipt(push.receiptID)?.counts == [.accepted: 9, .pending: 1])
        let other = try await fixture.push(2)
        fixture.run(for: .seconds(1))
        #expect(try await fixture.store.receipt(other.receiptID)?.counts == [.accepted: 9, .pending: 1])
        refuse(0, fixture)
        fixture.runUntilSettled()
        #expect(try await fixture.store.receipt(push.receiptID)?.counts == [.accepted: 10])
        #expect(fixture.store.contents.devices.values.allSatisfy { $0.isActive })
    }

    @Test(arguments: [1, 2])
    func `repeated refusals park nothing while the provider contradicts`(count: Int)
        async throws
    {
        let fixture = try await open(devices: count)
        refuse(count, fixture)
        fixture.refuses = false
        let push = try await fixture.push(1, expiresIn: .seconds(600))
        fixture.start(options: DeliveryOptions())
        fixture.run(for: .seconds(300))
        #expect(try await platform(fixture).parked == nil)
        fixture.runUntilSettled()
        #expect(try await fixture.store.receipt(push.receiptID)?.counts == [.expired: count])
    }

    @Test(arguments: [true, nil])
    func `a lone device refused three times parks without contradiction`(refuses: Bool?) async throws {
        let fixture = try await open(devices: 1)
        refuse(1, fixture)
        fixture.refuses = refuses
        _ = try await fixture.push(1)
        fixture.start(options: DeliveryOptions())
        fixture.run(for: .seconds(4))
        #expect(try await platform(fixture).parked == nil)
        fixture.run(for: .seconds(5))
        #expect(try await platform(fixture).parked?.cause == .credentials)
    }

    @Test func `agreeing answers park the platform, which resumes once mended`() async throws {
        let fixture = try await open(devices: 250)
        refuse(250, fixture)
        let push = try await fixture.push(1)
        fixture.start(options: DeliveryOptions())
        fixture.run(for: .seconds(5))
        let parked = try #require(try await platform(fixture).parked)
        #expect(parked.cause == .credentials && parked.detail == "the key was revoked")
        #expect(try await fixture.store.receipt(push.receiptID)?.state == .parked)
        let attempts = fixture.ledger.totalAttempts
        fixture.run(for: .seconds(20))
        #expect(fixture.ledger.totalAttempts == attempts)
        fixture.run(for: .seconds(15))
        #expect(try await platform(fixture).parked?.probe?.count == 1)
        #expect(fixture.ledger.totalAttempts <= attempts + Batch.devicesMax)
        refuse(0, fixture)
        fixture.run(for: .seconds(70))
        #expect(try await platform(fixture).parked == nil)
        fixture.runUntilSettled()
        #expect(try await fixture.store.receipt(push.receiptID)?.counts == [.accepted: 250])
    }

    @Test func `a mended platform resumes with the next push`() async throws {
        let fixture = try await open(devices: 4)
        refuse(4, fixture)
        let first = try await fixture.push(1)
        fixture.start(options: DeliveryOptions())
        fixture.run(for: .seconds(5))
        _ = try await fixture.store.cancel(first.key)
        refuse(0, fixture)
        fixture.run(for: .seconds(3_600))
        let second = try await fixture.push(2)
        fixture.run(for: .seconds(5))
        #expect(try await fixture.store.receipt(second.receiptID)?.counts == [.accepted: 4])
        #expect(try await platform(fixture).parked == nil)
    }

    @Test func `one push service parks alone and resumes alone`() async throws {
        let fixture = try await open(devices: 10)
        let tokens = fixture.store.contents.devices.values.sorted { $0.key < $1.key }.compactMap(\.token)
        let apple = Set(tokens.prefix(4))
        fixture.serviceOf = { apple.contains($0) ? "https://web.push.apple.com" : "https://push.mozilla.example" }
        refuse(4, fixture)
        let push = try await fixture.push(1)
        fixture.start(options: DeliveryOptions())
        fixture.run(for: .seconds(5))
        var found = try await platform(fixture)
        #expect(found.parked == nil)
        #expect(found.parkedServices.map(\.origin) == ["https://web.push.apple.com"])
        #expect(try await fixture.store.receipt(push.receiptID)?.counts == [.accepted: 6, .pending: 4])
        let second = try await fixture.push(2)
        fixture.run(for: .seconds(5))
        #expect(try await fixture.store.receipt(second.receiptID)?.counts == [.accepted: 6, .pending: 4])
        fixture.run(for: .seconds(300))
        found = try await platform(fixture)
        #expect((found.parkedServices.first?.parking.probe?.count ?? 0) >= 2)
        refuse(0, fixture)
        fixture.runUntilSettled()
        #expect(try await platform(fixture).parkedServices.isEmpty)
        #expect(try await fixture.store.receipt(push.receiptID)?.counts == [.accepted: 10])
        #expect(try await fixture.store.receipt(second.receiptID)?.counts == [.accepted: 10])
    }
}
