import BelfryGateway
import BelfryProviders
import BelfryService
import HTTP2Client
import Hummingbird
import Logging
import Outbound
import ServiceLifecycle

/// The parts of a running server that its listeners and its delivery share, in the order in which a push uses them.
struct ServerParts: Sendable {
    private let resources: ServerResources
    private let clock: any WallClock
    private let logger: Logger

    // Inbound: authentication and limits.
    let certificates: Certificates
    let services: Services
    private let providers: Providers

    // From an accepted push to its answers.
    let delivery: Delivery
    /// nil without the gateway of Apple's binary protocol.
    let verdicts: GatewayVerdicts?
    /// nil where there is no dual run.
    let oldServer: MirrorClient?
    private let webhookCaller: WebhookCaller

    // Outbound: events for callers.
    let events: EventHub

    /// nil without a collector.
    let tracer: PushTracer?

    // The lifecycle of the node.
    let systemdNotifier: SystemdNotifier
    let shutdown: GracefulShutdown
    let heartbeat: NodeHeartbeat
    let readiness: HealthRoutes

    init(
        _ configuration: ServerConfiguration, _ resources: ServerResources, _ providers: Providers, obeysSignals: Bool,
        logger: Logger
    ) throws {
        let clock = resources.clock
        let requestLimiter = RequestLimiter(options: configuration.requestLimiter, clock: clock)
        let tracer = configuration.traces.map {
            PushTracer(
                $0, store: resources.store, isShared: resources.isShared,
                outbound: resources.dependencies.routes.own, clock: clock,
                node: configuration.http.url, logger: logger)
        }
        let events = EventHub(
            store: resources.store, clock: clock, logger: logger, options: Self.streams(configuration), tracer: tracer)
        GatewayMetric.declare()
        Metric.declare()
        let verdicts = configuration.gateway.map { _ in GatewayVerdicts(next: events) }
        var options = configuration.delivery
        options.broadcastExecutor = resources.broadcasts
        let delivery = Delivery(
            store: resources.store, providers: providers, clock: clock, policy: configuration.retry,
            options: options, pushObserver: verdicts ?? events,
            linkKeys: SharedSecretLinkKeys(store: resources.store, vault: resources.keyRing, clock: clock),
            random: { Double.random(in: 0..<1) },
            logger: logger)
        let systemdNotifier = SystemdNotifier()
        let shutdown = GracefulShutdown(clock: clock, delay: configuration.shutdownDelay) {
            [longest = configuration.shutdownTimeout] in
            systemdNotifier.stopping()
            delivery.stopClaiming()
            logger.info("told to stop", metadata: ["shutdown.timeout": "\(longest)"])
        }
        let divide: @Sendable (NodeShare) -> Void = { share in
            requestLimiter.take(share)
            resources.dependencies.fcmQuotas.take(share)
        }
        let heartbeat = NodeHeartbeat(
            store: resources.store,
            hostChecks: HostChecks(
                keyRing: resources.keyRing, directory: configuration.storage.directory,
                diskFreeMin: configuration.diskFreeMin),
            clock: clock, shutdown: shutdown, address: configuration.http.url,
            batchesInFlight: { delivery.batchesInFlight },
            onShare: resources.isShared ? divide : nil, logger: logger)
        self.resources = resources
        self.clock = clock
        self.logger = logger
        self.certificates = try Certificates(configuration, obeysSignals: obeysSignals, logger: logger)
        let shares = ConcurrencyLimiter(configuration.shares)
        let webhookCaller = WebhookCaller(resources.dependencies.routes)
        self.webhookCaller = webhookCaller
        let credentials = CredentialsService(
            dependencies: resources.dependencies, limit: configuration.shares[.credentials],
            countRefusal: { shares.countRefusal(of: $0) })
        self.services = Services(
            store: resources.store, vault: resources.keyRing, clock: clock, credentials: credentials,
            passwords: ScryptPasswords(purpose: .carma), pushObserver: events,
            webhookPoster: webhookCaller, requestLimiter: requestLimiter, shares: shares)
        self.providers = providers
        self.delivery = delivery
        self.verdicts = verdicts
        self.events = events
        self.tracer = tracer
        self.oldServer = configuration.mirror.map { MirrorClient($0, outbound: resources.dependencies.routes.own) }
        self.systemdNotifier = systemdNotifier
        self.shutdown = shutdown
        self.heartbeat = heartbeat
        self.readiness = HealthRoutes(
            notices: { [store = resources.store] in await Self.parkings(in: store, at: clock.now) },
            faults: { heartbeat.faults })
    }

