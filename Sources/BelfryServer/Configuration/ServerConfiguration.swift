package import BelfryProviders
package import BelfryService
import Configuration
import FoundationEssentials
package import Logging

/// All settings, read once at start. docs/Configuration.md lists the keys with unit, range and default.
package struct ServerConfiguration: Sendable {
    package var storage: StorageConfiguration
    package var http: ListenerConfiguration
    package var management: ListenerConfiguration
    /// nil without the gateway of Apple's binary protocol.
    package var gateway: GatewayConfiguration?
    /// nil without a listener for Genero's apps alone.
    package var genero: GeneroConfiguration?
    package var dashboard: DashboardConfiguration
    package var connections: ConnectionConfiguration
    package var heads: HeadConfiguration
    package var timeouts: TimeoutConfiguration
    package var requestLimiter: RequestLimiter.Options
    package var shares: ConcurrencyLimiter.Limits
    package var pcf: PCF.Options
    /// nil without a service broker.
    package var broker: Broker.Options?
    /// nil where there is no dual run.
    package var mirror: MirrorConfiguration?
    /// `carma.public.url`, default the host that the sender named, if it can be believed (`ServerAddress`): where devices find the
    /// pages of messages.
    package var carma = Carma.Options()
    /// `acrobits.relay.url`, default none: another mediator, which gets the messages for app ids that are unknown here.
    package var mediatorRelayURL: String?
    /// nil where no collector receives traces.
    package var traces: TraceConfiguration?
    package var delivery: DeliveryOptions
    /// `delivery.nice`, 0...19, default 10: how much the threads of broadcasts give way to others; 0 for not at all.
    package var broadcastNiceness: Int
    package var archive: RetentionSweeper.Options
    /// The most events of an application that are kept for its webhooks and its feed.
    package var webhookEventsMax: Int
    package var retry: RetryPolicy
    /// `heartbeat.seconds`, 0...86,400, default 60: from one heartbeat push to the next; nil for none.
    package var heartbeatPeriod: Duration?
    package var quotas: Quotas
    package var providers: ProviderOptions
    package var logging: LoggingConfiguration
    package var shutdownTimeout: Duration
    /// How long the listeners stay open after the server was told to stop.
    package var shutdownDelay: Duration
    /// Free MiB below which the server is not ready.
    package var diskFreeMin: Int
    /// How often the files of a certificate are checked.
    package var certificatePause = Duration.seconds(5)
    /// PCF settings that were given and have no meaning here.
    package let strayOldNames: [String]
    /// Variables that Kubernetes and Docker set for a service that is called like this program; they are passed over.
    package private(set) var injectedVariables: [String] = []
    /// The configuration file; nil for none.
    package private(set) var file: String?
    /// All that was read, for people.
    package let reports: [SettingReport]

    /// The treatment of a `BELFRY_*` variable, or a key of the file, that is not a setting.
    package enum UnknownVariables: Sendable {
        /// A fault, for a server: it would run differently than the operator intended.
        case refused
        /// A warning, for a command that needs only the database.
        case told(@Sendable (String) -> Void)
    }

    /// Variables that are not settings: commands read them.
    private static let ownVariables: [String] = {
        var names = ["BELFRY_CONFIG_FILE", "BELFRY_SERVER", "BELFRY_ADMIN_KEY"]
        #if DEBUG
        names.append("BELFRY_PLANTED_FAULT")
        #endif
        return names
    }()

    /// Reads all parts. A faulty setting is noted in `settings`, and a fallback stands in its place.
    private init(_ settings: Settings) {
        storage = StorageConfiguration(settings)
        http = ListenerConfiguration(settings, prefix: "http", port: 8080)
        management = ListenerConfiguration(settings, prefix: "management", port: 9090)
        gateway = GatewayConfiguration(settings)
        genero = GeneroConfiguration(settings)
        dashboard = DashboardConfiguration(settings)
        connections = ConnectionConfiguration(settings)
        heads = HeadConfiguration(settings)
        timeouts = TimeoutConfiguration(settings)
        requestLimiter = RequestLimiter.Options(settings)
        shares = ConcurrencyLimiter.limits(settings)
        pcf = PCF.Options(settings)
        broker = Broker.Options(settings)
        pcf.idempotencyHold = timeouts.request + .seconds(5)
        mirror = MirrorConfiguration(settings)
        carma = Carma.Options(settings)
        mediatorRelayURL = settings.publicURL("acrobits.relay.url", isOwn: false)
        pcf.mirrored = mirror?.applications ?? .none
        traces = TraceConfiguration(settings)
        delivery = DeliveryOptions(settings)
        broadcastNiceness = settings.int("delivery.nice", default: 10, in: 0...19)
        archive = RetentionSweeper.Options(settings)
        webhookEventsMax = settings.int("webhooks.events.max", default: 1_000_000, in: 1_000...100_000_000)
        pcf.eventsLateMax = archive.retention.eventsLateMax
        retry = RetryPolicy(settings)
        let heartbeat = settings.seconds("heartbeat.seconds", default: 60, in: 0...86_400)
        heartbeatPeriod = heartbeat > .zero ? heartbeat : nil
        quotas = Quotas(settings)
        providers = ProviderOptions(settings)
        delivery.deadlineMax = providers.deadlineMax
        logging = LoggingConfiguration(settings)
        shutdownTimeout = settings.seconds("shutdown.timeout.seconds", default: 30, in: 1...600)
        shutdownDelay = settings.seconds("shutdown.delay.seconds", default: 0, in: 0...300)
        diskFreeMin = settings.int("health.disk.free.mib", default: 100, in: 0...1_048_576)
        if shutdownDelay >= shutdownTimeout {
            settings.note("shutdown.delay.seconds has to be less than shutdown.timeout.seconds")
        }
        if delivery.lease <= providers.deadlineMax {
            settings.note(
                "delivery.lease.seconds is \(delivery.lease.components.seconds), it has to be more than the longest "
                    + "deadline of a provider, which is \(providers.deadlineMax.components.seconds)")
        }
        strayOldNames = settings.strayOldNames
        reports = settings.reports
    }

    /// Reads flags before environment before file. Throws `ConfigurationFaults` with every fault found.
    ///
    /// - Parameters:
    ///   - flags: values by key, such as `http.port`.
    ///   - file: a JSON file; nil for none.
    package static func load(
        flags: [String: String] = [:], file: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        unknownVariables: UnknownVariables = .refused
    ) async throws -> ServerConfiguration {
        let (configuration, faults) = try inspect(
            flags: flags, file: file, environment: environment, unknownVariables: unknownVariables)
        guard faults.isEmpty else { throw ConfigurationFaults(lines: faults) }
        return configuration
    }

    /// Loads the settings, and returns the faults of single ones beside the rest; a fallback stands in the place of each.
    package static func inspect(
        flags: [String: String] = [:], file: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        unknownVariables: UnknownVariables = .refused
    ) throws -> (configuration: ServerConfiguration, faults: [String]) {
        // An empty variable is none, so that a script can take it away.
        let set = environment.filter { !$0.key.hasPrefix("BELFRY_") || !$0.value.isEmpty }
        let injected = set.filter { InjectedVariable.isOne($0.key, $0.value) }.keys.sorted()
        let environment = set.filter { !injected.contains($0.key) }
        let file = try (file ?? environment["BELFRY_CONFIG_FILE"]).map(ConfigurationFile.init)
        let providers: [any ConfigProvider] = [
            provider("flags", flags),
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "belfry"),
            provider("file", file?.values ?? [:]),
        ]
        let settings = Settings(
            ConfigReader(providers: providers), environment: environment, flags: Array(flags.keys),
            file: file)
        var configuration = ServerConfiguration(settings)
        configuration.injectedVariables = injected
        configuration.file = file?.path
        var unknown = settings.unknownVariables(in: environment, besides: ownVariables)
        if let file {
            for fault in file.faults { settings.note(fault) }
            unknown += settings.unknownKeys(in: file)
        }
        if case .told(let tell) = unknownVariables {
            for words in unknown { tell(words) }
            unknown = []
        }
        // A misspelt name is the cause of what follows from its absence.
        return (configuration, unknown + settings.locatedFaults)
    }

    private static func provider(_ name: String, _ values: [String: String]) -> InMemoryProvider {
        let keys = values.map { (AbsoluteConfigKey(ConfigKey($0.key)), ConfigValue(stringLiteral: $0.value)) }
        return InMemoryProvider(name: name, values: Dictionary(keys) { first, _ in first })
    }
}

