import BelfryService
import Synchronization

/// The types of platform whose heartbeats have stopped, so that each outage is reported once.
final class MissingHeartbeats: Sendable {
    private let kinds = Mutex<Set<PlatformKind>>([])

    /// Records the state, and returns whether it has changed.
    func changes(_ kind: PlatformKind, to isMissing: Bool) -> Bool {
        kinds.withLock { isMissing ? $0.insert(kind).inserted : $0.remove(kind) != nil }
    }
}
