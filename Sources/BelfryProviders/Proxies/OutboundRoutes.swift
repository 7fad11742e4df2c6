import AsyncHTTPClient
package import BelfryCore
package import Logging
package import NIOCore
import NIOSSL
import Outbound
import Tunnel

/// The routes out of this process: direct, and through each configured proxy.
///
/// Each way has its connections to what is posted to, and its HTTP client for token servers, shared by all platforms; APNs and
/// FCM get its tunnel. What opened the routes closes them.
package struct OutboundRoutes: Sendable {
    private struct ProxiedRoute: Sendable {
        let tunnel: Tunnel
        let relay: Relay
        let client: HTTPClient
        let connections: HostConnections
    }

    private struct DirectRoute: Sendable {
        let client: HTTPClient
        let connections: HostConnections

        func close() async throws {
            await connections.shutdown()
            try await client.shutdown()
        }
    }

    private let plan: ProxyPlan
    private let faultReporter: ProxyFaultReporter
    private let addresses: AddressGuard
    /// Of the guarded route.
    private let hosts: HostPolicy
    private let direct: DirectRoute
    /// For what strangers name.
    private let guarded: DirectRoute
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
        func connections(through tunnel: Tunnel? = nil, within addresses: AddressGuard? = nil) -> HostConnections {
            var configuration = HostConnections.Configuration()
            configuration.http1ConnectionsMax = options.posting.connectionsPerHost
            configuration.connectionsMax = options.posting.connectionsMax
            configuration.tunnel = tunnel
            configuration.addresses = addresses
            return HostConnections(configuration, on: group, logger: logger)
        }
        func client(_ configuration: HTTPClient.Configuration) -> HTTPClient {
            HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
        }
        return OutboundRoutes(
            plan: options.proxies, faultReporter: faultReporter, addresses: addresses, hosts: HostPolicy(addresses),
            direct: DirectRoute(client: client(configuration), connections: connections()),
            guarded: DirectRoute(
                client: client(guardedConfiguration(addresses)), connections: connections(within: addresses)),
            proxiedRoutes: relays.mapValues { tunnel, relay in
                ProxiedRoute(
                    tunnel: tunnel, relay: relay, client: client(proxiedConfiguration(relay)),
                    connections: connections(through: tunnel))
            })
    }

    package func close() async throws {
        try await direct.close()
        try await guarded.close()
        for proxiedRoute in proxiedRoutes.values {
            await proxiedRoute.connections.shutdown()
            try await proxiedRoute.client.shutdown()
            await proxiedRoute.relay.close()
        }
    }

    // MARK: Parts for providers

    /// For addresses that the provider or the operator names.
    func trusted(for family: ProviderFamily) -> Outbound {
        let proxied = proxiedRoute(family)
        return Outbound(proxied?.client ?? direct.client, connections: connections(for: family))
    }

    /// The connections of a family to what an operator names; of all families that go the same way they are the same.
    func connections(for family: ProviderFamily) -> HostConnections {
        proxiedRoute(family)?.connections ?? direct.connections
    }

    /// For addresses that devices and tenants name: connects only to public ones, and to those that the operator
    /// allows. Through a proxy it can check only names.
    func guarded(for family: ProviderFamily) -> Outbound {
        if let proxied = proxiedRoute(family) {
            return Outbound(proxied.client, connections: proxied.connections, judgingNamesBy: addresses)
        }
        return Outbound(guarded.client, connections: guarded.connections, hostsBy: hosts)
    }

    /// nil for families that are reached directly.
    func tunnel(for family: ProviderFamily) -> Tunnel? { proxiedRoute(family)?.tunnel }

    /// Why a provider could not be reached, if its proxy has failed since then.
    func trouble(of families: [ProviderFamily], since: Instant) -> String? {
        families.lazy.compactMap { plan[$0] }.compactMap { faultReporter.trouble(with: $0, since: since)?.reason }.first
    }

    private func proxiedRoute(_ family: ProviderFamily) -> ProxiedRoute? { plan[family].flatMap { proxiedRoutes[$0] } }

    // MARK: Issuers of OpenID Connect

    /// Sends a request to an address that an issuer names. It goes by the standard proxy where there is one, and to no private
    /// address unless the operator says that the issuer has one: then directly.
    ///
    /// - Parameters:
    ///   - form: the body of a POST, as browsers send forms; nil for a GET.
    ///   - trustRoots: certificates in PEM to trust instead of the system's.
    /// - Throws: `IssuerUnreachable`.
    package func ask(
        _ url: String, form: String?, authorization: String?, isPrivate: Bool, trustRoots: String? = nil
    ) async throws(IssuerUnreachable) -> (status: Int, body: [UInt8]) {
        let tls: TLSConfiguration?
        do { tls = try Outbound.tls(trustRoots: trustRoots) } catch {
            throw IssuerUnreachable(description: "its certificates to trust cannot be used: \(error)")
        }
        let answer = await issuerRoute(isPrivate).ask(
            url, form: form, authorization: authorization, tls: tls, deadline: .seconds(10))
        switch answer {
        case .response(let response): return (response.status, response.body)
        case .unprocessed(let fault), .unknown(let fault): throw IssuerUnreachable(description: "\(fault)")
        }
    }

    private func issuerRoute(_ isPrivate: Bool) -> Outbound {
        if isPrivate { return Outbound(direct.client, connections: direct.connections) }
        guard case .through(let proxy) = plan.standard, let route = proxiedRoutes[proxy] else {
            return Outbound(guarded.client, connections: guarded.connections, hostsBy: hosts)
        }
        return Outbound(route.client, connections: route.connections, judgingNamesBy: addresses)
    }

    // MARK: How the clients of token servers are configured

    private static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(10)
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    private static func guardedConfiguration(_ addresses: AddressGuard) -> HTTPClient.Configuration {
        var configuration = configuration
        addresses.stand(before: &configuration)
        return configuration
    }

    /// The relay speaks to the proxy: the client itself supports no password for SOCKS, and reports some failures of a
    /// proxy under the same names as failures behind it.
    private static func proxiedConfiguration(_ relay: Relay) -> HTTPClient.Configuration {
        var configuration = configuration
        configuration.proxy = .server(
            host: relay.host, port: relay.port,
            authorization: .basic(username: relay.user, password: relay.password))
        return configuration
    }
}

/// Why an issuer gave no answer.
package struct IssuerUnreachable: Error, Sendable, CustomStringConvertible {
    package let description: String
}
