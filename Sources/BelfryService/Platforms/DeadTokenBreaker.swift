import Synchronization

/// Watches the share of devices that would be deactivated, so that a wrong setting cannot prune a whole platform.
///
/// A key of the wrong app makes every token look dead. Above the limit, the platform is parked until an operator
/// resumes it. The adapters of providers say which tokens are dead, and `Settlement` what follows.
package struct DeadTokenBreaker: Sendable, Hashable {
    /// The share of dead tokens, 0...1, above which the platform is parked.
    package let shareMax: Double
    /// With fewer answers than this the share proves nothing.
    package let answersMin: Int

    private var answers = 0
    private var deadTokens = 0

    package init(shareMax: Double = 0.2, answersMin: Int = 1_000) {
        self.shareMax = shareMax
        self.answersMin = answersMin
    }

    /// Counts a settlement, and returns a human-readable reason to park the platform when the share exceeds the limit.
    ///
    /// The counts are halved at four times `answersMin`, so that the share is that of the recent past.
    package mutating func observe(_ settlement: Settlement) -> String? {
        answers += settlement.counts.reduce(0) { $1.key == .skipped(.inactive) ? $0 : $0 + $1.value }
        deadTokens += settlement.deactivations
        guard answers >= answersMin else { return nil }
        let share = Double(deadTokens) / Double(answers)
        guard share <= shareMax else {
            let words =
                "\(deadTokens) of the last \(answers) devices were declared dead, the limit is \(Int(shareMax * 100)) %"
            (answers, deadTokens) = (0, 0)
            return words
        }
        if answers >= answersMin * 4 { (answers, deadTokens) = (answers / 2, deadTokens / 2) }
        return nil
    }
}

/// One dead-token breaker for each platform that had a batch lately, and each version of its credentials.
final class DeadTokenBreakers: Sendable {
    private struct Watch {
        let version: Int64
        var breaker: DeadTokenBreaker
        var trip: (at: Instant, words: String)?
    }

    private let prototype: DeadTokenBreaker
    private let watches = Mutex<[Key<Platform>: Watch]>([:])

    init(prototype: DeadTokenBreaker) { self.prototype = prototype }

    /// Returns the settlement, or one that parks the platform instead of deactivating devices. A batch that was under way when the
    /// breaker tripped is not counted: it parks as well.
    func observe(
        _ settlement: Settlement, on platform: Platform, claimedAt: Instant, at now: Instant
    ) -> Settlement {
        guard !settlement.counts.isEmpty, !platform.kind.hasFleetingTokens else { return settlement }
        let words = watches.withLock { watches -> String? in
            let version = platform.credentialsVersion
            var watch = watches[platform.key] ?? Watch(version: version, breaker: prototype)
            if watch.version < version { watch = Watch(version: version, breaker: prototype, trip: watch.trip) }
            if let trip = watch.trip, claimedAt <= trip.at { return trip.words }
            let words = watch.breaker.observe(settlement)
            if let words { watch.trip = (now, words) }
            watches[platform.key] = watch
            return words
        }
        guard let words else { return settlement }
        return settlement.parking(
            Settlement.ParkRequest(Parking(cause: .deadTokens, detail: words, since: now), of: platform))
    }
}
