import ArgumentParser
import BelfryCore
import BelfryServer
import Foundation

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "push", abstract: "Send a push.")

    @OptionGroup var common: CommonOptions
    @OptionGroup var output: OutputOptions
    @Option(help: "The application's UUID.", transform: UUID.parse) var app: UUID
    @Option(help: "A topic; may be given several times. Without one the push goes to everyone.") var topic: [String] =
        []
    @Option(help: "The text.") var body: String
    @Flag(help: "Show the progress until every device has its answer.") var follow = false

    func run() async throws {
        try await common.withAdministration { administration in
            let application = try await administration.application(app)
            let push = try await administration.push(body, to: topic, of: application)
            guard follow else { return try show(push) }
            let receipt = try await Follower(store: administration.store, isQuiet: output.json).follow(push.receiptID)
            try ReceiptPage(receipt).show(json: output.json)
        }
    }

    private func show(_ push: Push) throws {
        let id = push.receiptID.lowercased
        if output.json { return try Output.json(["receipt_id": id]) }
        Output.fields([("receipt_id", id)])
    }
}

/// Looks at a push again and again until it is settled.
struct Follower {
    let store: any Store
    let isQuiet: Bool

    private static let pace = Duration.milliseconds(100)

    func follow(_ receiptID: UUID) async throws -> Receipt {
        let bar = ProgressBar()
        while true {
            guard let receipt = try await store.receipt(receiptID) else {
                throw StoreError.unknown("receipt \(receiptID.lowercased)")
            }
            if !isQuiet { bar.show(receipt) }
            if receipt.state == .settled {
                if !isQuiet { bar.end() }
                return receipt
            }
            try await Task.sleep(for: Self.pace)
        }
    }
}
