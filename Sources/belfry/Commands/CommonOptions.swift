import ArgumentParser
import BelfryServer
import BelfryService
import Foundation
import Logging

/// The configuration and database of a command.
struct CommonOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A JSON file with settings.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp("Where the database and the key ring are. [default: belfry-data]", valueName: "directory"))
    var dataDirectory: String?

    @Option(
        help: ArgumentHelp(
            "A PostgreSQL that several nodes share, in place of the file in the data directory. A URL with a password belongs "
                + "in BELFRY_DATABASE_URL.",
            valueName: "postgres://…"))
    var database: String?

    @Option(help: ArgumentHelp("trace, debug, info, notice, warning, error or critical. [default: info]"))
    var logLevel: String?

    func validate() throws {
        if let database, DatabasePassword.stands(in: database) {
            throw ValidationError("--database \(DatabasePassword.advice)")
        }
    }

    var flags: [String: String] {
        var flags: [String: String] = [:]
        flags["data.directory"] = dataDirectory
        flags["database.url"] = database
        flags["log.level"] = logLevel
        return flags
    }

    /// - Parameter unknownVariables: a command that works beside a server only warns about them on standard error.
    func configuration(
        adding more: [String: String] = [:], unknownVariables: ServerConfiguration.UnknownVariables = .warned
    ) async throws -> ServerConfiguration {
        try await .load(
            flags: flags.merging(more) { _, new in new }, file: config, unknownVariables: unknownVariables)
    }

    /// The configuration, and everything that keeps a server from starting with it; nil where it cannot be read at all.
    func inspected() async -> (configuration: ServerConfiguration?, faults: [String]) {
        do {
            let (configuration, faults) = try ServerConfiguration.inspect(flags: flags, file: config)
            return (configuration, faults + (await ServerResources.faults(configuration)))
        } catch let found as ConfigurationFaults {
            return (nil, found.lines)
        } catch {
            return (nil, ["\(error)"])
        }
    }

    /// Opens the database for one command beside a running server.
    func withOperatorService<Value>(
        migrates: Bool? = nil, _ body: (OperatorService) async throws -> Value
    ) async throws -> Value {
        try await withResources(migrates: migrates) {
            try await body($0.operatorService)
        }
    }

    /// Opens the resources of the configuration, for one command beside a running server.
    ///
    /// No command makes a database but `serve`, `migrate` and `demo`: a new one would only hide that the command was pointed at
    /// the wrong place.
    ///
    /// - Parameter migrates: whether the schema is brought up to date; nil leaves it to the setting.
    func withResources<Value>(
        migrates: Bool? = nil, _ body: (ServerResources) async throws -> Value
    ) async throws -> Value {
        var configuration = try await configuration()
        if let migrates { configuration.storage.migrates = migrates }
        var logger = Logger(label: "belfry") { StreamLogHandler.lines(label: $0) }
        logger.logLevel = max(configuration.logging.level, .warning)
        let metrics = CommandMetrics.ofProcess
        let resources = try await ServerResources(configuration, logger: logger, makesDatabase: false)
        let result = await Swift.Result { try await body(resources) }
        do { try await resources.store.add(metrics.taken()) } catch {
            Notice.show("what this command did is missing from the server's metrics: \(error)")
        }
        try await resources.close()
        return try result.get()
    }
}

extension ServerConfiguration.UnknownVariables {
    fileprivate static let warned = Self.told { words in
        Notice.show(words)
    }
}

/// The output format of a command.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON, for scripts.")
    var json = false
}
