import AsyncHTTPClient
package import BelfryCore
package import Logging
package import NIOCore
import Outbound
import Tunnel

/// The routes out of this process: direct, and through each configured proxy.
///
/// Each route has its HTTP clients, shared by all platforms; for HTTP/2 it provides a tunnel. The owner that opened the
/// routes closes them.
package struct OutboundRoutes: Sendable {
    private struct ProxiedRoute: Sendable {
        let tunnel: Tunnel
        let relay: Relay
        let client: HTTPClient
    }

    private let plan: ProxyPlan
    private let faultReporter: ProxyFaultReporter
    private let addresses: AddressGuard
    /// The policy of the guarded client.
    private let hosts: HostPolicy
    private let direct: HTTPClient
    private let guarded: HTTPClient
    private let proxiedRoutes: [Proxy: ProxiedRoute]

    /// - Throws: when a relay cannot listen on the loopback.
    package static func open(
        _ options: ProviderOptions, clock: any WallClock, on group: any EventLoopGroup, logger: Logger
    ) async throws -> OutboundRoutes {
        let faultReporter = ProxyFaultReporter(clock: clock, logger: logger)
        var relays: [Proxy: (Tunnel, Relay)] = [:]
        for (proxy, families) in options.proxies.users {
            let names = families.map(\.rawValue).joined(separator: ", ")
            logger.info(
                "providers are reached through a proxy", metadata: ["proxy": "\(proxy)", "providers": "\(names)"])
            let tunnel = faultReporter.tunnel(through: proxy)
            relays[proxy] = (tunnel, try await Relay.start(tunnel, on: group))
        }
        let addresses = AddressGuard(allowed: options.posting.allowed)
        return OutboundRoutes(
            plan: options.proxies, faultReporter: faultReporter, addresses: addresses, hosts: HostPolicy(addresses),
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

    // MARK: Parts for providers

    /// For addresses that the provider or the operator names.
    func trusted(for family: ProviderFamily) -> Outbound { Outbound(http(for: family)) }

    /// The same for all families that use the same route.
    func http(for family: ProviderFamily) -> HTTPClient { proxiedRoute(family)?.client ?? direct }

    /// For addresses that devices and tenants name: connects only to public ones, and to those that the operator
    /// allows. Through a proxy it can check only names.
    func guarded(for family: ProviderFamily) -> Outbound {
        proxiedRoute(family).map { Outbound($0.client, judgingNamesBy: addresses) } ?? Outbound(guarded, hostsBy: hosts)
    }

    /// nil for families that are reached directly.
    func tunnel(for family: ProviderFamily) -> Tunnel? { proxiedRoute(family)?.tunnel }

    /// Why a provider could not be reached, if its proxy has failed since then.
    func trouble(of families: [ProviderFamily], since: Instant) -> String? {
        families.lazy.compactMap { plan[$0] }.compactMap { faultReporter.trouble(with: $0, since: since)?.reason }.first
    }

    private func proxiedRoute(_ family: ProviderFamily) -> ProxiedRoute? { plan[family].flatMap { proxiedRoutes[$0] } }

    // MARK: How the clients are configured

    private static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(10)
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// It connects to many hosts, some of them slow.
    private static func guardedConfiguration(_ options: ProviderOptions) -> HTTPClient.Configuration {
        var configuration = configuration
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = options.posting.width
        AddressGuard(allowed: options.posting.allowed).stand(before: &configuration)
        return configuration
    }

    /// The relay speaks to the proxy: the client itself supports no password for SOCKS, and reports some failures of a
    /// proxy under the same names as failures behind it.
    private static func proxiedConfiguration(_ options: ProviderOptions, _ relay: Relay) -> HTTPClient.Configuration {
        var configuration = configuration
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = options.posting.width
        configuration.proxy = .server(
            host: relay.host, port: relay.port,
            authorization: .basic(username: relay.user, password: relay.password))
        return configuration
    }
}
