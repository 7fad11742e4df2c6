package import BelfryService

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
