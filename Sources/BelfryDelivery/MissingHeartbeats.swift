import BelfryCore
import Synchronization

/// The types of platform whose heartbeats have stopped, so that each outage is told once.
final class MissingHeartbeats: Sendable {
    private let kinds = Mutex<Set<PlatformKind>>([])

    /// Notes how it is, and returns whether it was otherwise.
    func changes(_ kind: PlatformKind, to isMissing: Bool) -> Bool {
        kinds.withLock { isMissing ? $0.insert(kind).inserted : $0.remove(kind) != nil }
    }
}
