import ArgumentParser
import BelfryServer
import BelfryService
import Foundation
import Logging
import Metrics

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Run the server until it is told to stop.")

    @OptionGroup var common: CommonOptions

    @Option(help: "The address to serve on. [default: 127.0.0.1]")
    var host: String?

    @Option(help: "The port to serve on. [default: 8080]")
    var port: Int?

    @Option(help: "The port for metrics and health, on the management address. [default: 9090]")
    var managementPort: Int?

    @Flag(inversion: .prefixedNo, help: "Bring the database to the current schema first. [default: --migrate]")
    var migrate: Bool?

    @Option(
        help: ArgumentHelp(
            "A PCF service that this one takes over from, which hears of registrations too: docs/Migration.md.",
            valueName: "https://host"))
    var mirror: String?

    @Option(
        help: ArgumentHelp("For --mirror: lines of a platform's UUID, a space, its secret there.", valueName: "file"))
    var mirrorSecrets: String?

    func run() async throws {
        var flags: [String: String] = [:]
        flags["http.host"] = host
        flags["http.port"] = port.map(String.init)
        flags["management.port"] = managementPort.map(String.init)
        flags["mirror.url"] = mirror
        flags["mirror.secrets.file"] = mirrorSecrets
        flags["database.migrate"] = migrate.map(String.init)
        let configuration = try await common.configuration(adding: flags, unknownVariables: .refused)
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        let logger = configuration.logging.makeLogger(keepingIn: .shared)
        try await Server(configuration: configuration, metrics: registry, logger: logger).run()
    }
}

struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Report every fault of the configuration and of what it names.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let (configuration, faults) = await common.inspected()
        for notice in configuration?.notices ?? [] { print("· \(notice).") }
        guard let configuration, faults.isEmpty else {
            for fault in faults { StandardError.write("✗ \(fault)\n") }
            throw ExitCode(1)
        }
        for (name, value) in configuration.findings { print("✓ \(name): \(value)") }
        print("✓ The configuration is sound.")
    }
}

struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring the database to the current schema. `serve` does it too unless told not to.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        var configuration = try await common.configuration()
        configuration.storage.migrates = true
        let isChange = try await ServerResources.changesDatabase(configuration.storage)
        let resources = try await ServerResources(configuration, logger: configuration.logging.makeLogger())
        let result = await Swift.Result {
            guard isChange else { return }
            try await resources.operatorService.audited("database.migrate", "database", ["version": Release.version]) {}
        }
        try await resources.close()
        try result.get()
        print("The database \(configuration.storage.databaseName) has the current schema.")
    }
}
