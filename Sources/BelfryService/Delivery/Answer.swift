/// The result for one device of a push, stored as one byte. Bytes above 127 mean pending with a retry time; see
/// `RetryTimes`.
package enum Answer: Sendable, Hashable {
    /// None yet.
    case pending
    case accepted
    /// The token was dead.
    case gone
    /// The push, or the time in which it is tried, ended before a provider accepted it.
    case expired
    /// Sent at most once, and no answer came.
    case unknown
    case skipped(Skip)
    case refused(Refusal)

    package init?(code: UInt8) {
        switch code {
        case 0: self = .pending
        case 1: self = .accepted
        case 2: self = .gone
        case 3: self = .expired
        case 4: self = .unknown
        default:
            if let skip = Skip(rawValue: code) {
                self = .skipped(skip)
            } else if let refusal = Refusal(rawValue: code) {
                self = .refused(refusal)
            } else {
                return nil
            }
        }
    }

    package var code: UInt8 {
        switch self {
        case .pending: 0
        case .accepted: 1
        case .gone: 2
        case .expired: 3
        case .unknown: 4
        case .skipped(let skip): skip.rawValue
        case .refused(let refusal): refusal.rawValue
        }
    }

    /// The word that receipts use, with the reason after a colon.
    package var name: String {
        switch self {
        case .pending: "pending"
        case .accepted: "accepted"
        case .gone: "gone"
        case .expired: "expired"
        case .unknown: "unknown"
        case .skipped(let skip): "skipped: \(skip)"
        case .refused(let refusal): "refused: \(refusal)"
        }
    }
}
