package import BelfryAPI
package import BelfryCore
package import BelfryDelivery
package import BelfryProviders
import Configuration
import FoundationEssentials
package import Logging
import SystemPackage

/// All settings, read once at start. docs/Configuration.md lists the keys with unit, range and default.
package struct ServerConfiguration: Sendable {
    package var storage: StorageConfiguration
    package var http: ListenerConfiguration
    package var management: ListenerConfiguration
    package var connections: ConnectionConfiguration
    package var heads: HeadConfiguration
    package var timeouts: TimeoutConfiguration
    package var requestLimiter: RequestLimiter.Options
    package var shares: ShareLimiter.Limits
    package var pcf: PCFv1.Options
    package var delivery: DeliveryOptions
    package var archive: RetentionSweeper.Options
    package var retry: RetryPolicy
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

    /// How to treat a `BELFRY_*` variable that is not a setting.
    package enum UnknownVariables: Sendable {
        /// As a fault, for a server: it would run differently than the operator intended.
        case refused
        /// As a warning, for a command that needs only the database.
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

    /// Throws `ConfigurationFaults` with every fault found.
    init(_ settings: Settings, environment: [String: String], unknownVariables: UnknownVariables) throws {
        storage = StorageConfiguration(settings)
        http = ListenerConfiguration(settings, prefix: "http", port: 8080)
        management = ListenerConfiguration(settings, prefix: "management", port: 9090)
        connections = ConnectionConfiguration(settings)
        heads = HeadConfiguration(settings)
        timeouts = TimeoutConfiguration(settings)
        requestLimiter = RequestLimiter.Options(settings)
        shares = ShareLimiter.limits(settings)
        pcf = PCFv1.Options(settings)
        pcf.idempotencyHold = timeouts.request + .seconds(5)
        delivery = DeliveryOptions(settings)
        archive = RetentionSweeper.Options(settings)
        pcf.eventsLateMax = archive.eventsLateMax
        retry = RetryPolicy(settings)
        quotas = Quotas(settings)
        providers = ProviderOptions(settings)
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
        for words in settings.unknownVariables(in: environment, besides: Self.ownVariables) {
            switch unknownVariables {
            case .refused: settings.note(words)
            case .told(let tell): tell(words)
            }
        }
        strayOldNames = settings.strayOldNames
        guard settings.faults.isEmpty else { throw ConfigurationFaults(lines: settings.faults) }
    }

    /// Reads flags before environment before file.
    ///
    /// - Parameters:
    ///   - flags: values by key, such as `http.port`.
    ///   - file: a JSON file; nil for none.
    package static func load(
        flags: [String: String] = [:], file: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        unknownVariables: UnknownVariables = .refused
    ) async throws -> ServerConfiguration {
        let file = file ?? environment["BELFRY_CONFIG_FILE"]
        let given = flags.map { (AbsoluteConfigKey(ConfigKey($0.key)), ConfigValue(stringLiteral: $0.value)) }
        var providers: [any ConfigProvider] = [
            InMemoryProvider(name: "flags", values: Dictionary(uniqueKeysWithValues: given)),
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "belfry"),
        ]
        if let file {
            do {
                providers.append(try await FileProvider<JSONSnapshot>(filePath: FilePath(file)))
            } catch {
                throw ConfigurationFaults(lines: ["the configuration file \(file) cannot be used: \(error)"])
            }
        }
        let settings = Settings(ConfigReader(providers: providers), environment: environment)
        return try ServerConfiguration(settings, environment: environment, unknownVariables: unknownVariables)
    }
}

/// Where data is stored.
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

    package var databaseFile: String { directory + "/belfry.sqlite" }
    /// A human-readable name; a URL may contain a password.
    package var databaseName: String { databaseURL == nil ? databaseFile : "that database.url names" }

    init(_ settings: Settings) {
        directory = settings.string("data.directory", default: "belfry-data")
        keyRingFile = settings.optionalString("key.ring.file") ?? directory + "/key-ring"
        migrates = settings.bool("database.migrate", default: true)
        databaseURL = settings.optionalString("database.url")
        if let url = databaseURL, !url.hasPrefix("postgres://"), !url.hasPrefix("postgresql://") {
            databaseURL = settings.fault("database.url", "has to begin with postgres://", nil)
        }
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
