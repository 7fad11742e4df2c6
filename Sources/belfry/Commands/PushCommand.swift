import ArgumentParser
import BelfryCore
import Foundation

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "push", abstract: "Send a push.")

    @OptionGroup var desk: DeskOptions
    @OptionGroup var output: OutputOptions
    @Option(help: "The application's UUID.", transform: UUID.parse) var app: UUID
    @Option(help: "A topic; may be given several times. Without one the push goes to everyone.") var topic: [String] =
        []
    @Option(help: "The text.") var body: String
    @Flag(help: "Show the progress until every device has its answer.") var follow = false

    func run() async throws {
        try await desk.withDesk { desk in
            let receiptID = try await desk.push(body, to: topic, of: app)
            guard follow else { return try show(receiptID) }
            try await Follower(desk: desk, isQuiet: output.json).follow(receiptID).show(json: output.json)
        }
    }

    private func show(_ receiptID: UUID) throws {
        let id = receiptID.lowercased
        if output.json { return try Output.json(["receipt_id": id]) }
        Output.fields([("receipt_id", id)])
    }
}

/// Looks at a push again and again until it is settled.
struct Follower {
    let desk: any Desk
    let isQuiet: Bool

    private static let pace = Duration.milliseconds(100)

    @discardableResult func follow(_ receiptID: UUID) async throws -> ReceiptPage {
        let bar = ProgressBar()
        while true {
            let receipt = try await desk.receipt(receiptID)
            if !isQuiet { bar.show(receipt) }
            if receipt.isSettled {
                if !isQuiet { bar.end() }
                return receipt
            }
            try await Task.sleep(for: Self.pace)
        }
    }
}
