package import BelfryService
import DNS
import HTTP2Client
package import Logging
package import NIOCore
import NIOSSL
package import Outbound
import Synchronization
package import Tunnel

/// The routes out of this process: direct, and through each configured proxy.
///
/// Each route has its own HTTP connections, shared by all platforms; APNs and FCM get its tunnel. The opener of the routes closes
/// them. All names are looked up by one resolver.
package struct OutboundRoutes: Sendable {
    private struct ProxiedRoute: Sendable {
        let tunnel: Tunnel
        let connections: HostConnections
    }

    private let plan: ProxyPlan
    private let faultReporter: ProxyFaultReporter
    private let addresses: AddressGuard
    /// The policy of the guarded route.
    private let hosts: HostPolicy
    private let names: NameResolver
    private let direct: HostConnections
    /// Connections to addresses that devices and other outsiders name.
    private let guarded: HostConnections
    private let proxiedRoutes: [Proxy: ProxiedRoute]

    package static func open(
        _ options: ProviderOptions, clock: any WallClock, on group: any EventLoopGroup, logger: Logger
    ) -> OutboundRoutes {
        let faultReporter = ProxyFaultReporter(clock: clock, logger: logger)
        let names = NameResolver(servers: options.nameServers)
        let configured = names.configuredLookUp
        var tunnels: [Proxy: Tunnel] = [:]
        for (proxy, families) in options.proxies.users {
            let names = families.map(\.rawValue).joined(separator: ", ")
            logger.info(
                "providers are reached through a proxy", metadata: ["proxy": "\(proxy)", "providers": "\(names)"])
            tunnels[proxy] = faultReporter.tunnel(through: proxy, lookUp: configured)
        }
        let addresses = AddressGuard(allowed: options.posting.allowed)
        let hosts = HostPolicy(addresses, names: names)
        func connections(
            through tunnel: Tunnel? = nil, within addresses: AddressGuard? = nil, by lookUp: HostLookup? = nil
        ) -> HostConnections {
            var configuration = HostConnections.Configuration()
            configuration.http1ConnectionsMax = options.posting.connectionsPerHost
            configuration.connectionsMax = options.posting.connectionsMax
            configuration.tunnel = tunnel
            configuration.addresses = addresses
            configuration.lookUp = lookUp
            return HostConnections(configuration, on: group, logger: logger)
        }
        return OutboundRoutes(
            plan: options.proxies, faultReporter: faultReporter, addresses: addresses, hosts: hosts, names: names,
            direct: connections(by: configured),
            guarded: connections(within: addresses) { hosts.lookUp($0, on: $1) },
            proxiedRoutes: tunnels.mapValues { ProxiedRoute(tunnel: $0, connections: connections(through: $0)) })
    }

    package func close() async {
        await withDiscardingTaskGroup { group in
            for connections in [direct, guarded] + proxiedRoutes.values.map(\.connections) {
                group.addTask { await connections.shutdown() }
            }
        }
        names.close()
    }

    // MARK: Parts for providers

    /// The route to addresses that the provider or the operator names.
    func trusted(for family: ProviderFamily) -> Outbound {
        Outbound(connections: connections(for: family))
    }

    /// The route to addresses that the server's own configuration names. No proxy is used.
    package var own: Outbound { Outbound(connections: direct) }

    /// The connections of a family to what an operator names; of all families that go the same way they are the same.
    func connections(for family: ProviderFamily) -> HostConnections {
        proxiedRoute(family)?.connections ?? direct
    }

    /// For addresses that devices and tenants name: connects only to public ones, and to those that the operator
    /// allows. Through a proxy it can check only names.
    func guarded(for family: ProviderFamily) -> Outbound {
        if let proxied = proxiedRoute(family) {
            return Outbound(
                connections: proxied.connections, judgingNamesBy: addresses, leadsNowhere: leadsNowhere)
        }
        return Outbound(connections: guarded, hostsBy: hosts, leadsNowhere: leadsNowhere)
    }

    private var leadsNowhere: @Sendable (String) -> Bool { { SpecialUseHost.leadsNowhere($0) } }

    /// nil for families that are reached directly.
    func tunnel(for family: ProviderFamily) -> Tunnel? { proxiedRoute(family)?.tunnel }

    /// Sets how the connections of a family come about that its client opens by itself.
    func lead(_ configuration: inout HTTP2Configuration, for family: ProviderFamily) {
        configuration.tunnel = tunnel(for: family)
        configuration.lookUp = names.configuredLookUp
    }

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
        if isPrivate { return Outbound(connections: direct) }
        guard case .through(let proxy) = plan.standard, let route = proxiedRoutes[proxy] else {
            return Outbound(connections: guarded, hostsBy: hosts)
        }
        return Outbound(connections: route.connections, judgingNamesBy: addresses)
    }
}

