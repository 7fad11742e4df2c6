import BelfryService
import Synchronization

/// The doubts about credentials that a single voice refuses, of each platform and push service that had such lately.
final class CredentialsDoubts: Sendable {
    struct Place: Hashable {
        let platform: Key<Platform>
        /// nil for the platform as a whole.
        let service: String?
    }

    private let doubts = Mutex<[Place: CredentialsDoubt]>([:])
    /// More are not remembered: their devices are tried again, and no more.
    private static let placesMax = 1_024

    func concern(_ platform: Key<Platform>) -> Bool {
        doubts.withLock { doubts in !doubts.isEmpty && doubts.keys.contains { $0.platform == platform } }
    }

    func hear(_ voices: CredentialsVoices, at place: Place, isProbe: Bool) -> CredentialsDoubt.Verdict {
        doubts.withLock { doubts in
            var doubt = doubts[place] ?? CredentialsDoubt()
            let verdict = doubt.hear(voices, isProbe: isProbe)
            let isKept = doubt != CredentialsDoubt() && verdict.isOpen
            doubts[place] = isKept && (doubts[place] != nil || doubts.count < Self.placesMax) ? doubt : nil
            return verdict
        }
    }

    func forget(_ place: Place) { doubts.withLock { $0[place] = nil } }
}

extension CredentialsDoubt.Verdict {
    /// Whether later answers may add to it.
    fileprivate var isOpen: Bool {
        switch self {
        case .unheard, .doubtful, .unsure: true
        case .accepted, .refused: false
        }
    }
}
