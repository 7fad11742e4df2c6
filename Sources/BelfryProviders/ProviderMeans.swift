package import AsyncHTTPClient
package import BelfryCore
package import Logging
package import NIOCore
package import Outbound

/// What providers are made with, the same for all of a process.
package struct ProviderMeans: Sendable {
    package let vault: any Vault
    package let clock: any WallClock
    package let options: ProviderOptions
    package let eventLoopGroup: any EventLoopGroup
    /// For those that do not speak HTTP/2 by the page. Follows no redirects; whoever made it shuts it down.
    package let http: HTTPClient
    /// For addresses that devices and tenants name: connects to public ones only, and to those that the operator allows.
    package let guarded: Outbound
    package let logger: Logger
    package let fcmQuotas = FCMQuotas()

    package init(
        vault: any Vault, clock: any WallClock, options: ProviderOptions, eventLoopGroup: any EventLoopGroup,
        http: HTTPClient, guarded: HTTPClient, logger: Logger
    ) {
        self.vault = vault
        self.clock = clock
        self.options = options
        self.eventLoopGroup = eventLoopGroup
        self.http = http
        self.guarded = Outbound(guarded)
        self.logger = logger
    }

    /// How the shared client is configured.
    package static var httpConfiguration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(10)
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// How the guarded client is configured. It speaks to many hosts, some of them slow.
    package static func guardedConfiguration(_ options: ProviderOptions) -> HTTPClient.Configuration {
        var configuration = httpConfiguration
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = options.posting.width
        AddressGuard(allowed: options.posting.allowed).stand(before: &configuration)
        return configuration
    }
}

/// What an operator may set about each provider.
package struct ProviderOptions: Sendable {
    package var apns = APNsOptions()
    package var posting = PostingOptions()
    package var fcm = FCMOptions()
    package var gcm = MulticastOptions()
    package var hms = MulticastOptions()

    package init() {}

    /// How long the slowest of them may take over a page.
    package var deadlineMax: Duration {
        [apns.deadline, fcm.deadline, gcm.deadline, hms.deadline, posting.deadline].max() ?? .zero
    }
}
