/// A push provider, with the credentials of one platform.
package protocol Provider: Sendable {
    /// How many more devices it can usefully take now. Delivery workers claim no more than that.
    var room: Int { get }
    /// Tells every recipient, and answers for each in the same order. Never throws and never hangs: what cannot be
    /// told within the provider's own deadline is `unanswered` or `failed`.
    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome]
}

/// Makes providers from platforms, and keeps one for each until its credentials change.
package protocol ProviderDirectory: Sendable {
    /// Throws `ProviderError.credentials` when the platform's credentials cannot be used.
    func provider(for platform: Platform) async throws -> any Provider
    /// How many more devices each provider made so far can take now.
    func room() -> [Key<Platform>: Int]
}

package enum ProviderError: Error, Sendable, Hashable {
    /// The credentials cannot be used. The words are for a person.
    case credentials(String)
}

extension ProviderError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .credentials(let words): words
        }
    }
}
