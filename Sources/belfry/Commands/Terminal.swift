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
