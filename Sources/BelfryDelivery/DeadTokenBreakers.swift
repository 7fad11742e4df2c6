import BelfryService
import Synchronization

/// One dead-token breaker for each platform that had a batch lately.
final class DeadTokenBreakers: Sendable {
    private let prototype: DeadTokenBreaker
    private let breakers = Mutex<[Key<Platform>: DeadTokenBreaker]>([:])

    init(prototype: DeadTokenBreaker) { self.prototype = prototype }

    /// Returns the settlement, or one that parks the platform instead of deactivating devices.
    func observe(_ settlement: Settlement, on platform: Platform, at now: Instant) -> Settlement {
        guard !settlement.counts.isEmpty, !platform.kind.hasFleetingTokens else { return settlement }
        let words = breakers.withLock { breakers in
            breakers[settlement.batch.platformKey, default: prototype].observe(settlement)
        }
        guard let words else { return settlement }
        return settlement.parking(
            Settlement.ParkRequest(Parking(cause: .deadTokens, detail: words, since: now), of: platform))
    }
}
