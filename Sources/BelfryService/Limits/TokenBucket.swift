/// A sustained rate per second and a burst size.
package struct RateLimit: Sendable, Hashable {
    package let perSecond: Int64
    package let burst: Int64

    /// Both are 1...1,000,000.
    package init(perSecond: Int, burst: Int) {
        precondition(1...1_000_000 ~= perSecond && 1...1_000_000 ~= burst, "a rate limit is in 1...1,000,000")
        self.perSecond = Int64(perSecond)
        self.burst = Int64(burst)
    }
}

/// The rest of a caller's limit.
///
/// Exact: counted in thousandths of a request. A millisecond adds as many thousandths as a second adds requests.
package struct TokenBucket: Sendable, Hashable {
    private var thousandths: Int64
    private var filledAt: Instant

    /// A full bucket, for a caller that was not seen for a while.
    package init(_ limit: RateLimit, at now: Instant) {
        thousandths = limit.burst * 1_000
        filledAt = now
    }

    /// Takes one request out; or returns the time to wait for it, and takes nothing.
    package mutating func take(under limit: RateLimit, at now: Instant) -> Duration? {
        fill(limit, now)
        guard thousandths >= 1_000 else {
            let missing = 1_000 - thousandths
            return .milliseconds((missing + limit.perSecond - 1) / limit.perSecond)
        }
        thousandths -= 1_000
        return nil
    }

    /// Puts a request back that was taken.
    package mutating func putBack(under limit: RateLimit) {
        thousandths = min(limit.burst * 1_000, thousandths + 1_000)
    }

    /// A clock that was set back adds nothing and removes nothing.
    private mutating func fill(_ limit: RateLimit, _ now: Instant) {
        let full = limit.burst * 1_000
        let elapsed = min(max(0, (now - filledAt).milliseconds), full / limit.perSecond + 1)
        thousandths = min(full, thousandths + elapsed * limit.perSecond)
        filledAt = now
    }
}
