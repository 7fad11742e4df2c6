import BelfryService

extension Push {
    /// How long providers may store the push, in whole seconds from now; nil leaves it to them.
    func secondsToLive(at now: Instant, max: Int64) -> Int64? {
        expiresAt.map { min(Swift.max(0, ($0 - now).components.seconds), max) }
    }
}
