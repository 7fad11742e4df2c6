import ArgumentParser
import BelfryServer
import Foundation

struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Report every fault of the configuration and of what it names.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        var faults: [String] = []
        do {
            let configuration = try await common.configuration(unknownVariables: .refused)
            faults = await ServerResources.faults(configuration)
            for name in configuration.strayOldNames {
                print("· \(name) means nothing here: \(OldNames.reason(for: name)).")
            }
        } catch let found as ConfigurationFaults {
            faults = found.lines
        }
        guard faults.isEmpty else {
            for fault in faults { FileHandle.standardError.write(Data("✗ \(fault)\n".utf8)) }
            throw ExitCode(1)
        }
        print("✓ The configuration is sound.")
    }
}
