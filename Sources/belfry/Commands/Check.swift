import ArgumentParser
import BelfryServer
import Foundation

struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Report every fault of the configuration and of what it names.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let (faults, strayOldNames) = await common.faults()
        for name in strayOldNames { print("· \(name) means nothing here: \(OldNames.reason(for: name)).") }
        guard faults.isEmpty else {
            for fault in faults { StandardError.write("✗ \(fault)\n") }
            throw ExitCode(1)
        }
        print("✓ The configuration is sound.")
    }
}
