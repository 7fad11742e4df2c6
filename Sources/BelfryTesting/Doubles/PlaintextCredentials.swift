package import BelfryCore
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
        by author: CredentialsAuthor
    ) throws -> Sealed {
        guard let topic = entered["topic"]?.stringValue else {
            throw InvalidInput(field: "credentials.topic", "is missing")
        }
        guard author == .operator || entered["endpoint"] == nil else {
            throw InvalidInput(field: "credentials.endpoint", "is for the operator")
        }
        return try vault.seal(Array(topic.utf8), for: VaultPurpose.credentials(of: platform))
    }

    package func parking(of kind: PlatformKind) -> Parking? { nil }

    package func test(_ platform: Platform, devices: [DeviceToken]) async -> CredentialsTest { .works }

    package var channels: any BroadcastChannels { registry }

    package func expiry(of platform: Platform) throws -> Instant? { end }

    package func published(of platform: Platform) throws -> [String: String] { [:] }
}
