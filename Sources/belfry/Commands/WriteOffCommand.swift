import ArgumentParser
import BelfryAPI
import BelfryService
import FoundationEssentials

struct WriteOffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write-off", abstract: "Write off the unreadable rows of a push.",
        discussion: """
            A push whose state is `damaged` waits for rows that the database cannot give back. First find out why, and whether \
            a backup has them: docs/Operations.md, "a damaged batch". Written off, the devices of its batches are answered \
            `skipped: damaged`, and the push settles. Where the push itself cannot be read, that is all of its open batches, and \
            those whom it had not come to yet are not told. What was mended meanwhile is left alone.
            """)

    @OptionGroup var backend: BackendOptions
    @Argument(help: "The receipt's id.", transform: UUID.parse) var receiptID: UUID

    func run() async throws {
        let writeOff = try await backend.withBackend { try await $0.writeOff(receiptID) }
        guard writeOff.devices > 0 || writeOff.fan_outs > 0 else { return print("nothing is damaged") }
        let rest =
            writeOff.fan_outs > 0 ? ", and whom it had not come to yet on \(writeOff.fan_outs.grouped) platforms" : ""
        print("written off: \(writeOff.devices.grouped) devices\(rest)")
    }
}
