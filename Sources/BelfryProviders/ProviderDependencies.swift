package import BelfryCore
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

    package init(
        vault: any Vault, clock: any WallClock, options: ProviderOptions, eventLoopGroup: any EventLoopGroup,
        routes: OutboundRoutes, logger: Logger
    ) {
        self.vault = vault
        self.clock = clock
        self.options = options
        self.eventLoopGroup = eventLoopGroup
        self.routes = routes
        self.logger = logger
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

    package init() {}

    /// The longest deadline of any provider for a batch.
    package var deadlineMax: Duration {
        [apns.deadline, fcm.deadline, gcm.deadline, hms.deadline, posting.deadline].max() ?? .zero
    }
}
