/// A provider's verdict on a platform's credentials, obtained without notifying any device.
package enum CredentialsTest: Sendable, Hashable {
    /// The provider accepts them.
    case works
    /// The provider refuses them; a human-readable reason.
    case refused(String)
    /// The provider could not be asked, or gave no verdict; a human-readable reason.
    case unknown(String)

    /// The verdict that follows from the outcome of a message that reaches no device.
    package init(_ outcome: Outcome?) {
        self =
            switch outcome {
            case .accepted, .moved, .refused, .gone: .works
            case .credentialsRefused(let words, _, _): .refused(words)
            case .throttled: .unknown("the provider asks for patience")
            case .failed: .unknown("the provider is in trouble, or was not asked in time")
            case .unreachable(let fault): .unknown("the provider cannot be reached: \(fault)")
            case .held(_, let words): .unknown(words)
            case .unanswered, nil: .unknown("the provider did not answer in time")
            }
    }

    /// As the admin API and the command line spell it.
    package var name: String {
        switch self {
        case .works: "works"
        case .refused: "refused"
        case .unknown: "unknown"
        }
    }

    package var detail: String? {
        switch self {
        case .works: nil
        case .refused(let words), .unknown(let words): words
        }
    }
}
