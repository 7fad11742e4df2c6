package import BelfryService
import DNS
package import Logging
package import NIOCore

/// The dependencies of providers, the same for all of a process.
package struct ProviderDependencies: Sendable {
    package let vault: any Vault
    package let clock: any WallClock
    package let options: ProviderOptions
    package let eventLoopGroup: any EventLoopGroup
    package let routes: OutboundRoutes
    package let logger: Logger
    package let fcmQuotas = FCMQuotas()
    /// The tenant of an application, if it is known.
    private let tenant: @Sendable (Key<Application>) async -> Key<Tenant>?

    package init(
        vault: any Vault, clock: any WallClock, options: ProviderOptions, eventLoopGroup: any EventLoopGroup,
        routes: OutboundRoutes, logger: Logger,
        tenant: @escaping @Sendable (Key<Application>) async -> Key<Tenant>? = { _ in nil }
    ) {
        self.tenant = tenant
        self.vault = vault
        self.clock = clock
        self.options = options
        self.eventLoopGroup = eventLoopGroup
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
