package import FoundationEssentials

/// Knows which credentials each type of platform needs; no other part of the server does.
package protocol ProviderCredentials: Sendable {
    /// Validates the credentials entered for a platform, opens and seals them. Throws `InvalidInput` with the field and
    /// the reason when they cannot be used, and `ShareExceeded` when the holder has too many opened at once.
    func sealed(
        _ entered: [String: JSONValue], kind: PlatformKind, mode: Platform.Mode, platform: UUID,
        by author: CredentialsAuthor, for holder: ShareHolder
    ) async throws -> SealedCredentials
    /// Validates the input for replacing a platform's credentials and seals it, together with the fields that were
    /// not entered. Throws as `sealed` does.
    func replacement(
        of platform: Platform, by entered: [String: JSONValue], of author: CredentialsAuthor, for holder: ShareHolder
    ) async throws -> CredentialsReplacement
    /// Examines stored credentials of an older version, once. Throws when the seal does not open.
    func examine(_ platform: Platform) async throws -> ExaminedCredentials
    /// The reason why a platform of this type is parked from the start: no provider here delivers to it, and it takes no
    /// credentials. nil for a type that is served.
    func parking(of kind: PlatformKind) -> Parking?
    /// Connects to the provider as a push does, and asks it whether it accepts the platform's credentials, in a way
    /// that reaches no device.
    ///
    /// - Parameter devices: tokens of some of the platform's devices, for providers whose hosts are named by devices.
    func test(_ platform: Platform, devices: [DeviceToken]) async -> CredentialsTest
    /// Asks the provider of each token whether a message to it would be taken, and sends none. nil where a provider cannot be asked so.
    func validate(_ tokens: [DeviceToken], of platform: Platform) async throws -> [Outcome]?
    /// The broadcast channels of platforms whose provider has them.
    var channels: any BroadcastChannels { get }
}

/// The author of credentials; decides whether they may name private addresses.
package enum CredentialsAuthor: Sendable, Hashable {
    case `operator`
    case tenant
}

/// Credentials as they are stored.
package struct SealedCredentials: Sendable, Hashable {
    package let seal: Sealed
    package let facts: CredentialFacts

    package init(seal: Sealed, facts: CredentialFacts) {
        self.seal = seal
        self.facts = facts
    }
}

/// The result of examining stored credentials.
package struct ExaminedCredentials: Sendable, Hashable {
    package let facts: CredentialFacts
    /// The credentials in a form that opens at no cost; nil where they have that form already.
    package let seal: Sealed?

    package init(facts: CredentialFacts, seal: Sealed? = nil) {
        self.facts = facts
        self.seal = seal
    }
}

/// New credentials for a platform.
package struct CredentialsReplacement: Sendable, Hashable {
    package let sealed: SealedCredentials
    /// The names of the fields that stayed as they were.
    package let kept: [String]

    package init(sealed: SealedCredentials, kept: [String]) {
        self.sealed = sealed
        self.kept = kept
    }
}

extension ProviderCredentials {
    package func replacement(
        of platform: Platform, by entered: [String: JSONValue], of author: CredentialsAuthor, for holder: ShareHolder
    ) async throws -> CredentialsReplacement {
        let sealed = try await sealed(
            entered, kind: platform.kind, mode: platform.mode, platform: platform.uuid, by: author, for: holder)
        return CredentialsReplacement(sealed: sealed, kept: [])
    }

    /// The facts that are shown of a platform's credentials. Credentials that an older version stored are examined once.
    package func facts(
        of platform: Platform, in store: any Store
    ) async throws -> CredentialFacts {
        if let facts = platform.facts { return facts }
        let examined = try await examine(platform)
        if let seal = examined.seal {
            let old = SealedSecret(kind: .credentials, name: platform.uuid.bytes, seal: platform.credentials)
            _ = try await store.reseal(old, as: seal)
        }
        try await store.note(examined.facts, of: platform.key, version: platform.credentialsVersion)
        return examined.facts
    }

    package func validate(_ tokens: [DeviceToken], of platform: Platform) async throws -> [Outcome]? { nil }

    package var channels: any BroadcastChannels { NoChannels() }
}

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
            case .failed(_, let said) where !said.text.isEmpty: .unknown("the provider was asked in vain: \(said.text)")
            case .failed: .unknown("the provider is in trouble, or was not asked in time")
            case .unreachable(let fault): .unknown("the provider cannot be reached: \(fault)")
            case .held(_, let words): .unknown(words)
            case .unanswered, .waiting, .skipped, nil: .unknown("the provider did not answer in time")
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
