/// A push provider, with the credentials of one platform.
package protocol Provider: Sendable {
    /// The number of further devices it can usefully take now. Delivery workers claim no more than that.
    var room: Int { get }
    /// Sends the push to every recipient, and returns the outcomes in the same order. Never throws and never hangs:
    /// messages that cannot be sent within the provider's own deadline are `unanswered` or `failed`.
    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome]
    /// As `send(_:to:)`, for many pushes at once: the outcomes of each push in turn.
    func send(_ pushes: [(push: Push, recipients: [Recipient])]) async -> [[Outcome]]
    /// The push service that the device named, where devices name one; nil where one service serves all.
    func service(of token: DeviceToken) -> String?
    /// Whether only an accepted message proves the credentials: dead tokens and tests are answered before all of them are used.
    var isProvenByAcceptanceAlone: Bool { get }
    /// Whether the provider refuses the credentials, asked with a message that reaches no device; nil where such a question proves
    /// nothing, or was not answered.
    func refusesCredentials() async -> Bool?
}

extension Provider {
    package var isProvenByAcceptanceAlone: Bool { false }

    /// A provider that can put many pushes on a connection together does so itself.
    package func send(_ pushes: [(push: Push, recipients: [Recipient])]) async -> [[Outcome]] {
        await sendEach(pushes)
    }

    /// Sends each push by itself, all at the same time.
    package func sendEach(_ pushes: [(push: Push, recipients: [Recipient])]) async -> [[Outcome]] {
        if pushes.count == 1 { return [await send(pushes[0].push, to: pushes[0].recipients)] }
        return await withTaskGroup(of: (Int, [Outcome]).self) { group in
            for (index, part) in pushes.enumerated() {
                group.addTask { (index, await send(part.push, to: part.recipients)) }
            }
            var outcomes = [[Outcome]](repeating: [], count: pushes.count)
            for await (index, answered) in group { outcomes[index] = answered }
            return outcomes
        }
    }
}

/// Makes providers from platforms, and keeps one for each until its credentials change.
package protocol ProviderDirectory: Sendable {
    /// Throws `ProviderError.credentials` when the platform's credentials cannot be used.
    func provider(for platform: Platform) async throws -> any Provider
    /// The number of further devices that each provider made so far can take now.
    func room() -> [Key<Platform>: Int]
}

/// The reason why a provider could not be created.
package enum ProviderError: Error, Sendable, Hashable {
    /// The credentials cannot be used; a human-readable reason.
    case credentials(String)
}

extension ProviderError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .credentials(let words): words
        }
    }
}
