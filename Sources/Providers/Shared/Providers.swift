package import BelfryService
import DNS
package import Logging
package import NIOCore
import Synchronization

/// Keeps one provider for each platform, and replaces it when the platform's credentials change.
///
/// The old provider is drained while the new one already works, so that a change of credentials affects no push.
package final class Providers: ProviderDirectory {
    private struct Entry {
        let version: Int64
        let provider: any DrainableProvider
        let counted: CountedProvider
        var usedAt: Instant
    }

    /// Platforms that were deleted are asked for no more. Apple wants connections to be kept for hours.
    private static let idleMax = Duration.seconds(6 * 3_600)

    private let entries = Mutex<[Key<Platform>: Entry]>([:])
    private let dependencies: ProviderDependencies

    package init(dependencies: ProviderDependencies) { self.dependencies = dependencies }

    package func provider(for platform: Platform) async throws -> any Provider {
        let now = dependencies.clock.now
        let known = entries.withLock { entries -> Entry? in
            entries[platform.key]?.usedAt = now
            return entries[platform.key]
        }
        if let known, known.version >= platform.credentialsVersion { return known.counted }
        // Opening a seal and reading certificates takes milliseconds: no lock is held meanwhile, since workers of all
        // platforms would wait for it.
        let provider = try await Self.make(platform, with: dependencies)
        let made = Entry(
            version: platform.credentialsVersion, provider: provider,
            counted: CountedProvider(
                provider: provider, door: await dependencies.caller(.doors, platform),
                delivery: await dependencies.caller(.delivery, platform), clock: dependencies.clock), usedAt: now)
        let (kept, superfluous) = entries.withLock { entries -> (Entry, [any DrainableProvider]) in
            // Another worker was faster, or has newer credentials.
            if let known = entries[platform.key], known.version >= made.version { return (known, [made.provider]) }
            let old = entries.filter { $0.key == platform.key || now - $0.value.usedAt > Self.idleMax }
            for key in old.keys { entries[key] = nil }
            entries[platform.key] = made
            return (made, old.values.map(\.provider))
        }
        await withDiscardingTaskGroup { group in
            for provider in superfluous { group.addTask { await provider.retire() } }
        }
        return kept.counted
    }

    package func room() -> [Key<Platform>: Int] {
        entries.withLock { $0.mapValues(\.provider.room) }
    }

    /// Closes every connection once what is in flight has been answered, within `deadline`.
    package func shutdown(within deadline: Duration) async {
        let providers = entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.map(\.provider)
        }
        await withDiscardingTaskGroup { group in
            for provider in providers { group.addTask { await provider.shutdown(within: deadline) } }
        }
    }

    /// Credentials of an older version may have to be opened by their passphrase, which is work for another thread.
    ///
    /// Throws `ProviderError`, or `CancellationError` when the caller waits no longer.
    static func make(
        _ platform: Platform, with dependencies: ProviderDependencies
    ) async throws -> any DrainableProvider {
        guard let provider = platform.kind.provider else { throw ProviderError.credentials(platform.kind.absence) }
        do {
            return try await CredentialOpener.stored.open {
                try provider.init(opening: platform, with: dependencies.vault)
                    .makeProvider(for: platform, with: dependencies)
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ProviderError.credentials(
                "the credentials of platform \(platform.uuid.lowercased) cannot be used: \(error)")
        }
    }
}

/// Counts the look-ups of names during a send for the application and its tenant.
private struct CountedProvider: Provider {
    let provider: any DrainableProvider
    let door: NameCaller
    let delivery: NameCaller
    let clock: any WallClock

    var room: Int { provider.room }

    /// Sends for a caller that waits for the answer.
    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        await NameCaller.$current.withValue(door) { await provider.send(push, to: recipients) }
    }

    /// Sends for workers of the delivery.
    func send(_ pushes: [(push: Push, recipients: [Recipient])]) async -> [[Outcome]] {
        await NameCaller.$current.withValue(delivery) { await provider.send(pushes) }
    }

    func service(of token: DeviceToken) -> String? { provider.service(of: token) }

    var isProvenByAcceptanceAlone: Bool { provider.isProvenByAcceptanceAlone }

    /// nil where the provider says nothing in time: a burst is sent and not settled meanwhile, and its lease runs.
    func refusesCredentials() async -> Bool? {
        await clock.result(within: .seconds(5)) { [provider, delivery] in
            await NameCaller.$current.withValue(delivery) { await provider.refusesCredentials() }
        } ?? nil
    }
}

/// The dependencies of providers, the same for all of a process.
package struct ProviderDependencies: Sendable {
    package let vault: any Vault
    package let clock: any WallClock
    package let options: ProviderOptions
    package let eventLoopGroup: any EventLoopGroup
    /// The event loops of connections that broadcasts go on; nil for those of all others.
    package let broadcastLoops: (any EventLoopGroup)?
    package let routes: OutboundRoutes
    package let logger: Logger
    package let fcmQuotas = FCMQuotas()
    /// The tenant of an application, if it is known.
    private let tenant: @Sendable (Key<Application>) async -> Key<Tenant>?

    package init(
        vault: any Vault, clock: any WallClock, options: ProviderOptions, eventLoopGroup: any EventLoopGroup,
        broadcastLoops: (any EventLoopGroup)? = nil, routes: OutboundRoutes, logger: Logger,
        tenant: @escaping @Sendable (Key<Application>) async -> Key<Tenant>? = { _ in nil }
    ) {
        self.tenant = tenant
        self.vault = vault
        self.clock = clock
        self.options = options
        self.eventLoopGroup = eventLoopGroup
        self.broadcastLoops = broadcastLoops
        self.routes = routes
        self.logger = logger
    }

    /// The caller that look-ups for a platform are counted for.
    func caller(_ lane: NameCaller.Lane, _ platform: Platform) async -> NameCaller {
        let application = platform.applicationKey
        return NameCaller(lane, application: application.rawValue, tenant: await tenant(application)?.rawValue)
    }
}

/// The operator's options for each provider.
package struct ProviderOptions: Sendable {
    package var proxies = ProxyPlan()
    package var apns = APNsOptions()
    package var posting = PostingOptions()
    package var fcm = FCMOptions()
    package var gcm = MulticastOptions()
    package var hms = MulticastOptions()
    /// Whether Android apps find the receipt id in what they get through FCM or `gcm/send`.
    package var sendsAndroidReceiptID = true

    /// Asked for the addresses of names instead of the machine's name servers; none for those.
    package private(set) var nameServers: [String] = []

    package init() {}

    /// - Parameter onFault: called with each text that is no address with or without a port.
    package mutating func setNameServers(_ texts: [String], onFault: (String) -> Void) {
        nameServers = texts.filter { text in
            if !NameResolver.isServer(text) { onFault(text) }
            return NameResolver.isServer(text)
        }
    }

    /// The longest deadline of any provider for a batch.
    package var deadlineMax: Duration {
        [apns.deadline, fcm.deadline, gcm.deadline, hms.deadline, posting.deadline].max() ?? .zero
    }
}

/// The operator's options for a provider that takes many devices in one request.
package struct MulticastOptions: Sendable {
    /// How many devices may be in flight for one platform.
    package var devicesMax = 4_000
    /// How long one batch may take.
    package var deadline = Duration.seconds(30)

    package init() {}
}
