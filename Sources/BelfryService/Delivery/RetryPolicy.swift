/// Decides how long to wait before the next attempt, and when to stop. `Settlement` decides which outcomes are tried again.
package struct RetryPolicy: Sendable, Hashable {
    /// The first wait; each further one doubles.
    package let firstDelay: Duration
    package let longestDelay: Duration
    /// The time for which a push without an expiry of its own is tried.
    package let window: Duration

    package init(
        firstDelay: Duration = .seconds(2), longestDelay: Duration = .seconds(15 * 60),
        window: Duration = .seconds(24 * 3600)
    ) {
        self.firstDelay = firstDelay
        self.longestDelay = longestDelay
        self.window = window
    }

    /// The wait before attempt `attempt` + 1.
    ///
    /// - Parameters:
    ///   - asked: the provider's own figure; the wait is never shorter.
    ///   - jitter: a fraction in 0..<1, drawn by the caller; it adds at most a quarter of the wait.
    package func delay(after attempt: Int64, asked: Duration?, jitter: Double) -> Duration {
        let doublings = Int(min(max(attempt - 1, 0), 30))
        let growing = min(firstDelay * (1 << doublings), longestDelay)
        let wait = max(growing, asked ?? .zero)
        return wait + wait * (jitter / 4)
    }

    /// The time in which the devices of a throttled push are told.
    static let throttledWindow = Duration.seconds(7 * 86_400)

    /// The time after which no device of the push is notified.
    package func end(of push: Push) -> Instant {
        if let expiresAt = push.expiresAt { return expiresAt }
        let own = push.content.apple?.window ?? window
        return push.acceptedAt + (push.content.pacing.perMinute == nil ? own : max(own, Self.throttledWindow))
    }
}
