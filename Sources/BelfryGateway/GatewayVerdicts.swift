package import BelfryService
import FoundationEssentials
import Synchronization

/// Tells senders that are still connected what APNs refused of their records.
///
/// It receives the settlements of this process only. A verdict that another node receives, or that comes after the connection ended,
/// is not reported here; dead tokens reach the feedback service in any case.
package final class GatewayVerdicts: PushObserver {
    private let next: any PushObserver
    private let watched = Mutex<[UUID: @Sendable (GatewayVerdict) -> Void]>([:])

    /// Pushes that are watched at a time; those beyond are accepted and not watched.
    package static let watchedMax = 100_000

    /// - Parameter next: gets all hints too.
    package init(next: any PushObserver) { self.next = next }

    package func accepted(_ push: PushHead) { next.accepted(push) }

    package func pushMayHaveChanged(_ push: PushHead) { next.pushMayHaveChanged(push) }

    package func settled(_ push: PushHead, _ settlement: Settlement) {
        next.settled(push, settlement)
        guard settlement.retryAt == nil, let tell = watched.withLock({ $0.removeValue(forKey: push.receiptID) })
        else { return }
        tell(GatewayVerdict(settlement))
    }

    /// Watched before it is accepted, since its verdict may come before the acceptance is known.
    func watch(_ receiptID: UUID, tell: @escaping @Sendable (GatewayVerdict) -> Void) {
        watched.withLock { watched in
            if watched.count < Self.watchedMax { watched[receiptID] = tell }
        }
    }

    func forget(_ receiptID: UUID) { watched.withLock { $0[receiptID] = nil } }
}

/// The verdict on the one device of a push.
enum GatewayVerdict: Sendable, Hashable {
    case accepted
    /// The token is dead, since a time if the provider named one.
    case gone(since: Instant?)
    case refused(Refusal)
    /// It expired, or nobody knows.
    case other

    init(_ settlement: Settlement) {
        self =
            switch settlement.answers.first {
            case .accepted: .accepted
            case .gone: .gone(since: settlement.deadTokens.first?.since)
            case .refused(let refusal): .refused(refusal)
            default: .other
            }
    }
}

extension GatewayStatus {
    /// Source: docs/compatibility/genero.md, "What the gateway answers".
    init(_ refusal: Refusal) {
        self =
            switch refusal {
            case .badToken, .tokenOfAnotherApplication: .invalidToken
            case .missingToken: .missingToken
            case .payloadEmpty: .missingPayload
            case .payloadTooLarge: .invalidPayloadSize
            default: .processingError
            }
    }
}
