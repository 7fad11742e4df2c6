/// When to try again, and when to stop.
package struct RetryPolicy: Sendable, Hashable {
    /// The first wait; each further one doubles.
    package let firstDelay: Duration
    package let longestDelay: Duration
    /// How long a push without an expiry of its own is tried for.
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
    ///   - asked: the provider's own figure; never undercut.
    ///   - jitter: a fraction in 0..<1, drawn by the caller; a quarter of the wait at most is added.
    package func delay(after attempt: Int64, asked: Duration?, jitter: Double) -> Duration {
        let doublings = Int(min(max(attempt - 1, 0), 30))
        let growing = min(firstDelay * (1 << doublings), longestDelay)
        let wait = max(growing, asked ?? .zero)
        return wait + wait * (jitter / 4)
    }

    /// The moment from which on a device of the push is not told any more.
    package func end(of push: Push) -> Instant {
        push.expiresAt ?? push.acceptedAt + (push.content.apple?.window ?? window)
    }
}
