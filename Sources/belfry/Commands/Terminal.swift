import BelfryService
@preconcurrency import Glibc
import Synchronization

/// The terminal that standard output is, if it is one.
enum Terminal {
    /// The number of columns; nil where there is no terminal.
    static var width: Int? {
        guard isatty(STDOUT_FILENO) == 1 else { return nil }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Makes a line that is printed reach a pipe at once, as it does a terminal: a script may wait for it.
    static func flushByLine() { setvbuf(stdout, nil, Int32(_IOLBF), 0) }
}

/// The widths of a table's columns.
enum TableLayout {
    private static let gap = 2
    /// A column that is cut keeps this much, for a time or the beginning of a text.
    private static let widthMin = 12

    /// Cuts the widest columns until the line fits; nil where it never does.
    ///
    /// - Parameter isWhole: whether a column is worth nothing when it is cut, such as one of ids.
    static func widths(_ natural: [Int], _ isWhole: [Bool], within total: Int) -> [Int]? {
        var widths = natural
        var excess = widths.reduce(0, +) + gap * (widths.count - 1) - total
        while excess > 0 {
            let places = widths.indices.filter { !isWhole[$0] && widths[$0] > widthMin }
            guard let place = places.max(by: { widths[$0] < widths[$1] }) else { return nil }
            let next = max(places.map { widths[$0] }.filter { $0 < widths[place] }.max() ?? widthMin, widthMin)
            let cut = min(excess, widths[place] - next)
            widths[place] -= cut
            excess -= cut
        }
        return widths
    }
}

extension String {
    /// The text, or its beginning with a dot that says so.
    func cut(to width: Int) -> String {
        guard columns > width else { return self }
        var kept = ""
        for character in self {
            guard (kept + String(character)).columns < width else { break }
            kept.append(character)
        }
        return kept + "…"
    }
}

/// Standard input, output and error, and arguments, as the caller of the program left them.
enum StandardStreams {
    /// Opens closed streams. Else the next file that is opened, such as the database, would take the place of one and receive its
    /// output.
    static func open() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            // The least that is free, so this one. What is printed to a closed output is an error, what is logged is not.
            _ = Glibc.open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Whether printed output is lost. A reader that closes the pipe early, as `head` does, has what it wanted.
    static var isOutputLost: Bool { (fflush(stdout) != 0 || ferror(stdout) != 0) && !hasReaderLeft }

    /// Whether nothing more can be printed.
    static var isOutputClosed: Bool { ferror(stdout) != 0 || hasReaderLeft }

    private static var hasReaderLeft: Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, 0) > 0 && output.revents & Int16(POLLERR) != 0
    }

    /// The first argument that is no UTF-8, from 1. Swift would put other characters in the place of its bytes.
    static var argumentOfOtherText: Int? {
        (1..<max(1, Int(CommandLine.argc))).first { number in
            CommandLine.unsafeArgv[number].map { String(validatingCString: $0) == nil } ?? false
        }
    }
}

/// One line on the terminal that is written over again and again; where there is no terminal, it keeps silent.
struct ProgressLine {
    func show(_ text: String) { if StandardError.isTerminal { StandardError.rewrite(text) } }

    func end() { show("") }
}

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
