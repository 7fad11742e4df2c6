package import BelfryService
package import FoundationEssentials
import Synchronization

/// Stores broadcast channels in memory, for any platform.
package final class FakeBroadcastChannels: BroadcastChannels {
    private let registry = Mutex<[String: BroadcastChannel.Storage]>([:])

    package init() {}

    package func createChannel(
        _ storage: BroadcastChannel.Storage, on platform: Platform
    ) async throws(BroadcastChannelError) -> BroadcastChannel {
        registry.withLock { registry in
            let id = "channel/\(registry.count)+=="
            registry[id] = storage
            return BroadcastChannel(id: id, storage: storage)
        }
    }

    package func channel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) -> BroadcastChannel {
        guard let storage = registry.withLock({ $0[id] }) else { throw .unknown }
        return BroadcastChannel(id: id, storage: storage)
    }

    package func deleteChannel(_ id: String, on platform: Platform) async throws(BroadcastChannelError) {
        guard registry.withLock({ $0.removeValue(forKey: id) }) != nil else { throw .unknown }
    }

    package func channels(on platform: Platform) async throws(BroadcastChannelError) -> [String] {
        registry.withLock { $0.keys.sorted() }
    }
}

/// A server on SQLite that has some settings, and has written two lines.
package struct FakeServer: ServerInspector {
    package init() {}

    package let settings = [
        SettingReport(key: "database.url", value: "postgres://belfry:hunter2@db", source: .environment, isSecret: true),
        SettingReport(key: "http.host", value: "127.0.0.1", source: .default),
        SettingReport(key: "http.port", value: "8443", source: .environment),
    ]

    /// The second one holds what a browser must not take for markup.
    package let logLines = [
        LogLine(number: 1, at: .zero, level: .info, message: "serving", details: ["address": "127.0.0.1"]),
        LogLine(
            number: 2, at: .zero, level: .error, message: "platform is parked",
            details: ["name": "<img src=x onerror=alert(1)>\"'&{{x}}"]),
    ]

    package func database() async throws -> DatabaseReport {
        DatabaseReport(
            engine: .sqlite, size: DatabaseSize(bytes: 4_096, engineVersion: "3"), file: "/data/belfry.sqlite",
            keyRingFile: "/data/key-ring", freeBytes: nil, lastBackup: nil)
    }
}

/// Accepts the credentials of any platform that have a topic, and seals them in plain text. Only an operator may set an
/// endpoint.
package struct PlaintextCredentials: ProviderCredentials {
    private let vault: any Vault
    private let end: Instant?
    private let verdict: CredentialsTest
    private let registry = FakeBroadcastChannels()

    /// - Parameters:
    ///   - end: when all of them expire; nil for never.
    ///   - verdict: of the provider.
    package init(vault: any Vault = PlaintextVault(), end: Instant? = nil, verdict: CredentialsTest = .works) {
        (self.vault, self.verdict) = (vault, verdict)
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

    package func test(_ platform: Platform, devices: [DeviceToken]) async -> CredentialsTest { verdict }

    package var channels: any BroadcastChannels { registry }

    package func examine(_ platform: Platform) async throws -> ExaminedCredentials {
        ExaminedCredentials(facts: CredentialFacts(expiresAt: end, published: [:]))
    }
}
