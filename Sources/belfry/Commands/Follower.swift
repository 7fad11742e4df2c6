import ArgumentParser
import BelfryAPI
import BelfryService
import FoundationEssentials

/// Polls a push until it is settled, or waits for a person.
struct Follower {
    let backend: any AdminBackend
    let isQuiet: Bool

    private static let pace = Duration.milliseconds(100)
    /// The looks without an answer after which a parked platform is taken as all that the push waits for.
    private static let patience = 20

    /// The end of following a push.
    struct End {
        let receipt: Admin.ReceiptReply

        /// The exit status; nil where every device of every name has its answer.
        var code: ExitCode? {
            if !receipt.isSettled { return ExitCode(2) }
            return receipt.unmatched?.isEmpty == false ? ExitCode(3) : nil
        }
    }

    @discardableResult func follow(_ receiptID: UUID) async throws -> End {
        let bar = ProgressBar()
        var answered = -1
        var idleLooks = 0
        var told: Set<String> = []
        while true {
            let receipt = try await backend.receipt(receiptID)
            if !isQuiet {
                for words in receipt.waits ?? [] where told.insert(words).inserted { bar.tell("waits  \(words)") }
                for words in receipt.faults where told.insert(words).inserted { bar.tell("unreachable  \(words)") }
                bar.show(receipt)
            }
            idleLooks = receipt.answered == answered ? idleLooks + 1 : 0
            answered = receipt.answered
            if receipt.isSettled || !receipt.parked.isEmpty && idleLooks >= Self.patience {
                if !isQuiet { bar.end() }
                return End(receipt: receipt)
            }
            try await Task.sleep(for: Self.pace)
        }
    }
}
