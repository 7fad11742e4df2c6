import BelfryAPI
import Foundation

/// One line on the terminal that fills up while a push is delivered; without a terminal, it prints nothing.
struct ProgressBar {
    private let isTerminal = isatty(STDERR_FILENO) == 1

    private static let width = 32

    func show(_ receipt: Admin.ReceiptReply) {
        guard isTerminal else { return }
        let devices = receipt.devices
        let share = devices == 0 ? 0 : Double(receipt.answered) / Double(devices)
        let total = receipt.isFannedOut ? devices.grouped : "\(devices.grouped)+"
        write("\r\u{1B}[K\(Self.bar(share))\(receipt.answered.grouped) of \(total)  \(receipt.state)")
    }

    /// The bar alone; empty where the share is not known.
    static func bar(_ share: Double?) -> String {
        guard let share else { return "" }
        let full = Int(min(max(share, 0), 1) * Double(width))
        return String(repeating: "█", count: full) + String(repeating: "░", count: width - full) + " "
    }

    func end() {
        guard isTerminal else { return }
        write("\r\u{1B}[K")
    }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
