import BelfryCore
import Synchronization

/// One death watch for each platform that had a page lately.
final class DeathWatches: Sendable {
    private let prototype: DeathWatch
    private let watches = Mutex<[Key<Platform>: DeathWatch]>([:])

    init(prototype: DeathWatch) { self.prototype = prototype }

    /// The settlement, or past the limit of deaths the same with its devices spared and its platform parked.
    func observe(_ settlement: Settlement, on platform: Platform, at now: Instant) -> Settlement {
        guard !settlement.counts.isEmpty, !platform.kind.hasFleetingTokens else { return settlement }
        let words = watches.withLock { watches in
            watches[settlement.page.platformKey, default: prototype].observe(settlement)
        }
        guard let words else { return settlement }
        return settlement.sparing(Settlement.Halt(Parking(cause: .deaths, detail: words, since: now), of: platform))
    }
}
