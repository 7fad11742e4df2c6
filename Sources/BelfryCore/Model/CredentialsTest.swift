/// What a provider says of a platform's credentials, when asked without telling any device anything.
package enum CredentialsTest: Sendable, Hashable {
    /// It takes them.
    case works
    /// It does not, in words for a person.
    case refused(String)
    /// It could not be asked, or would not say.
    case unknown(String)

    /// From what came of a message that no device gets.
    package init(_ outcome: Outcome?) {
        self =
            switch outcome {
            case .accepted, .moved, .refused, .gone: .works
            case .credentialsRefused(let words): .refused(words)
            case .throttled: .unknown("the provider asks for patience")
            case .failed: .unknown("the provider is in trouble, or was not asked in time")
            case .unreachable(let fault): .unknown("the provider cannot be reached: \(fault)")
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
