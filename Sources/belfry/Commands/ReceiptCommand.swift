import ArgumentParser
import BelfryAPI
import BelfryService
import FoundationEssentials

struct ReceiptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt", abstract: "Show the receipt of a push, or the story of one device.",
        discussion: """
            With --device: what was tried and when, what the provider answered in its own words, what comes next, and what helps.
            """)

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: "The receipt's id.", transform: UUID.parseReceipt) var receiptID: UUID
    @Option(help: "A device's UUID: show what became of it and why.", transform: UUID.parse) var device: UUID?

    func run() async throws {
        try await backend.withBackend { backend in
            guard let device else { return try await backend.receipt(receiptID).show(json: output.json) }
            try await backend.answer(of: device, in: receiptID).show(json: output.json)
        }
    }
}
