import ArgumentParser
import Foundation

/// Writes the devices of `--scale` for an import, in a process of its own.
struct DeviceLinesRole: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "device-lines", shouldDisplay: false)

    @Option var count: Int

    func run() throws {
        let lines = World.Lines(count: count)
        for first in stride(from: 0, to: count, by: 1_000) {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(600_000)
            for number in first..<min(first + 1_000, count) { lines.write(number, to: &bytes) }
            try FileHandle.standardOutput.write(contentsOf: Data(bytes))
        }
    }
}
