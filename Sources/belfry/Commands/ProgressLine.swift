import Foundation

/// One line on the terminal that is written over again and again; where there is no terminal, it keeps silent.
struct ProgressLine {
    private let isTerminal = isatty(STDERR_FILENO) == 1

    func show(_ text: String) { write("\r\u{1B}[K\(text)") }

    func end() { write("\r\u{1B}[K") }

    private func write(_ text: String) {
        guard isTerminal else { return }
        FileHandle.standardError.write(Data(text.utf8))
    }
}
