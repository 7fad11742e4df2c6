import AsyncHTTPClient
package import BelfryCore
package import Logging
package import NIOCore
import Outbound
import Tunnel

/// The routes out of this process: directly, and through each proxy that is configured.
///
/// Each way has its HTTP clients, shared by all platforms; for HTTP/2 by the batch it hands out the tunnel. What
/// opened the routes closes them.
package struct OutboundRoutes: Sendable {
    private struct ProxiedRoute: Sendable {
        let tunnel: Tunnel
        let relay: Relay
        let client: HTTPClient
    }

    private let plan: ProxyPlan
    private let watch: ProxyWatch
    private let addresses: AddressGuard
    /// Of the guarded client.
    private let hosts: HostPolicy
    private let direct: HTTPClient
    private let guarded: HTTPClient
    private let proxiedRoutes: [Proxy: ProxiedRoute]

    /// - Throws: when a relay cannot listen on the loopback.
    package static func open(
        _ options: ProviderOptions, clock: any WallClock, on group: any EventLoopGroup, logger: Logger
    ) async throws -> OutboundRoutes {
        let watch = ProxyWatch(clock: clock, logger: logger)
        var relays: [Proxy: (Tunnel, Relay)] = [:]
        for (proxy, families) in options.proxies.users {
            let names = families.map(\.rawValue).joined(separator: ", ")
            logger.info(
                "providers are reached through a proxy", metadata: ["proxy": "\(proxy)", "providers": "\(names)"])
            let tunnel = watch.tunnel(through: proxy)
            relays[proxy] = (tunnel, try await Relay.start(tunnel, on: group))
        }
        let addresses = AddressGuard(allowed: options.posting.allowed)
        return OutboundRoutes(
            plan: options.proxies, watch: watch, addresses: addresses, hosts: HostPolicy(addresses),
            direct: HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration),
            guarded: HTTPClient(
                eventLoopGroupProvider: .shared(group), configuration: guardedConfiguration(options)),
            proxiedRoutes: relays.mapValues { tunnel, relay in
                ProxiedRoute(
                    tunnel: tunnel, relay: relay,
                    client: HTTPClient(
                        eventLoopGroupProvider: .shared(group), configuration: proxiedConfiguration(options, relay)))
            })
    }

    package func close() async throws {
        try await direct.shutdown()
        try await guarded.shutdown()
        for proxiedRoute in proxiedRoutes.values {
            try await proxiedRoute.client.shutdown()
            await proxiedRoute.relay.close()
        }
    }

    // MARK: What providers are made with

    /// For addresses that the provider or the operator names.
    func trusted(for family: ProviderFamily) -> Outbound { Outbound(http(for: family)) }

    /// Of all families that go the same way it is the same.
    func http(for family: ProviderFamily) -> HTTPClient { proxiedRoute(family)?.client ?? direct }

    /// For addresses that devices and tenants name: speaks to public ones only, and to those that the operator allows. Through
    /// a proxy it can judge names alone.
    func guarded(for family: ProviderFamily) -> Outbound {
        proxiedRoute(family).map { Outbound($0.client, judgingNamesBy: addresses) } ?? Outbound(guarded, hostsBy: hosts)
    }

    /// nil for those that are reached directly.
    func tunnel(for family: ProviderFamily) -> Tunnel? { proxiedRoute(family)?.tunnel }

    /// Why a provider could not be reached, if its proxy let nothing through since then.
    func trouble(of families: [ProviderFamily], since: Instant) -> String? {
        families.lazy.compactMap { plan[$0] }.compactMap { watch.trouble(with: $0, since: since)?.reason }.first
    }

    private func proxiedRoute(_ family: ProviderFamily) -> ProxiedRoute? { plan[family].flatMap { proxiedRoutes[$0] } }

    // MARK: How the clients are configured

    private static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(10)
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// It speaks to many hosts, some of them slow.
    private static func guardedConfiguration(_ options: ProviderOptions) -> HTTPClient.Configuration {
        var configuration = configuration
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = options.posting.width
        AddressGuard(allowed: options.posting.allowed).stand(before: &configuration)
        return configuration
    }

    /// The relay speaks to the proxy: the client itself knows no password for SOCKS, and calls some failures of a proxy by the
    /// same names as failures behind it.
    private static func proxiedConfiguration(_ options: ProviderOptions, _ relay: Relay) -> HTTPClient.Configuration {
        var configuration = configuration
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = options.posting.width
        configuration.proxy = .server(
            host: relay.host, port: relay.port,
            authorization: .basic(username: relay.user, password: relay.password))
        return configuration
    }
}
