package import BelfryService
package import FoundationEssentials

/// Accepts the credentials of any platform that have a topic, and seals them in plain text. Only an operator may set an
/// endpoint.
package struct PlaintextCredentials: ProviderCredentials {
    private let vault: any Vault
    private let end: Instant?
    private let registry = FakeBroadcastChannels()

    /// - Parameter end: when all of them expire; nil for never.
    package init(vault: any Vault = PlaintextVault(), end: Instant? = nil) {
        self.vault = vault
        self.end = end
    }

    package func sealed(
        _ entered: [String: JSONValue], kind: PlatformKind, mode: Platform.Mode, platform: UUID,
        by author: CredentialsAuthor, for holder: ShareHolder
    ) async throws -> SealedCredentials {
        guard let topic = entered["topic"]?.stringValue else {
            throw InvalidInput(field: "credentials.topic", "is missing")
        }
        guard author == .operator || entered["endpoint"] == nil else {
            throw InvalidInput(field: "credentials.endpoint", "is for the operator")
        }
        return SealedCredentials(
            seal: try vault.seal(Array(topic.utf8), for: VaultPurpose.credentials(of: platform)),
            facts: CredentialFacts(expiresAt: end, published: [:]))
    }

    package func parking(of kind: PlatformKind) -> Parking? { nil }

    package func test(_ platform: Platform, devices: [DeviceToken]) async -> CredentialsTest { .works }

    package var channels: any BroadcastChannels { registry }

    package func examine(_ platform: Platform) async throws -> ExaminedCredentials {
        ExaminedCredentials(facts: CredentialFacts(expiresAt: end, published: [:]))
    }
}