    /// The parked platforms, a sentence each; none where the database cannot be read.
    private static func parkings(in store: any Store, at now: Instant) async -> [String] {
        let parked = (try? await store.parkedPlatforms(atMost: Self.noticesMax)) ?? []
        return parked.flatMap { $0.parkedInWords(at: now) }
    }

    private static let noticesMax = 100

    private static func streams(_ configuration: ServerConfiguration) -> EventHub.Options {
        var options = EventHub.Options()
        options.readersMax = configuration.shares[.streams]?.total ?? options.readersMax
        return options
    }

    /// The routes of all APIs, and of the dashboard unless it has a listener of its own.
    func routes(_ configuration: ServerConfiguration) throws -> RouterResponder<APIContext> {
        let router = ResponseMiddleware.router(clock: clock, isSecure: certificates.http != nil)
        // Where the dashboard has a listener of its own, the public URL is that one's.
        if configuration.dashboard.listener == nil { guardHosts(of: router, configuration) }
        PCFRoutes(services, options: configuration.pcf, health: { [heartbeat] in heartbeat.healthOfPCF })
            .add(to: router)
        AdminRoutes(
            services, events: events, server: inspector(configuration),
            bodyBytesMax: configuration.pcf.bodyBytesMax,
            idempotencyHold: configuration.pcf.idempotencyHold,
            verdictDeadline: max(.seconds(1), configuration.timeouts.request - .seconds(5))
        ).add(to: router)
        BrokerRoutes(services, options: configuration.broker).add(to: router)
        CarmaRoutes(services, options: configuration.carma).add(to: router)
        AcrobitsRoutes(services, below: configuration.dashboard.address.path).add(to: router)
        MediatorRoutes(
            services,
            relay: configuration.mediatorRelayURL.map {
                MediatorClient(url: $0, outbound: resources.dependencies.routes.own)
            }
        ).add(to: router)
        GeneroRoutes(services).add(to: router)
        MatrixRoutes(services).add(to: router)
        MattermostRoutes(services).add(to: router)
        RocketChatRoutes(services).add(to: router)
        GorushRoutes(services).add(to: router)
        SIPRoutes(services).add(to: router)
        PublisherRoutes(services).add(to: router)
        WebRoutes(
            services, providers: providers, verifiesCustomUserIDs: configuration.pcf.verifiesCustomUserIDs,
            eventsLateMax: configuration.pcf.eventsLateMax, address: configuration.dashboard.address
        ).add(to: router)
        WebPushRoutes(
            services, address: configuration.dashboard.address, requestTimeout: configuration.timeouts.request
        ).add(to: router)
        WebSDK(below: configuration.dashboard.address.path).add(to: router)
        Contract().add(to: router)
        readiness.add(to: router)
        if configuration.dashboard.isEnabled, configuration.dashboard.listener == nil {
            try dashboard(configuration, isSecure: certificates.http != nil).add(to: router)
        }
        return router.buildResponder()
    }

    /// The port of its own for Genero's apps.
    func generoRoutes(_ configuration: GeneroConfiguration) -> RouterResponder<APIContext> {
        let store = resources.store
        return GeneroRoutes(services)
            .plainRouter { try await store.application(configuration.application) }
            .buildResponder()
    }

    func gateway(_ address: GatewayAddress, _ verdicts: GatewayVerdicts) -> GatewayListener {
        GatewayListener(
            address, intake: GatewayIntake(services, verdicts: verdicts),
            store: resources.store, clock: clock, logger: logger)
    }

