import ArgumentParser
import BelfryServer
import BelfryService
import Logging

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
