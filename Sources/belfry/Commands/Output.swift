import FoundationEssentials

/// Prints values as aligned lines or tables, or for scripts as JSON.
enum Output {
    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        print(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// `name  value` lines with aligned values.
    static func fields(_ fields: [(String, String)]) {
        let width = fields.map(\.0.count).max() ?? 0
        for (name, value) in fields { print(name.padded(to: width) + "  " + value) }
    }

    /// A head, a rule and rows, columns aligned; numbers to the right. On a terminal that is too narrow, the widest columns are
    /// cut; `--json` has all.
    static func table(_ head: [String], _ rows: [[String]]) {
        let natural = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        let widths = Terminal.width.map { TableLayout.widths(natural, within: $0) } ?? natural
        let rows = rows.map { row in row.indices.map { row[$0].cut(to: widths[$0]) } }
        print(head.indices.map { head[$0].padded(to: widths[$0]) }.joined(separator: "  "))
        print(widths.map { String(repeating: "─", count: $0) }.joined(separator: "  "))
        for row in rows {
            print(
                row.indices.map { column in
                    let cell = row[column]
                    return cell.first?.isNumber == true
                        ? cell.padded(to: widths[column], right: true) : cell.padded(to: widths[column])
                }.joined(separator: "  "))
        }
    }
}

extension String {
    func padded(to width: Int, right: Bool = false) -> String {
        let padding = String(repeating: " ", count: max(0, width - count))
        return right ? padding + self : self + padding
    }
}

extension Int {
    /// With commas between thousands.
    var grouped: String {
        var digits = String(magnitude)
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.append(Substring(digits.suffix(3)))
            digits.removeLast(3)
        }
        groups.append(Substring(digits))
        return (self < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
    }
}
