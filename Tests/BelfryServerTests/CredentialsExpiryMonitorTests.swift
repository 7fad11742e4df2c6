import BelfryService
import BelfryTesting
import FoundationEssentials
import Logging
import Testing

@testable import BelfryServer

@Suite struct CredentialsExpiryMonitorTests {
    /// Credentials that all end at the same time.
    private struct ExpiringCredentials: ProviderCredentials {
        let end: Instant?

        func sealed(
            _ entered: [String: JSONValue], kind: PlatformKind, mode: Platform.Mode, platform: UUID,
            by author: CredentialsAuthor, for holder: ShareHolder
        ) async throws -> SealedCredentials { SealedCredentials(seal: Sealed(bytes: []), facts: .none) }
        func examine(_ platform: Platform) async throws -> ExaminedCredentials {
            ExaminedCredentials(facts: CredentialFacts(expiresAt: end, published: [:]))
        }
        func parking(of kind: PlatformKind) -> Parking? { nil }
        func test(_ platform: Platform, devices: [DeviceToken]) async -> CredentialsTest { .works }
    }

    @Test(arguments: [(nil, nil), (31, nil), (30, "30"), (0, "0"), (-2, "-2")] as [(Int64?, String?)])
    func `credentials that end within thirty days are warned of`(days: Int64?, told: String?) async throws {
        let clock = ManualClock()
        let store = try SQLiteStore.temporary(clock: clock)
        let application = try await store.create(.numbered(1))
        let platform = try await store.create(.numbered(1, of: application.key))
        let log = CapturedLog()
        let end = days.map { clock.now + .seconds($0 * 86_400) }
        try await CredentialsExpiryMonitor(
            store: store, credentials: ExpiringCredentials(end: end), clock: clock, logger: log.logger
        ).round()
        let lines = log.lines(atLeast: .warning)
        #expect(lines.count == (told == nil ? 0 : 1))
        if let told {
            #expect(lines[0].contains("days=\(told)") && lines[0].contains(platform.uuid.lowercased), "\(lines)")
        }
    }

    @Test func `a database error delays the check by ten minutes`() async throws {
        let clock = ManualClock()
        let base = try SQLiteStore.temporary(clock: clock)
        let application = try await base.create(.numbered(1))
        for number in 1...2 { _ = try await base.create(.numbered(number, of: application.key)) }
        let (log, fault) = (CapturedLog(), Flag())
        let store = InterceptedStore(
            base,
            before: { access in
                if access == .write, fault.isRaised { throw StoreError.unavailable("the disk is full") }
            })
        let monitor = CredentialsExpiryMonitor(
            store: store, credentials: ExpiringCredentials(end: clock.now), clock: clock, logger: log.logger)
        try await monitor.round()
        #expect(log.lines(atLeast: .warning).count == 2)
        fault.raise()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await monitor.run() }
            while clock.sleepers == 0 { await Task.yield() }
            #expect(clock.nextWake == clock.now + .seconds(600))
            group.cancelAll()
        }
        #expect(log.lines(atLeast: .warning).count == 5, "both platforms are looked at again")
    }
}
