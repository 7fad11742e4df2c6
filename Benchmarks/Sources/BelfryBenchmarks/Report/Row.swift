/// One line of the table.
struct Row: Sendable {
    var what: String
    var ours: String
    var reference = "–"
    var ratio = "–"
    var target: String
    var isReached: Bool?
    /// CPU of ours, then of the reference, in milliseconds per 1,000.
    var cpu = "–"
    /// Peak resident memory of ours, then of the reference, in MiB.
    var memory = "–"

    static let heads = ["what", "ours", "reference", "ratio", "target", "reached", "CPU ms / 1,000", "peak MiB"]

    var cells: [String] {
        [what, ours, reference, ratio, target, isReached.map { $0 ? "yes" : "no" } ?? "–", cpu, memory]
    }
}

/// Lines of Markdown that also read well on a terminal.
struct Table {
    let heads: [String]
    var rows: [[String]] = []

    var text: String {
        let widths = heads.indices.map { column in ([heads] + rows).map { $0[column].count }.max() ?? 0 }
        func line(_ cells: [String], fill: Character = " ") -> String {
            let padded = zip(cells, widths).map { $0 + String(repeating: fill, count: $1 - $0.count) }
            return "| " + padded.joined(separator: " | ") + " |"
        }
        return ([line(heads), line(heads.map { _ in "-" }, fill: "-")] + rows.map { line($0) }).joined(separator: "\n")
    }
}