package struct StorageConfiguration: Sendable {
    /// `data.directory`, default `belfry-data`: contains the database, and the key ring unless that has another path.
    package var directory: String
    /// `key.ring.file`, default `key-ring` in the data directory.
    package var keyRingFile: String
    /// `database.migrate`, default true: whether `serve` brings the database to the current schema.
    package var migrates: Bool

    /// `database.url`, default none: a PostgreSQL that several nodes share, in the form of libpq (`postgres://…`), in
    /// place of the file in the data directory.
    package var databaseURL: String?
    /// `database.connections`, 2...100, default 8: a node's connections to PostgreSQL, beside two for searches and one
    /// that listens.
    package var connectionsMax: Int

    /// `database.pooling`, `auto`, `session` or `transaction`, default `auto`: what a pooler before PostgreSQL gives to whom.
    package var pooling: DatabasePooling

    package var databaseFile: String { directory + "/belfry.sqlite" }
    /// A human-readable name; a URL may contain a password.
    package var databaseName: String { databaseURL == nil ? databaseFile : "that database.url names" }

    init(_ settings: Settings) {
        // An empty path would be the current folder.
        for key in ["data.directory", "key.ring.file"] where settings.optionalString(key) == "" {
            settings.note("\(key) is empty, it has to be a path")
        }
        directory = settings.string("data.directory", default: "belfry-data").absolutePath
        keyRingFile = settings.optionalString("key.ring.file")?.absolutePath ?? directory + "/key-ring"
        migrates = settings.bool("database.migrate", default: true, oldName: "liquibase_runMigrations")
        databaseURL = settings.optionalString("database.url")
        if let url = databaseURL, !url.hasPrefix("postgres://"), !url.hasPrefix("postgresql://") {
            databaseURL = settings.fault("database.url", "has to begin with postgres://", nil)
        }
        if let fault = databaseURL.flatMap(PostgresStore.fault) {
            databaseURL = settings.fault("database.url", fault, nil)
        }
        pooling = settings.choice("database.pooling", default: .auto)
        connectionsMax = settings.int("database.connections", default: 8, in: 2...100)
    }
}

package struct LoggingConfiguration: Sendable {
    package enum Format: String, Sendable, CaseIterable { case text, json }

    /// `log.level`, default `info`.
    package var level: Logger.Level
    /// `log.format`, `text` or `json`, default `text`.
    package var format: Format

    init(_ settings: Settings) {
        level = settings.choice("log.level", default: .info)
        format = settings.choice("log.format", default: .text)
    }
}

/// The variables that Kubernetes and Docker's links give every process for a service: those of one that is called `belfry`, or `belfry-` and
/// something, begin as our settings do.
///
/// Source: Kubernetes, "Service", Environment variables; Docker, "Legacy container links".
private enum InjectedVariable {
    static func isOne(_ name: String, _ value: String) -> Bool {
        guard name.hasPrefix("BELFRY_") else { return false }
        if name.hasSuffix("_SERVICE_HOST") || name.contains(/_SERVICE_PORT(_[A-Z0-9_]+)?$/) { return true }
        if name.contains(/_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/) { return true }
        return name.hasSuffix("_PORT") && ["tcp://", "udp://", "sctp://"].contains { value.hasPrefix($0) }
    }
}
