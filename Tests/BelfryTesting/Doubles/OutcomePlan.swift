package import BelfryService

/// A provider's outcome for each device at each attempt: a pure function of a seed.
package struct OutcomePlan: Sendable {
    /// The probability of each outcome; the rest is `accepted`.
    package struct Rates: Sendable {
        package var refused = 0.0
        package var gone = 0.0
        package var throttled = 0.0
        package var failed = 0.0
        package var unanswered = 0.0

        package init(
            refused: Double = 0, gone: Double = 0, throttled: Double = 0, failed: Double = 0, unanswered: Double = 0
        ) {
            self.refused = refused
            self.gone = gone
            self.throttled = throttled
            self.failed = failed
            self.unanswered = unanswered
        }
    }

    package let seed: UInt64
    package let rates: Rates
    /// The largest age of a verdict that the token is dead.
    package let sinceMax: Duration

    package init(seed: UInt64 = 0, rates: Rates = Rates(), sinceMax: Duration = .seconds(24 * 3600)) {
        self.seed = seed
        self.rates = rates
        self.sinceMax = sinceMax
    }

    /// - Parameter attempt: the number of earlier answers for the device.
    /// - Returns: the outcome, and whether the device was notified.
    package func outcome(
        of push: Key<Push>, to device: Key<Device>, attempt: Int, now: Instant
    ) -> (outcome: Outcome, isTold: Bool) {
        var random = SplitMix64(
            seeds: seed, UInt64(push.rawValue), UInt64(device.rawValue), UInt64(attempt))
        var draw = random.fraction()
        func falls(under rate: Double) -> Bool {
            draw -= rate
            return draw < 0
        }
        if falls(under: rates.refused) { return (.refused(random.pick(Refusal.allCases)), false) }
        if falls(under: rates.gone) { return (.gone(since: since(&random, now: now)), false) }
        if falls(under: rates.throttled) { return (.throttled(retryAfter: window(&random)), false) }
        if falls(under: rates.failed) { return (.failed(retryAfter: window(&random)), false) }
        if falls(under: rates.unanswered) { return (.unanswered, random.chance(0.5)) }
        return (.accepted, true)
    }

    private func since(_ random: inout SplitMix64, now: Instant) -> Instant? {
        guard random.chance(0.8) else { return nil }
        return Instant(milliseconds: now.milliseconds - Int64(random.fraction() * Double(sinceMax.milliseconds)))
    }

    private func window(_ random: inout SplitMix64) -> Duration? {
        guard random.chance(0.5) else { return nil }
        return random.duration(0...(random.chance(0.1) ? 1_000 : 20))
    }
}
