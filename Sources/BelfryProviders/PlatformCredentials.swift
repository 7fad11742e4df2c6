package import BelfryService
package import FoundationEssentials

/// The credentials of a platform for one provider: read from entered fields, stored sealed, and made into a provider.
package protocol PlatformCredentials: Sendable, Hashable, Codable {
    /// The names of all the fields that can be entered.
    static var fields: [String] { get }
    /// Reads entered fields. Throws `InvalidInput` with the field and the reason.
    init(entered: [String: JSONValue]) throws(InvalidInput)
    /// The fields of old credentials that stay when others are entered in their place.
    static func kept(beside entered: [String: JSONValue], of old: Self) -> [String: JSONValue]
    /// The fields that would make these credentials.
    var entered: [String: JSONValue] { get }

    /// These in the form that is stored: what a passphrase opens is opened here once, and never again.
    func opened() throws(InvalidInput) -> Self
    /// Throws `InvalidInput` when the provider could not be reached with these.
    func check(mode: Platform.Mode, now: Instant) throws(InvalidInput)
    /// Throws `InvalidInput` when these are not credentials for the type of platform.
    func check(for kind: PlatformKind) throws(InvalidInput)
    /// The fields that name an address of their own, which is then connected to even if it is private.
    var unguardedAddresses: [String] { get }
    /// When the provider will stop accepting them, as far as they say.
    func expiry(now: Instant) -> Instant?
    /// The public part, by name: what an app needs, and what identifies the key to an operator.
    func published() throws -> [String: String]
    /// Throws when they do not pass `check`.
    func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws -> any DrainableProvider
}

extension PlatformCredentials {
    package static func kept(beside entered: [String: JSONValue], of old: Self) -> [String: JSONValue] {
        old.settings(unlessIn: entered)
    }

    /// The fields kept of the platform's present credentials; none of those that cannot be opened.
    static func kept(
        beside entered: [String: JSONValue], on platform: Platform, with vault: any Vault
    ) -> [String: JSONValue] {
        (try? Self(opening: platform, with: vault)).map { kept(beside: entered, of: $0) } ?? [:]
    }

    /// The fields that are no secret and go with any, but for those that are named.
    func settings(unlessIn entered: [String: JSONValue]) -> [String: JSONValue] {
        self.entered.filter { CredentialSettings.names.contains($0.key) && entered[$0.key] == nil }
    }

    package func check(for kind: PlatformKind) throws(InvalidInput) {}

    package var unguardedAddresses: [String] { [] }

    package func expiry(now: Instant) -> Instant? { nil }

    package func opened() throws(InvalidInput) -> Self { self }

    func facts(now: Instant) -> CredentialFacts {
        var published = (try? published()) ?? [:]
        // Another endpoint than the provider's own is what explains most of what a platform does.
        published["endpoint"] = entered["endpoint"]?.stringValue
        return CredentialFacts(expiresAt: expiry(now: now), published: published)
    }

    package func published() throws -> [String: String] { [:] }

    package func sealed(by vault: any Vault, platform: UUID) throws -> Sealed {
        try vault.seal(Array(JSONEncoder().encode(self)), for: VaultPurpose.credentials(of: platform))
    }

    package init(opening platform: Platform, with vault: any Vault) throws {
        let bytes = try vault.open(platform.credentials, for: VaultPurpose.credentials(of: platform.uuid))
        self = try JSONDecoder().decode(Self.self, from: Data(bytes))
    }
}

/// The fields of credentials that stay when the credentials are replaced, unless they are named; empty takes one away.
///
/// A secret is not among them: one that stayed beside a new address would be sent to that address.
package enum CredentialSettings {
    package static let names: Set<String> = [
        "topic", "subject", "url", "content_provider_id", "domain", "endpoint", "channels_endpoint", "token_url",
        "trust_root",
    ]
}

/// A provider that can be tested, and replaced while it works.
package protocol DrainableProvider: Provider {
    /// Asks the provider whether it accepts the credentials, in a way that reaches no device.
    func test() async -> CredentialsTest
    /// Connects to the hosts that devices name, where they do so, and sends nothing that concerns a device; nil where
    /// devices name none, so that `test` is sufficient.
    func testConnection(to devices: [DeviceToken]) async -> CredentialsTest?
    /// Asks about tokens by messages that are only checked; nil where the provider takes none such.
    func validate(_ tokens: [DeviceToken]) async -> [Outcome]?
    /// Closes the connections once idle; what is in flight is answered first.
    func retire() async
    func shutdown(within deadline: Duration) async
}

/// A provider whose `test` is a message to a device that does not exist, so that its answer proves what others get.
protocol MessageTestedProvider: DrainableProvider {}

extension MessageTestedProvider {
    package func refusesCredentials() async -> Bool? {
        switch await test() {
        case .works: false
        case .refused: true
        case .unknown: nil
        }
    }
}

extension DrainableProvider {
    package func service(of token: DeviceToken) -> String? { nil }

    package func refusesCredentials() async -> Bool? { nil }

    package func testConnection(to devices: [DeviceToken]) async -> CredentialsTest? { nil }

    package func validate(_ tokens: [DeviceToken]) async -> [Outcome]? { nil }
}
