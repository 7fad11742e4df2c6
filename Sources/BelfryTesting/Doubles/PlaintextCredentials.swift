package import BelfryCore
package import FoundationEssentials

/// Takes the credentials of any platform that have a topic, and seals them as they are. An endpoint is for the operator.
package struct PlaintextCredentials: ProviderCredentials {
    private let vault: any Vault
    private let end: Instant?
    private let book = FakeBroadcastChannels()

    /// - Parameter end: when they all end; nil for never.
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

    package var channels: any BroadcastChannels { book }

    package func expiry(of platform: Platform) throws -> Instant? { end }

    package func published(of platform: Platform) throws -> [String: String] { [:] }
}
