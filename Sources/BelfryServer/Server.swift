import BelfryAPI
import BelfryCore
import BelfryDelivery
import BelfryProviders
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import UnixSignals

/// The running server: the doors, the delivery, and what both stand on.
package struct Server: Sendable {
    private let configuration: ServerConfiguration
    private let metrics: PrometheusRegistry
    private let logger: Logger
    /// Ends the process's life on SIGTERM and SIGINT; tests end it themselves.
    private let obeysSignals: Bool

    package init(
        configuration: ServerConfiguration, metrics: PrometheusRegistry, logger: Logger, obeysSignals: Bool = true
    ) {
        self.configuration = configuration
        self.metrics = metrics
        self.logger = logger
        self.obeysSignals = obeysSignals
    }

    /// Where the server can be reached.
    package struct Addresses: Sendable {
        package let http: String
        package let management: String
    }

    /// For the last words to providers, when nothing is in the air any more.
    private static let hangUpMax = Duration.seconds(5)

    /// Serves until told to stop, then lets what was begun end, within the shutdown time-out.
    ///
    /// - Parameters:
    ///   - stop: ends the server gracefully when it yields or ends, as SIGTERM does; nil leaves it to the signals.
    ///   - onReady: called once, when both ports listen; cancelled when the server is told to stop.
    package func run(
        until stop: AsyncStream<Void>? = nil,
        onReady: @escaping @Sendable (Addresses, Premises) async -> Void = { _, _ in }
    ) async throws {
        if !configuration.strayOldNames.isEmpty {
            logger.warning(
                "settings of PCF mean nothing here",
                metadata: ["names": "\(configuration.strayOldNames.joined(separator: ", "))"])
        }
        let premises = try await Premises(configuration, logger: logger)
        let providers = Providers(means: premises.means)
        let served = await Result { try await serve(premises, providers, until: stop, onReady) }
        await providers.shutdown(within: min(configuration.shutdownTimeout, Self.hangUpMax))
        try await premises.close()
        try served.get()
        logger.info("stopped")
    }

    private func serve(
        _ premises: Premises, _ providers: Providers, until stop: AsyncStream<Void>?,
        _ onReady: @escaping @Sendable (Addresses, Premises) async -> Void
    ) async throws {
        let clock = premises.clock
        let gatekeeper = Gatekeeper(options: configuration.gatekeeper, clock: clock)
        let shares = ShareLimiter(configuration.shares)
        var streams = EventHub.Options()
        streams.readersMax = configuration.shares[.streams]?.total ?? streams.readersMax
        let events = EventHub(store: premises.store, clock: clock, logger: logger, options: streams)
        let certificates = try Certificates(configuration, obeysSignals: obeysSignals, logger: logger)
        let delivery = Delivery(
            store: premises.store, providers: providers, clock: clock, policy: configuration.retry,
            options: configuration.delivery, witness: events, random: { Double.random(in: 0..<1) }, logger: logger)
        let supervisor = Supervisor()
        let departure = Departure(clock: clock, notice: configuration.shutdownNotice) { [logger] in
            supervisor.stopping()
            delivery.stopClaiming()
            logger.info("told to stop")
        }
        let divide: @Sendable (NodeShare) -> Void = { share in
            gatekeeper.take(share)
            premises.means.fcmQuotas.take(share)
        }
        let watchman = Watchman(
            store: premises.store,
            ground: Ground(
                keyRing: premises.keyRing, directory: configuration.storage.directory,
                diskFreeMin: configuration.diskFreeMin),
            clock: clock, departure: departure, pagesInAir: { delivery.pagesInAir },
            onShare: premises.isShared ? divide : nil, logger: logger)
        let readiness = HealthRoutes { watchman.faults }
        let doorway = Doorway(count: 2) { [logger] ports in
            let addresses = Addresses(http: ports["http"] ?? "", management: ports["management"] ?? "")
            logger.info(
                "serving", metadata: ["address": "\(addresses.http)", "management": "\(addresses.management)"])
            supervisor.serving()
            await onReady(addresses, premises)
        }
        let router = FrontDoor.router(clock: clock, isSecure: certificates.http != nil)
        PCFRoutes(
            store: premises.store, vault: premises.keyRing, clock: clock, options: configuration.pcf,
            gatekeeper: gatekeeper, shares: shares, witness: events, health: { watchman.healthOfPCF }
        ).add(to: router)
        let credentials = CredentialsService(means: premises.means)
        AdminRoutes(
            store: premises.store, vault: premises.keyRing, clock: clock, credentials: credentials,
            gatekeeper: gatekeeper,
            shares: shares, events: events, bodyBytesMax: configuration.pcf.bodyBytesMax,
            idempotencyHold: configuration.pcf.idempotencyHold
        ).add(to: router)
        Contract().add(to: router)
        readiness.add(to: router)
        try await makeFirstKey(premises)
        // Stopped one after the other, the last first; listeners wait for their connections to end. So the doors close, then
        // the delivery lands, and the management port tells of it to the end.
        var services: [any Service] = [
            listener(
                "management", configuration.management, certificates.management,
                ManagementRoutes(metrics: metrics, health: readiness).responder(), doorway),
            watchman,
            delivery,
            GeofenceHerald(store: premises.store, clock: clock, poll: configuration.delivery.poll, logger: logger),
            Archivist(store: premises.store, clock: clock, options: configuration.archive, logger: logger),
            CredentialsWatch(store: premises.store, credentials: credentials, clock: clock, logger: logger),
            listener("http", configuration.http, certificates.http, router.buildResponder(), doorway),
        ]
        services += certificates.all + [EventLoopProbe(group: MultiThreadedEventLoopGroup.singleton)]
        // Event streams do not end by themselves, so they are ended before the doors close.
        services += [EventDesk(hub: events), departure]
        if let stop { services.append(Doorbell(stop: stop)) }
        try await run(services, opening: doorway, leavingBy: departure)
    }

    /// Runs the services until they are told to stop, and for as long after as they may take.
    private func run(_ services: [any Service], opening doorway: Doorway, leavingBy departure: Departure) async throws {
        var group = ServiceGroupConfiguration(
            services: services.map { .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup) }
                + [.init(service: doorway, successTerminationBehavior: .ignore)],
            gracefulShutdownSignals: obeysSignals ? [.sigterm, .sigint] : [], logger: quiet)
        group.maximumGracefulShutdownDuration = configuration.shutdownTimeout
        do {
            try await ServiceGroup(configuration: group).run()
        } catch is CancellationError where departure.isUnderWay {
            logger.debug("services were called off")
        }
        if departure.hasLasted(configuration.shutdownTimeout) {
            logger.warning(
                "the time to stop was over; what was in the air was handed back",
                metadata: ["shutdown.timeout": "\(configuration.shutdownTimeout)"])
        }
    }

    private func makeFirstKey(_ premises: Premises) async throws {
        let directory = configuration.storage.directory
        guard let file = try await FirstKey.make(with: premises.operatorService, in: directory) else { return }
        logger.info("first admin key made", metadata: ["file": "\(file)"])
    }

    private func listener<Responder: HTTPResponder>(
        _ name: String, _ address: ListenerConfiguration, _ certificate: Certificate?, _ responder: Responder,
        _ doorway: Doorway
    ) -> any Service
    where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let (patience, heads, proxies) = (configuration.patience, configuration.heads, configuration.gatekeeper.proxies)
        let census = Census(
            door: name,
            limits: .init(
                total: configuration.connections.totalMax, perAddress: configuration.connections.perAddressMax,
                isProxy: { proxies.contains($0) }))
        let door = HTTPDoor(
            responder: responder, census: census, certificate: certificate, patience: patience, heads: heads,
            buffered: BufferedBytes(listener: name, outboundMax: configuration.connections.unreadBytesMax))
        return door.server(
            configuration: .init(address: .hostname(address.host, port: address.port)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? 0
                doorway.opened(name, "\(certificate == nil ? "http" : "https")://\(address.host):\(port)")
            },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet)
    }

    /// The libraries' own talk is of no use to an operator below a warning, unless everything is asked for.
    private var quiet: Logger {
        var quiet = logger
        if logger.logLevel > .debug { quiet.logLevel = max(logger.logLevel, .warning) }
        return quiet
    }
}

/// Ends when it is rung, and the server with it.
private struct Doorbell: Service {
    let stop: AsyncStream<Void>

    func run() async {
        for await _ in stop.cancelOnGracefulShutdown() { return }
    }
}
