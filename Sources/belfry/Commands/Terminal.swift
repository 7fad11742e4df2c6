@preconcurrency import Glibc

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

    /// Cuts the widest columns until the line fits, as far as that goes.
    static func widths(_ natural: [Int], within total: Int) -> [Int] {
        var widths = natural
        var excess = widths.reduce(0, +) + gap * (widths.count - 1) - total
        while excess > 0, let widest = widths.max(), widest > widthMin, let place = widths.lastIndex(of: widest) {
            let next = max(widths.filter { $0 < widest }.max() ?? widthMin, widthMin)
            let cut = min(excess, widest - next)
            widths[place] -= cut
            excess -= cut
        }
        return widths
    }
}

extension String {
    /// The text, or its beginning with a dot that says so.
    func cut(to width: Int) -> String { count <= width ? self : String(prefix(max(width - 1, 0))) + "…" }
}
