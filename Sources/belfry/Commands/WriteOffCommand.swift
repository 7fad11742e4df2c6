import ArgumentParser
import BelfryCore
import Foundation

struct WriteOffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write-off", abstract: "Give up the pages of a push that cannot be read.",
        discussion: """
            A push whose state is `damaged` waits for pages that the database cannot give back. First find out why, and whether
            a backup has them: docs/Operations.md, "a damaged page". Written off, their devices are answered
            `skipped: damaged`, and the push settles. Pages that were mended meanwhile are left alone.
            """)

    @OptionGroup var desk: DeskOptions
    @Argument(help: "The receipt's id.", transform: UUID.parse) var receiptID: UUID

    func run() async throws {
        let devices = try await desk.withDesk { try await $0.writeOff(receiptID) }
        print(devices == 0 ? "nothing is damaged" : "written off: \(devices.grouped) devices")
    }
}
