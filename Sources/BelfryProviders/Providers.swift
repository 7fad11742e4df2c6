package import BelfryCore
package import Logging
package import NIOCore
import Synchronization

/// Keeps one provider for each platform, and replaces it when the platform's credentials change.
///
/// The old one is drained while the new one already works, so that a change of credentials costs nobody anything.
package final class Providers: ProviderDirectory {
    private struct Entry {
        let version: Int64
        let provider: any DrainableProvider
    }

    private let entries = Mutex<[Key<Platform>: Entry]>([:])
    private let vault: any Vault
    private let clock: any WallClock
    private let apns: APNsOptions
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger

    package init(
        vault: any Vault, clock: any WallClock, apns: APNsOptions, eventLoopGroup: any EventLoopGroup, logger: Logger
    ) {
        self.vault = vault
        self.clock = clock
        self.apns = apns
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
    }

    package func provider(for platform: Platform) async throws -> any Provider {
        let (entry, replaced) = try entries.withLock { entries in
            let known = entries[platform.key]
            if let known, known.version == platform.credentialsVersion { return (known, (any DrainableProvider)?.none) }
            let entry = Entry(version: platform.credentialsVersion, provider: try make(platform))
            entries[platform.key] = entry
            return (entry, known?.provider)
        }
        await replaced?.retire()
        return entry.provider
    }

    package func room() -> [Key<Platform>: Int] {
        entries.withLock { $0.mapValues(\.provider.room) }
    }

    /// Closes every connection once what is in the air has been answered, within `deadline`.
    package func shutdown(within deadline: Duration) async {
        let providers = entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.map(\.provider)
        }
        await withDiscardingTaskGroup { group in
            for provider in providers { group.addTask { await provider.shutdown(within: deadline) } }
        }
    }

    /// Why a platform of this kind is parked from the start: nobody here delivers to it. nil for a kind that is served.
    package static func parking(of kind: PlatformKind, since now: Instant) -> Parking? {
        kind == .ios ? nil : Parking(cause: .credentials, detail: absence(of: kind), since: now)
    }

    private static func absence(of kind: PlatformKind) -> String { "this version has no provider for \(kind.rawValue)" }

    /// The one place where the kinds of platform are listed with their providers.
    private func make(_ platform: Platform) throws -> any DrainableProvider {
        switch platform.kind {
        case .ios:
            try APNsProvider(
                platform, vault: vault, options: apns, now: clock.now, eventLoopGroup: eventLoopGroup, logger: logger)
        case .android, .androidFCM, .androidBaidu, .windows8, .windowsPhone, .bb10:
            throw ProviderError.credentials(Self.absence(of: platform.kind))
        }
    }
}

/// A provider that can be replaced while it works.
protocol DrainableProvider: Provider {
    /// Closes the connections once idle; what is in the air is answered first.
    func retire() async
    func shutdown(within deadline: Duration) async
}