extension NameResolver {
    /// Looks names up that the server's configuration has.
    fileprivate var configuredLookUp: HostLookup { { self.lookUp($0, for: NameCaller(.configured), on: $1) } }
}

/// Why an issuer gave no answer.
package struct IssuerUnreachable: Error, Sendable, CustomStringConvertible {
    package let description: String
}

/// The proxy of each family of providers.
package struct ProxyPlan: Sendable, Hashable {
    package enum Way: Sendable, Hashable {
        case direct
        case through(Proxy)
    }

    /// The way for families without a route of their own.
    package var standard: Way
    package var own: [ProviderFamily: Way]

    package init(standard: Way = .direct, own: [ProviderFamily: Way] = [:]) {
        self.standard = standard
        self.own = own
    }

    package subscript(family: ProviderFamily) -> Proxy? {
        switch own[family] ?? standard {
        case .direct: nil
        case .through(let proxy): proxy
        }
    }

    /// Each proxy, with the families that use it.
    package var users: [Proxy: [ProviderFamily]] {
        let used = ProviderFamily.allCases.compactMap { family in self[family].map { (family, $0) } }
        return Dictionary(grouping: used, by: \.1).mapValues { $0.map(\.0) }
    }
}

/// Logs proxy failures, at a limited rate.
///
/// Such a failure is the operator's, not a platform's: no platform is parked because of it, and work is retried with a
/// growing wait.
final class ProxyFaultReporter: Sendable {
    private struct Troubles {
        var last: (error: TunnelError, at: Instant)?
        /// When each kind was last logged.
        var toldAt: [TunnelError.Code: Instant] = [:]
    }

    private let clock: any WallClock
    private let logger: Logger
    private let troubles = Mutex<[Proxy: Troubles]>([:])

    /// The time in which one failure of a proxy is logged only once.
    static let pause = Duration.seconds(60)

    init(clock: any WallClock, logger: Logger) {
        self.clock = clock
        self.logger = logger
    }

    func tunnel(through proxy: Proxy, lookUp: HostLookup? = nil) -> Tunnel {
        Tunnel(through: proxy, lookUp: lookUp) { [self] in note($0, proxy) }
    }

    /// The last failure of a proxy, if it had any since then.
    func trouble(with proxy: Proxy, since: Instant) -> TunnelError? {
        troubles.withLock { $0[proxy]?.last.flatMap { $0.at >= since ? $0.error : nil } }
    }

    private func note(_ error: TunnelError, _ proxy: Proxy) {
        let now = clock.now
        let isNew = troubles.withLock { troubles in
            let toldAt = troubles[proxy]?.toldAt[error.code]
            let isNew = toldAt.map { now >= $0 + Self.pause } ?? true
            troubles[proxy, default: Troubles()].last = (error, now)
            if isNew { troubles[proxy]?.toldAt[error.code] = now }
            return isNew
        }
        guard isNew else { return }
        // A wrong password does not correct itself.
        logger.log(
            level: error.code == .credentials ? .error : .warning, "a proxy lets nothing through",
            metadata: ["proxy": "\(proxy)", "reason": "\(error.reason)"])
    }
}
