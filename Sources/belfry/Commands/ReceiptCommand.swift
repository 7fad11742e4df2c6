import ArgumentParser
import BelfryAPI
import BelfryCore
import FoundationEssentials

struct ReceiptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt", abstract: "Show the receipt of a push, or the answer of one device.")

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: "The receipt's id.", transform: UUID.parse) var receiptID: UUID
    @Option(help: "A device's UUID: show its answer alone.", transform: UUID.parse) var device: UUID?

    func run() async throws {
        try await backend.withBackend { backend in
            guard let device else { return try await backend.receipt(receiptID).show(json: output.json) }
            let answer = try await backend.answer(of: device, in: receiptID)
            if output.json { return try Output.json(answer) }
            print(answer.answer)
        }
    }
}
