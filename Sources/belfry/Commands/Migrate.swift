import ArgumentParser
import BelfryCore
import BelfryServer
import Logging

struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring the database to the current schema. `serve` does it too unless told not to.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        var configuration = try await common.configuration()
        configuration.storage.migrates = true
        let isChange = try await Premises.changesDatabase(configuration.storage)
        let premises = try await Premises(configuration, logger: configuration.logging.makeLogger())
        let result = await Swift.Result {
            guard isChange else { return }
            try await premises.operatorService.audited("database.migrate", "database", ["version": Release.version]) {}
        }
        try await premises.close()
        try result.get()
        print("The database \(configuration.storage.databaseName) has the current schema.")
    }
}
