import BelfryGateway
import BelfryProviders
import BelfryService
import Glibc
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import UnixSignals

/// The running server: the listeners, the delivery, and what both need.
package struct Server: Sendable {
    private let configuration: ServerConfiguration
    private let descriptors: DescriptorPlan
    private let callers: SharedConnections
    private let metrics: PrometheusRegistry
    private let logger: Logger
    /// Whether SIGTERM and SIGINT stop the server; tests stop it themselves.
    private let obeysSignals: Bool

    package init(
        configuration: ServerConfiguration, metrics: PrometheusRegistry, logger: Logger, obeysSignals: Bool = true
    ) {
        descriptors = DescriptorPlan(configuration)
        self.configuration = descriptors.bounding(configuration)
        callers = SharedConnections(limit: descriptors.callersMax)
        self.metrics = metrics
        self.logger = logger
        self.obeysSignals = obeysSignals
    }

    package struct Addresses: Sendable {
        package let http: String
        package let management: String
        /// The addresses of the other listeners, by name: `genero`, `gateway`, `feedback`.
        package var others: [String: String] = [:]
    }

    /// The time for closing connections to providers, when nothing is in flight any more.
    private static let providerShutdownTimeout = Duration.seconds(5)

    /// Serves until told to stop, then finishes work that was begun, within the shutdown time-out.
    ///
    /// - Parameters:
    ///   - stop: stops the server gracefully when it yields or ends, like SIGTERM; nil leaves it to the signals.
    ///   - onReady: called once, when both ports listen; cancelled when the server is told to stop.
    package func run(
        until stop: AsyncStream<Void>? = nil,
        onReady: @escaping @Sendable (Addresses, ServerResources) async -> Void = { _, _ in }
    ) async throws {
        // It means that certificates are read again, and nothing where there are none, nor while the server starts.
        if obeysSignals { signal(SIGHUP, SIG_IGN) }
        if !configuration.injectedVariables.isEmpty {
            logger.notice(
                "variables of a service are passed over",
                metadata: ["names": "\(configuration.injectedVariables.joined(separator: ", "))"])
        }
        if !configuration.strayOldNames.isEmpty {
            logger.warning(
                "settings of PCF have no meaning here",
                metadata: ["names": "\(configuration.strayOldNames.joined(separator: ", "))"])
        }
        if let fault = descriptors.fault { throw ConfigurationFaults(lines: [fault]) }
        if let notice = descriptors.notice { logger.warning("\(notice)") }
        try configuration.demandListeners()
        try await configuration.storage.demandConnections(attempts: 3)
        // Before the database is opened, which may migrate it under a server that runs, or while another takes its place.
        let lock = try await configuration.storage.lock()
        let resources = try await ServerResources(configuration, logger: logger)
        do {
            if lock?.isExclusive == true { try await resources.takeOver(logger) }
        } catch {
            try await resources.close()
            throw error
        }
        defer { withExtendedLifetime(lock) {} }
        let providers = Providers(dependencies: resources.dependencies)
        let served = await Result { try await serve(resources, providers, until: stop, onReady) }
        await providers.shutdown(within: min(configuration.shutdownTimeout, Self.providerShutdownTimeout))
        try await resources.close()
        try served.get()
        logger.info("stopped")
    }

    private func serve(
        _ resources: ServerResources, _ providers: Providers, until stop: AsyncStream<Void>?,
        _ onReady: @escaping @Sendable (Addresses, ServerResources) async -> Void
    ) async throws {
        let parts = try ServerParts(configuration, resources, providers, obeysSignals: obeysSignals, logger: logger)
        let listeners = ListenerGroup(count: 2 + configuration.otherListeners) { [logger] ports in
            let others = ports.filter { $0.key != "http" && $0.key != "management" }
            let addresses = Addresses(
                http: ports["http"] ?? "", management: ports["management"] ?? "", others: others)
            var metadata: Logger.Metadata = [
                "address": "\(addresses.http)", "management": "\(addresses.management)",
            ]
            for (name, address) in others { metadata[name] = "\(address)" }
            logger.info("serving", metadata: metadata)
            await showSetupLink(resources, at: ListenerConfiguration.local(ports["dashboard"] ?? addresses.http))
            parts.systemdNotifier.serving()
            await onReady(addresses, resources)
        }
        try await makeFirstKey(resources)
        // Services stop in reverse order: listeners, then delivery, then the management port, which shows metrics to
        // the end.
        var services: [any Service] = [managementListener(parts, listeners), parts.heartbeat]
        // It tells of what delivery settles to the end.
        if let tracer = parts.tracer { services.append(tracer) }
        services.append(parts.delivery)
        services += parts.housekeeping(configuration)
        let routes = try parts.routes(configuration)
        services.append(listener("http", configuration.http, parts.certificates.http, routes, listeners))
        services += protocolListeners(parts, listeners)
        services += [try dashboardListener(parts, listeners)].compactMap(\.self)
        services.append(parts.services.webPushEndpoints.readers)
        services += parts.certificates.all
        services.append(EventLoopProbe(groups: [MultiThreadedEventLoopGroup.singleton, ServerResources.outbound]))
        // Event streams do not end by themselves, so they are ended before the listeners close.
        services += [EventStreams(hub: parts.events, feeds: parts.services.webhooks), parts.shutdown]
        if let stop { services.append(StopSignal(stop: stop)) }
        try await run(services, listeners: listeners, shutdown: parts.shutdown)
    }

    private func dashboardListener(_ parts: ServerParts, _ listeners: ListenerGroup) throws -> (any Service)? {
        guard let address = configuration.dashboard.listener else { return nil }
        let routes = try parts.dashboardRoutes(configuration)
        return listener("dashboard", address, parts.certificates.dashboard, routes, listeners)
    }

    /// The listeners for clients of other systems that have no place on the port of the APIs.
    private func protocolListeners(_ parts: ServerParts, _ listeners: ListenerGroup) -> [any Service] {
        var services: [any Service] = []
        if let genero = configuration.genero {
            services.append(listener("genero", genero.listener, nil, parts.generoRoutes(genero), listeners))
        }
        if let gateway = configuration.gateway, let verdicts = parts.verdicts,
            let certificate = parts.certificates.gateway
        {
            func listener(
                _ name: String, _ port: Int?, _ make: (GatewayAddress) -> any Service
            ) -> (any Service)? {
                port.map { port in
                    let address = gatewayAddress(name, gateway.host, port, certificate, listeners)
                    return NamedListener(
                        name: name == "feedback" ? "gateway.feedback" : name,
                        address: ListenerConfiguration(host: gateway.host, port: port), server: make(address))
                }
            }
            services += [
                listener("feedback", gateway.feedbackPort) { parts.feedbackService($0) },
                listener("gateway", gateway.port) { parts.gateway($0, verdicts) },
            ].compactMap(\.self)
        }
        return services
    }

    private func gatewayAddress(
        _ name: String, _ host: String, _ port: Int, _ certificate: Certificate, _ listeners: ListenerGroup
    ) -> GatewayAddress {
        let limiter = ConnectionLimiter(
            listener: name,
            limits: .init(
                total: configuration.connections.totalMax, perAddress: configuration.connections.perAddressMax,
                isProxy: { _ in false }), shared: callers)
        return GatewayAddress(
            host: host, port: port, context: { certificate.context },
            enter: { limiter.enter($0.flatMap { NetworkAddress($0) }) == nil },
            left: { limiter.left($0.flatMap { NetworkAddress($0) }) },
            opened: { [logger] channel in
                AcceptFaults.watch(channel, name, logger)
                let port = channel.localAddress?.port ?? port
                listeners.opened(name, "tls://\(ListenerConfiguration.inURL(host)):\(port)")
            })
    }

    /// The listener for operators and their tools: metrics, and why a node is not ready.
    private func managementListener(_ parts: ServerParts, _ listeners: ListenerGroup) -> any Service {
        let routes = ManagementRoutes(metrics: metrics, health: parts.readiness)
        return listener(
            "management", configuration.management, parts.certificates.management, routes.responder(), listeners)
    }

    /// Runs the services until they are told to stop, and then up to the time limit.
    private func run(_ services: [any Service], listeners: ListenerGroup, shutdown: GracefulShutdown)
        async throws
    {
        var group = ServiceGroupConfiguration(
            // By default its name is all that a service holds, the secrets of an old server among it, and is logged.
            services: services.map {
                ServiceGroupConfiguration.ServiceConfiguration(
                    service: $0, successTerminationBehavior: .gracefullyShutdownGroup, serviceName: "\(type(of: $0))")
            } + [.init(service: listeners, successTerminationBehavior: .ignore, serviceName: "listeners")],
            gracefulShutdownSignals: obeysSignals ? [.sigterm, .sigint] : [], logger: quiet)
        group.maximumGracefulShutdownDuration = configuration.shutdownTimeout
        do {
            try await ServiceGroup(configuration: group).run()
        } catch is CancellationError where shutdown.isUnderWay {
            logger.debug("services were called off")
        }
        if shutdown.hasLasted(configuration.shutdownTimeout) {
            logger.warning(
                "the shutdown time-out is over; batches in flight were handed back",
                metadata: ["shutdown.timeout": "\(configuration.shutdownTimeout)"])
        }
    }

    private func makeFirstKey(_ resources: ServerResources) async throws {
        let directory = configuration.storage.directory
        guard let file = try await InitialAdminKey.make(with: resources.operatorService, in: directory) else { return }
        logger.info("first admin key made", metadata: ["file": "\(file)"])
    }

    /// Shows the operator where to make the first account, while there is none. A fault here does not stop the server.
    @Sendable private func showSetupLink(_ resources: ServerResources, at address: String) async {
        guard configuration.dashboard.isEnabled, configuration.dashboard.takesPasswords else { return }
        do {
            let people = resources.people(lifetime: configuration.dashboard.lifetime)
            let author = resources.operatorService.author
            guard
                let link = try await SetupLink.make(
                    with: people, by: author, at: configuration.dashboard.publicURL ?? address)
            else { return }
            logger.info("nobody can log in at the dashboard yet; this link works once", metadata: ["link": "\(link)"])
        } catch {
            logger.warning("the set-up link of the dashboard could not be made", metadata: ["error": "\(error)"])
        }
    }

    private func listener<Responder: HTTPResponder>(
        _ name: String, _ address: ListenerConfiguration, _ certificate: Certificate?, _ responder: Responder,
        _ listeners: ListenerGroup
    ) -> any Service
    where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let proxies = configuration.requestLimiter.proxies
        // The management port has descriptors of its own, so that health and metrics are seen when callers have all of theirs.
        let isManagement = name == "management"
        let total = configuration.connections.totalMax
        let path = ["http", "dashboard"].contains(name) ? configuration.dashboard.address.path : PublicPath(of: nil)
        let connectionLimiter = ConnectionLimiter(
            listener: name,
            limits: .init(
                total: isManagement ? min(total, DescriptorPlan.managementMax) : total,
                perAddress: configuration.connections.perAddressMax, isProxy: { proxies.contains($0) }),
            shared: isManagement ? nil : callers)
        let listener = HTTPListener(
            responder: PublicPathResponder(responder, below: path), connectionLimiter: connectionLimiter,
            certificate: certificate, timeouts: configuration.timeouts, heads: configuration.heads,
            buffered: BufferedBytes(listener: name, outboundMax: configuration.connections.unreadBytesMax))
        let server = listener.server(
            configuration: .init(address: .hostname(address.host, port: address.port)),
            onServerRunning: { [logger] channel in
                AcceptFaults.watch(channel, name, logger)
                let port = channel.localAddress?.port ?? 0
                listeners.opened(
                    name,
                    "\(certificate == nil ? "http" : "https")://\(ListenerConfiguration.inURL(address.host)):\(port)")
            },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet)
        return NamedListener(name: name, address: address, server: server)
    }

    /// The libraries' own messages are useless to an operator below a warning, unless everything is requested.
    private var quiet: Logger {
        var quiet = Logger(label: logger.label) { _ in CancellationFilter(base: logger.handler) }
        if logger.logLevel > .debug { quiet.logLevel = max(logger.logLevel, .warning) }
        return quiet
    }
}

extension ServerConfiguration {
    /// How many listeners there are besides the two that every server has.
    fileprivate var otherListeners: Int {
        [genero?.listener.port, gateway?.port, gateway?.feedbackPort, dashboard.listener?.port].count { $0 != nil }
    }
}

/// Stops the server when the stream yields or ends.
private struct StopSignal: Service {
    let stop: AsyncStream<Void>

    func run() async {
        for await _ in stop.cancelOnGracefulShutdown() { return }
    }
}

/// A listener whose failure to open names its address and settings: its port was free when the server started.
private struct NamedListener: Service {
    let name: String
    let address: ListenerConfiguration
    let server: any Service

    func run() async throws {
        do {
            try await server.run()
        } catch let error as IOError {
            throw ConfigurationFaults(lines: [address.fault(error.errnoCode, name: name)])
        } catch let error as SocketAddressError {
            throw ConfigurationFaults(lines: [
                "\(name).host: \(address.host) is not an address of this machine: \(error)"
            ])
        }
    }
}

/// The version of this program, as `belfry --version`, the list of nodes and the packages show it.
package enum Release {
    package static let version = "0.2.0"
}