    func feedbackService(_ address: GatewayAddress) -> FeedbackListener {
        FeedbackListener(address, store: resources.store, clock: clock, logger: logger)
    }

    /// The routes of a listener of the dashboard's own.
    func dashboardRoutes(_ configuration: ServerConfiguration) throws -> RouterResponder<APIContext> {
        let isSecure = certificates.dashboard != nil
        let router = ResponseMiddleware.router(clock: clock, isSecure: isSecure)
        guardHosts(of: router, configuration)
        try dashboard(configuration, isSecure: isSecure).add(to: router)
        return router.buildResponder()
    }

    private func guardHosts(of router: Router<APIContext>, _ configuration: ServerConfiguration) {
        guard configuration.dashboard.publicURL != nil else { return }
        router.add(middleware: HostGuard(configuration.dashboard.address, services.requestLimiter))
    }

    private func inspector(_ configuration: ServerConfiguration) -> RunningServer {
        RunningServer(
            settings: configuration.reports, storage: configuration.storage, store: resources.store, log: .shared)
    }

    private func dashboard(_ configuration: ServerConfiguration, isSecure: Bool) throws -> DashboardRoutes {
        let lifetime = configuration.dashboard.lifetime
        return try DashboardRoutes(
            Dashboard.Services(
                services, people: resources.people(lifetime: lifetime), events: events,
                server: inspector(configuration),
                options: Dashboard.Options(
                    address: configuration.dashboard.serverAddress(isSecure: isSecure),
                    release: "Belfry \(Release.version)",
                    verdictDeadline: min(.seconds(10), max(.seconds(1), configuration.timeouts.request - .seconds(5))),
                    lifetime: lifetime, hasTestPage: configuration.dashboard.listener == nil,
                    issuers: configuration.dashboard.issuers, takesPasswords: configuration.dashboard.takesPasswords,
                    heartbeatPeriod: configuration.heartbeatPeriod,
                    mapTiles: configuration.dashboard.mapTiles),
                callIssuer: resources.dependencies.routes.issuerCall(logger: logger)))
    }

    /// Background services: geofence updates, retention, and expiry of credentials.
    func housekeeping(_ configuration: ServerConfiguration) -> [any Service] {
        let heartbeats = configuration.heartbeatPeriod.map { period in
            HeartbeatMonitor(
                store: resources.store, pushes: services.pushes, clock: clock, period: period, logger: logger)
        }
        let always: [any Service] = [
            GeofenceNotifier(store: resources.store, clock: clock, poll: configuration.delivery.poll, logger: logger),
            RetentionSweeper(store: resources.store, clock: clock, options: configuration.archive, logger: logger),
            CredentialsExpiryMonitor(
                store: resources.store, credentials: services.credentials, clock: clock, logger: logger),
            BacklogMonitor(store: resources.store, clock: clock, logger: logger),
            SegmentCounter(store: resources.store, pushes: services.pushes, clock: clock, logger: logger),
            CommandCountCollector(store: resources.store, clock: clock, logger: logger),
            WebhookWorker(
                store: resources.store, vault: resources.keyRing, poster: webhookCaller, clock: clock,
                keptMax: configuration.webhookEventsMax, logger: logger),
        ]
        let mirror = oldServer.map { MirrorWorker(store: resources.store, server: $0, clock: clock, logger: logger) }
        return always + [heartbeats].compactMap(\.self) + [mirror].compactMap(\.self)
    }
}

extension PCF.Health {
    /// The three parts of the PCF service. The queue and the scheduler are in the database here.
    ///
    /// The endpoint is public, so the texts are fixed: the log and the management port have the details.
    init(hasDatabase: Bool, schedulesAreLate: Bool) {
        guard hasDatabase else {
            let part = Part(isHealthy: false, message: "The database cannot be used")
            self.init(database: part, queue: part, scheduler: part)
            return
        }
        self.init(
            database: Part(isHealthy: true, message: "Database is up"),
            queue: Part(isHealthy: true, message: "Queue is up"),
            scheduler: Part(
                isHealthy: !schedulesAreLate, message: schedulesAreLate ? "Schedules are late" : "Scheduler is up"))
    }
}
