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

    /// Serves until told to stop, then lets what was begun end, within the shutdown time-out.
    ///
    /// - Parameters:
    ///   - stop: ends the server gracefully when it yields or ends, as SIGTERM does; nil leaves it to the signals.
    ///   - onReady: called once, when both ports listen; cancelled when the server is told to stop.
    package func run(
        until stop: AsyncStream<Void>? = nil,
        onReady: @escaping @Sendable (Addresses, Premises) async -> Void = { _, _ in }
    ) async throws {
        let premises = try Premises(configuration, logger: logger)
        let providers = Providers(
            vault: premises.keyRing, clock: SystemClock(), apns: configuration.apns,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger)
        let served = await Result { try await serve(premises, providers, until: stop, onReady) }
        await providers.shutdown(within: configuration.shutdownTimeout)
        try await premises.close()
        try served.get()
        logger.info("stopped")
    }

    private func serve(
        _ premises: Premises, _ providers: Providers, until stop: AsyncStream<Void>?,
        _ onReady: @escaping @Sendable (Addresses, Premises) async -> Void
    ) async throws {
        let clock = SystemClock()
        let delivery = Delivery(
            store: premises.store, providers: providers, clock: clock, policy: configuration.retry,
            options: configuration.delivery, random: { Double.random(in: 0..<1) }, logger: logger)
        let doorway = Doorway(count: 2) { [logger] ports in
            let addresses = Addresses(http: ports["http"] ?? "", management: ports["management"] ?? "")
            logger.info(
                "serving", metadata: ["address": "\(addresses.http)", "management": "\(addresses.management)"])
            await onReady(addresses, premises)
        }
        let health = Health(store: premises.store, clock: clock)
        let router = FrontDoor.router(clock: clock)
        PCFRoutes(
            store: premises.store, vault: premises.keyRing, clock: clock, options: configuration.pcf,
            health: { await health.forPCF() }
        ).add(to: router)
        Contract().add(to: router)
        var services: [any Service] = [
            delivery,
            listener(
                "management", configuration.management, ManagementRoutes(metrics: metrics, health: health).responder(),
                doorway),
            listener("http", configuration.http, router.buildResponder(), doorway),
        ]
        if let stop { services.append(Doorbell(stop: stop)) }
        var group = ServiceGroupConfiguration(
            services: services.map { .init(service: $0, successTerminationBehavior: .gracefullyShutdownGroup) }
                + [.init(service: doorway, successTerminationBehavior: .ignore)],
            gracefulShutdownSignals: obeysSignals ? [.sigterm, .sigint] : [], logger: quiet)
        group.maximumGracefulShutdownDuration = configuration.shutdownTimeout
        try await ServiceGroup(configuration: group).run()
    }

    private func listener<Responder: HTTPResponder>(
        _ name: String, _ address: ListenerConfiguration, _ responder: Responder, _ doorway: Doorway
    ) -> Hummingbird.Application<Responder>
    where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let patience = configuration.patience
        return Hummingbird.Application(
            responder: responder,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [RequestDeadline(patience.request)],
                    idleTimeout: TimeAmount(patience.idle))),
            configuration: .init(address: .hostname(address.host, port: address.port), serverName: nil),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? 0
                doorway.opened(name, "http://\(address.host):\(port)")
            },
            logger: quiet)
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
