package import BelfryCore
package import FoundationEssentials

/// What a provider has to be told about a platform: read from what a person entered, kept sealed, made into a provider.
package protocol PlatformCredentials: Sendable, Hashable, Codable {
    /// From fields as a person enters them. Throws `InvalidInput` with the field and the reason.
    init(entered: [String: JSONValue]) throws(InvalidInput)
    /// The fields that make these credentials again.
    var entered: [String: JSONValue] { get }

    /// Throws `InvalidInput` when the provider could not be reached with these.
    func check(mode: Platform.Mode, now: Instant) throws(InvalidInput)
    /// Throws `InvalidInput` when these are not what a platform of the kind takes.
    func check(for kind: PlatformKind) throws(InvalidInput)
    /// The fields that name an address of their own, which is then spoken to wherever it leads.
    var unguardedAddresses: [String] { get }
    /// When the provider will take them no more, as far as they say.
    func expiry(now: Instant) -> Instant?
    /// The public part, by name: what an app needs, and by which a person knows the key again.
    func published() throws -> [String: String]
    /// Throws when they are not what `check` lets pass.
    func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws -> any DrainableProvider
}

extension PlatformCredentials {
    package func check(for kind: PlatformKind) throws(InvalidInput) {}

    package var unguardedAddresses: [String] { [] }

    package func expiry(now: Instant) -> Instant? { nil }

    package func published() throws -> [String: String] { [:] }

    package func sealed(by vault: any Vault, platform: UUID) throws -> Sealed {
        try vault.seal(Array(JSONEncoder().encode(self)), for: VaultPurpose.credentials(of: platform))
    }

    package init(opening platform: Platform, with vault: any Vault) throws {
        let bytes = try vault.open(platform.credentials, for: VaultPurpose.credentials(of: platform.uuid))
        self = try JSONDecoder().decode(Self.self, from: Data(bytes))
    }
}

/// A provider that can be tried, and replaced while it works.
package protocol DrainableProvider: Provider {
    /// Asks the provider whether it takes the credentials, in a way that reaches no device.
    func test() async -> CredentialsTest
    /// Connects to the hosts that devices name, where they do so, and sends them nothing that concerns a device; nil where devices
    /// name none, so that `test` has said all.
    func testConnection(to devices: [DeviceToken]) async -> CredentialsTest?
    /// Closes the connections once idle; what is in flight is answered first.
    func retire() async
    func shutdown(within deadline: Duration) async
}

extension DrainableProvider {
    package func testConnection(to devices: [DeviceToken]) async -> CredentialsTest? { nil }
}
