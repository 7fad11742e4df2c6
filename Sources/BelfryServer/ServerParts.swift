import BelfryAPI
import BelfryCore
import BelfryDelivery
import BelfryProviders
import Hummingbird
import Logging
import ServiceLifecycle

/// What the doors and the delivery of a running server share, in the order in which a push meets it.
struct ServerParts: Sendable {
    private let premises: Premises
    private let clock: any WallClock
    private let logger: Logger

    // In: whoever calls is known, and made to wait where it asks for too much.
    let certificates: Certificates
    let gatekeeper: Gatekeeper
    let shares: ShareLimiter
    private let credentials: CredentialsService

    // Through: from an accepted push to its answers.
    let delivery: Delivery

    // Out: what callers are told while that happens.
    let events: EventHub

    // Around: the life of the node.
    let supervisor: Supervisor
    let departure: Departure
    let watchman: Watchman
    let readiness: HealthRoutes

    init(
        _ configuration: ServerConfiguration, _ premises: Premises, _ providers: Providers, obeysSignals: Bool,
        logger: Logger
    ) throws {
        let clock = premises.clock
        let gatekeeper = Gatekeeper(options: configuration.gatekeeper, clock: clock)
        let events = EventHub(
            store: premises.store, clock: clock, logger: logger, options: Self.streams(configuration))
        let delivery = Delivery(
            store: premises.store, providers: providers, clock: clock, policy: configuration.retry,
            options: configuration.delivery, witness: events, random: { Double.random(in: 0..<1) }, logger: logger)
        let supervisor = Supervisor()
        let departure = Departure(clock: clock, notice: configuration.shutdownNotice) {
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
        self.premises = premises
        self.clock = clock
        self.logger = logger
        self.certificates = try Certificates(configuration, obeysSignals: obeysSignals, logger: logger)
        self.gatekeeper = gatekeeper
        self.shares = ShareLimiter(configuration.shares)
        self.credentials = CredentialsService(means: premises.means)
        self.delivery = delivery
        self.events = events
        self.supervisor = supervisor
        self.departure = departure
        self.watchman = watchman
        self.readiness = HealthRoutes { watchman.faults }
    }

    private static func streams(_ configuration: ServerConfiguration) -> EventHub.Options {
        var options = EventHub.Options()
        options.readersMax = configuration.shares[.streams]?.total ?? options.readersMax
        return options
    }

    /// The doors to everything that callers may do.
    func routes(_ configuration: ServerConfiguration) -> RouterResponder<APIContext> {
        let router = FrontDoor.router(clock: clock, isSecure: certificates.http != nil)
        PCFRoutes(
            store: premises.store, vault: premises.keyRing, clock: clock, options: configuration.pcf,
            gatekeeper: gatekeeper, shares: shares, witness: events, health: { [watchman] in watchman.healthOfPCF }
        ).add(to: router)
        AdminRoutes(
            store: premises.store, vault: premises.keyRing, clock: clock, credentials: credentials,
            gatekeeper: gatekeeper,
            shares: shares, events: events, bodyBytesMax: configuration.pcf.bodyBytesMax,
            idempotencyHold: configuration.pcf.idempotencyHold
        ).add(to: router)
        Contract().add(to: router)
        readiness.add(to: router)
        return router.buildResponder()
    }

    /// What goes on beside pushes: geofences are told of, old rows forgotten, and credentials watched that will end.
    func housekeeping(_ configuration: ServerConfiguration) -> [any Service] {
        [
            GeofenceHerald(store: premises.store, clock: clock, poll: configuration.delivery.poll, logger: logger),
            Archivist(store: premises.store, clock: clock, options: configuration.archive, logger: logger),
            CredentialsWatch(store: premises.store, credentials: credentials, clock: clock, logger: logger),
        ]
    }
}
