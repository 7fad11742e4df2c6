package import BelfryService
package import FoundationEssentials
import NIOPosix
import Synchronization

/// The credentials of a platform for one provider: read from entered fields, stored sealed, and made into a provider.
package protocol PlatformCredentials: Sendable, Hashable, Codable {
    /// The names of all the fields that can be entered.
    static var fields: [String] { get }
    /// The providers that may deliver with them.
    static var families: [ProviderFamily] { get }
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

/// A provider whose `test` is a message to a device that does not exist, so that a refusal proves what others get, and any other answer
/// too unless only acceptance proves the credentials.
protocol MessageTestedProvider: DrainableProvider {}

extension MessageTestedProvider {
    package func refusesCredentials() async -> Bool? {
        switch await test() {
        case .works: isProvenByAcceptanceAlone ? nil : false
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

/// The families of providers, by the names in the operator's proxy settings.
package enum ProviderFamily: String, Sendable, Hashable, CaseIterable {
    case apns, fcm, gcm, hms, webpush, wns, mpns, adm, pap, webhook
}

// The only list of the types of platform with their providers.

extension PlatformKind {
    /// The type of its platforms' credentials, and so the provider; nil for a type that no provider here delivers to.
    package var provider: (any PlatformCredentials.Type)? {
        switch self {
        case .apple: APNsPlatformCredentials.self
        case .android: AndroidPlatformCredentials.self
        case .androidFCM, .iosFCM, .webFCM, .fcmTopic: FCMPlatformCredentials.self
        case .androidBaidu: nil
        case .windows8: WNSPlatformCredentials.self
        case .windowsPhone: MPNSPlatformCredentials.self
        case .bb10: PAPPlatformCredentials.self
        case .web: WebPushPlatformCredentials.self
        case .huawei: HMSPlatformCredentials.self
        case .amazon: ADMPlatformCredentials.self
        case .webhook: WebhookPlatformCredentials.self
        }
    }

    /// The families of providers that may deliver to platforms of this type.
    var families: [ProviderFamily] { provider?.families ?? [] }

    /// Why nothing can be sent to a platform of this type.
    var absence: String { "this version has no provider for \(rawValue)" }
}

/// Opens credentials on threads of its own. A p12 file says itself how much work its keys are, at most a second of a core, which would
/// block an event loop.
struct CredentialOpener: Sendable {
    /// Opens credentials that are being entered. Each caller, each tenant and all together have a share.
    static let entered = CredentialOpener()
    /// Opens stored credentials, so that delivery never waits for those being entered.
    static let stored = CredentialOpener()

    private let threads: NIOThreadPool
    private let counts = Counts()

    private final class Counts: Sendable {
        let shares = Mutex(ShareCounts())
    }

    init() {
        threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
    }

    func open<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await threads.runIfActive(work)
    }

    /// Throws `ShareExceeded` when the holder has as many waiting as its share allows.
    func open<Value: Sendable>(
        for holder: ShareHolder, under limit: ShareLimit, _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let excess = counts.shares.withLock { $0.take(1, of: .credentials, for: holder, under: limit) }
        if let excess { throw ShareExceeded(share: .credentials, excess: excess, limit: limit) }
        defer { counts.shares.withLock { $0.giveBack(1, of: .credentials, for: holder, under: limit) } }
        return try await open(work)
    }
}

/// `https://host` or `https://host:port`.
struct Origin {
    let host: String
    let port: Int

    init(_ text: String, field: String) throws(InvalidInput) {
        guard let url = URL(string: text), url.scheme == "https", let host = url.host(), url.path().count <= 1,
            url.query() == nil, 1...65_535 ~= url.port ?? 443
        else {
            throw InvalidInput(field: field, "is `\(text.quotable)`, it has to be https://host or https://host:port")
        }
        self.host = host
        port = url.port ?? 443
    }

    /// The URL, without a slash at its end.
    var text: String { port == 443 ? "https://\(host)" : "https://\(host):\(port)" }
}
