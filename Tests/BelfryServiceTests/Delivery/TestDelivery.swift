import BelfryService
import BelfryTesting
import ServiceLifecycle
import Synchronization
import Testing

/// The tokens whose messages are answered that the credentials are refused.
final class RefusedTokens: Sendable {
    private let held = Mutex<Set<DeviceToken>>([])

    func contain(_ token: DeviceToken) -> Bool { held.withLock { $0.contains(token) } }

    func set(_ tokens: some Sequence<DeviceToken>) { held.withLock { $0 = Set(tokens) } }
}

/// A store, its providers and one delivery on a seeded executor.
final class TestDelivery {
    let clock = ManualClock()
    let store: MemoryStore
    let ledger = Ledger()
    private(set) var platforms: [Platform] = []
    /// Credentials of this version are refused.
    var refusedVersion: Int64?
    /// Tokens that are answered that the credentials are refused.
    let refusedTokens = RefusedTokens()
    /// The push service of a token; nil where one serves all.
    var serviceOf: @Sendable (DeviceToken) -> String? = { _ in nil }
    /// The provider's answer when it is asked about the credentials without a device.
    var refuses: Bool?
    private let executor: SeededExecutor
    private let applications: Int
    private let plan: OutcomePlan
    private let pace: @Sendable (Int) -> FakeProvider.Pace
    private let capturedLog = CapturedLog()
    private let isOver = ProcessLifetime()
    private var services: ServiceGroup?

    convenience init(seed: UInt64, plan: OutcomePlan = OutcomePlan(), pace: FakeProvider.Pace = FakeProvider.Pace()) {
        self.init(seed: seed, plan: plan, applications: 1) { _ in pace }
    }

    /// - Parameter pace: that of each platform, by its place in `platforms`.
    init(
        seed: UInt64, plan: OutcomePlan = OutcomePlan(), applications: Int,
        pace: @escaping @Sendable (Int) -> FakeProvider.Pace
    ) {
        executor = SeededExecutor(seed: seed)
        store = MemoryStore(clock: clock)
        self.plan = plan
        self.applications = applications
        self.pace = pace
    }

    /// An application with one platform for each, and so many devices on each platform.
    func open(devices: Int, kind: PlatformKind = .ios) async throws {
        for number in 0..<applications {
            let application = try await store.create(.numbered(number))
            let platform = try await store.create(.numbered(number, of: application.key, kind: kind))
            platforms.append(platform)
            for number in 0..<devices { _ = try await store.register(.sample(UInt8(number)), as: nil, on: platform) }
        }
    }

    func push(
        _ number: UInt64, on platform: Int = 0, lane: Lane = .normal, guarantee: Push.Guarantee = .atLeastOnce,
        expiresIn: Duration? = nil
    ) async throws -> Push {
        try await store.accept(
            .sample(
                number, to: platforms[platform], lane: lane, guarantee: guarantee,
                expiresAt: expiresIn.map { clock.now + $0 }))
    }

    func start(options: DeliveryOptions) {
        let places = Dictionary(uniqueKeysWithValues: platforms.enumerated().map { ($1.key, $0) })
        let providers = FakeProviders {
            [store, refusedTokens, plan, ledger, clock, pace, refusedVersion, serviceOf, refuses] platform in
            FakeProvider(
                ledger: ledger, clock: clock, pace: pace(places[platform.key] ?? 0), service: serviceOf,
                refuses: { refuses }
            ) { push, device, attempt, now in
                if let token = store.contents.devices[device]?.token, refusedTokens.contain(token) {
                    return (.credentialsRefused("the key was revoked"), false)
                }
                if platform.credentialsVersion == refusedVersion {
                    return (.credentialsRefused("the key was revoked"), false)
                }
                return plan.outcome(of: push, to: device, attempt: attempt, now: now)
            }
        }
        let delivery = Delivery(
            store: store, providers: providers, clock: clock, options: options, random: { 0.5 },
            logger: capturedLog.logger)
        let services = ServiceGroup(services: [delivery], logger: capturedLog.logger)
        self.services = services
        Task(executorPreference: executor) { [isOver] in
            try? await services.run()
            isOver.end()
        }
    }

    /// As SIGTERM does.
    func stop() {
        guard let services else { return }
        Task(executorPreference: executor) { await services.triggerGracefulShutdown() }
    }

    /// Whether the delivery was started and has returned.
    var hasStopped: Bool { isOver.isOver }

    /// Lets all happen that falls due within the duration.
    func run(for duration: Duration) {
        let end = clock.now + duration
        while executor.runOne() || (clock.nextWake.map { $0 <= end } ?? false) && clock.advanceToNextSleeper() {}
        clock.advance(to: end)
    }

    func runUntilSettled(secondsMax: Int = 3_600) {
        for _ in 0..<secondsMax where store.contents.pushes.values.contains(where: { $0.settledAt == nil }) {
            run(for: .seconds(1))
        }
        #expect(store.contents.pushes.values.allSatisfy { $0.settledAt != nil })
        #expect(store.violations().isEmpty)
    }
}
