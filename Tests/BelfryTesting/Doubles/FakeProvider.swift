package import BelfryService
import Synchronization

/// A provider that answers by a plan and records the devices it notified. Without a plan it accepts everything at once.
package final class FakeProvider: Provider {
    /// How a batch is sent: a number of devices at a time, with a wait before each burst.
    package struct Pace: Sendable {
        package let burst: Int
        package let delay: Duration

        package init(burst: Int = .max, delay: Duration = .zero) {
            self.burst = burst
            self.delay = delay
        }
    }

    /// The answer for a device at an attempt, counted from 0, and whether the device is notified.
    package typealias Answering =
        @Sendable (
            _ push: Key<Push>, _ device: Key<Device>, _ attempt: Int, _ now: Instant
        ) -> (outcome: Outcome, isTold: Bool)

    package let ledger: Ledger
    private let answer: Answering
    private let pace: Pace
    private let clock: any WallClock
    private let lifetime: ProcessLifetime
    private let roomNow: @Sendable () -> Int
    private let serviceOf: @Sendable (DeviceToken) -> String?
    private let refuses: @Sendable () -> Bool?

    package convenience init(
        plan: OutcomePlan = OutcomePlan(), ledger: Ledger = Ledger(), clock: any WallClock, pace: Pace = Pace()
    ) {
        self.init(ledger: ledger, clock: clock, pace: pace) { push, device, attempt, now in
            plan.outcome(of: push, to: device, attempt: attempt, now: now)
        }
    }

    package init(
        ledger: Ledger, clock: any WallClock, pace: Pace = Pace(), lifetime: ProcessLifetime = ProcessLifetime(),
        room: @escaping @Sendable () -> Int = { 10_000 },
        service: @escaping @Sendable (DeviceToken) -> String? = { _ in nil },
        refuses: @escaping @Sendable () -> Bool? = { nil }, answer: @escaping Answering
    ) {
        self.answer = answer
        self.ledger = ledger
        self.clock = clock
        self.pace = pace
        self.lifetime = lifetime
        roomNow = room
        serviceOf = service
        self.refuses = refuses
    }

    package var room: Int { roomNow() }

    package func service(of token: DeviceToken) -> String? { serviceOf(token) }

    package func refusesCredentials() async -> Bool? { refuses() }

    package func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        var outcomes: [Outcome] = []
        for start in stride(from: 0, to: recipients.count, by: min(pace.burst, max(recipients.count, 1))) {
            do {
                try await clock.sleep(for: pace.delay)
            } catch {
                break
            }
            let burst = recipients[start..<min(start + min(pace.burst, recipients.count), recipients.count)]
            outcomes += burst.map { tell(push.key, $0.device) }
        }
        let untold = recipients.count - outcomes.count
        return outcomes + Array(repeating: .failed(retryAfter: nil), count: untold)
    }

    private func tell(_ push: Key<Push>, _ device: Key<Device>) -> Outcome {
        guard !lifetime.isOver else { return .unanswered }
        let now = clock.now
        let (outcome, isTold) = answer(push, device, ledger.attempts(of: push, to: device), now)
        ledger.write(outcome, isTold: isTold, push: push, device: device, at: now)
        return outcome
    }
}

/// Returns one fake provider for each platform, and another when its credentials change.
package final class FakeProviders: ProviderDirectory {
    private let objection: @Sendable (Platform) -> String?
    private let make: @Sendable (Platform) -> any Provider
    private let made = Mutex<[Key<Platform>: (version: Int64, provider: any Provider)]>([:])

    /// - Parameter objection: why the platform's credentials cannot be used; nil while they can.
    package init(
        objection: @escaping @Sendable (Platform) -> String? = { _ in nil },
        make: @escaping @Sendable (Platform) -> any Provider
    ) {
        self.objection = objection
        self.make = make
    }

    package func provider(for platform: Platform) async throws -> any Provider {
        if let words = objection(platform) { throw ProviderError.credentials(words) }
        return made.withLock { made in
            if let kept = made[platform.key], kept.version == platform.credentialsVersion { return kept.provider }
            let provider = make(platform)
            made[platform.key] = (platform.credentialsVersion, provider)
            return provider
        }
    }

    /// In the order of the platforms, so that a random room is repeatable.
    package func room() -> [Key<Platform>: Int] {
        let providers = made.withLock { $0 }.sorted { $0.key < $1.key }
        return Dictionary(uniqueKeysWithValues: providers.map { ($0.key, $0.value.provider.room) })
    }
}

/// A record, unaffected by crashes, of the devices that were notified and their provider's answers.
package final class Ledger: Sendable {
    package struct Entry: Sendable {
        /// Every answer of the provider, in order.
        package var outcomes: [Outcome] = []
        /// The time of each answer.
        package var times: [Instant] = []
        /// How often the device was notified.
        package var told = 0

        /// Whether the provider was asked again before a time that it had named.
        var isHurried: Bool {
            outcomes.indices.dropLast().contains { times[$0 + 1] < times[$0] + outcomes[$0].wait }
        }

        /// The longest that the provider asked for.
        var longestWait: Duration { outcomes.map(\.wait).max() ?? .zero }
    }

    private struct Line: Hashable {
        let push: Key<Push>
        let device: Key<Device>
    }

    private struct State {
        var entries: [Line: Entry] = [:]
        var order: [Key<Push>] = []
    }

    private let state = Mutex(State())

    package init() {}

    package subscript(push: Key<Push>, device: Key<Device>) -> Entry {
        state.withLock { $0.entries[Line(push: push, device: device)] ?? Entry() }
    }

    /// The push of each notification, in order.
    package var order: [Key<Push>] { state.withLock { $0.order } }

    /// All answers of the provider.
    package var totalAttempts: Int { state.withLock { $0.entries.values.reduce(0) { $0 + $1.outcomes.count } } }

    func attempts(of push: Key<Push>, to device: Key<Device>) -> Int { self[push, device].outcomes.count }

    func write(_ outcome: Outcome, isTold: Bool, push: Key<Push>, device: Key<Device>, at now: Instant) {
        state.withLock { state in
            let line = Line(push: push, device: device)
            state.entries[line, default: Entry()].outcomes.append(outcome)
            state.entries[line, default: Entry()].times.append(now)
            guard isTold else { return }
            state.entries[line, default: Entry()].told += 1
            state.order.append(push)
        }
    }
}

extension Outcome {
    fileprivate var wait: Duration {
        switch self {
        case .throttled(let wait?, _), .failed(let wait?, _): wait
        default: .zero
        }
    }
}
