import BelfryAPI
import Foundation
import Synchronization

/// One line on the terminal that fills up while a push is delivered; without a terminal, a line a second.
final class ProgressBar: Sendable {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    /// When the last line was written.
    private let lastLineAt = Mutex<ContinuousClock.Instant?>(nil)

    private static let width = 32
    private static let pause = Duration.seconds(1)

    func show(_ receipt: Admin.ReceiptReply) {
        let devices = receipt.devices
        let total = receipt.fanned_out ? devices.grouped : "\(devices.grouped) found so far"
        let line = "\(receipt.answered.grouped) of \(total)  \(receipt.state)"
        guard isTerminal else { return writeLine(line) }
        let share = devices == 0 ? 0 : Double(receipt.answered) / Double(devices)
        write("\r\u{1B}[K\(Self.bar(share))\(line)")
    }

    /// The bar alone; empty where the share is not known.
    static func bar(_ share: Double?) -> String {
        guard let share else { return "" }
        let full = Int(min(max(share, 0), 1) * Double(width))
        return String(repeating: "█", count: full) + String(repeating: "░", count: width - full) + " "
    }

    /// A line that stays above the bar.
    func tell(_ text: String) { write((isTerminal ? "\r\u{1B}[K" : "") + text + "\n") }

    func end() {
        guard isTerminal else { return }
        write("\r\u{1B}[K")
    }

    private func writeLine(_ line: String) {
        let now = ContinuousClock.now
        let isDue = lastLineAt.withLock { last in
            if let last, last.duration(to: now) < Self.pause { return false }
            last = now
            return true
        }
        if isDue { write(line + "\n") }
    }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
