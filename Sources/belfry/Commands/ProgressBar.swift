import BelfryAPI
import Synchronization

/// One line on the terminal that fills up while a push is delivered; without a terminal, a line a second.
final class ProgressBar: Sendable {
    /// When the last line was written.
    private let lastLineAt = Mutex<ContinuousClock.Instant?>(nil)

    private static let width = 32
    private static let pause = Duration.seconds(1)

    func show(_ receipt: Admin.ReceiptReply) {
        let devices = receipt.devices
        let total = receipt.fanned_out ? devices.grouped : "\(devices.grouped) found so far"
        let line = "\(receipt.answered.grouped) of \(total)  \(receipt.state)"
        guard StandardError.isTerminal else { return writeLine(line) }
        let share = devices == 0 ? 0 : Double(receipt.answered) / Double(devices)
        StandardError.rewrite("\(Self.bar(share))\(line)")
    }

    /// The bar alone; empty where the share is not known.
    static func bar(_ share: Double?) -> String {
        guard let share else { return "" }
        let full = Int(min(max(share, 0), 1) * Double(width))
        return String(repeating: "█", count: full) + String(repeating: "░", count: width - full) + " "
    }

    /// A line that stays above the bar.
    func tell(_ text: String) {
        StandardError.isTerminal ? StandardError.rewrite(text + "\n") : StandardError.write(text + "\n")
    }

    func end() {
        if StandardError.isTerminal { StandardError.rewrite("") }
    }

    private func writeLine(_ line: String) {
        let now = ContinuousClock.now
        let isDue = lastLineAt.withLock { last in
            if let last, last.duration(to: now) < Self.pause { return false }
            last = now
            return true
        }
        if isDue { StandardError.write(line + "\n") }
    }
}
