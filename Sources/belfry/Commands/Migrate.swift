import ArgumentParser
import BelfryServer
import Logging

struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring the database to the current schema. `serve` does it too unless told not to.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        var configuration = try await common.configuration()
        configuration.storage.migrates = true
        let premises = try await Premises(configuration, logger: configuration.logging.makeLogger())
        try await premises.close()
        print("The database \(configuration.storage.databaseName) has the current schema.")
    }
}
