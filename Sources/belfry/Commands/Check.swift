import ArgumentParser
import BelfryServer
import Foundation

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
