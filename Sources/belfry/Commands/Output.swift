import ArgumentParser
import BelfryService
import Foundation
@preconcurrency import Glibc

/// The one way to standard output: foreign texts, such as the alias of a device, reach a terminal without control characters.
func print(_ text: String) { Swift.print(text.withoutControls(keepsLines: true)) }

/// The one way to standard error, likewise.
enum StandardError {
    static let isTerminal = isatty(STDERR_FILENO) == 1

    /// Writes to standard error. A write that fails is dropped: a full disk or a reader that left ends no command.
    static func write(_ text: String) { put(text.withoutControls(keepsLines: true)) }

    private static func put(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty,
            case let count = rest.withUnsafeBytes({ Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) })
        {
            guard count > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(count, 0))
        }
    }

    /// Writes in the place of the last line of a terminal.
    static func rewrite(_ text: String) {
        put("\r\u{1B}[K")
        write(text)
    }
}

/// A line for the person at the terminal, beside what the command prints.
enum Notice {
    static func show(_ text: String) { StandardError.write("warning: \(text)\n") }

    static func cut(at limit: Int) { show("\(limit) are shown, and there are more: --limit prints more") }
}

/// Prints values as aligned lines or tables, or for scripts as JSON.
enum Output {
    /// Stands where there is no value.
    private static let nothing = "-"

    static func json(_ value: some Encodable) throws {
        print(try JSONValue(json: try WrittenJSON.encode(value)).pretty)
    }

    /// `name  value` lines with aligned values; on a terminal long values go on in the next line.
    static func fields(_ fields: [(String, String)]) {
        let fields = fields.map { ($0.withoutControls(), $1.withoutControls()) }
        let width = fields.map(\.0.columns).max() ?? 0
        for (name, value) in fields {
            let value = value.isEmpty && !name.isEmpty ? nothing : value
            let lines = Terminal.width.map { value.wrapped(to: $0 - width - 2) } ?? [value]
            for (number, line) in lines.enumerated() {
                print(((number == 0 ? name : "").padded(to: width) + "  " + line).trimmingEnd)
            }
        }
    }

    /// A head, a rule and rows, columns aligned; those of numbers to the right. On a terminal that is too narrow, the widest columns
    /// are cut; where that is not enough, each row is a list of fields. `--json` has all.
    static func table(_ head: [String], _ rows: [[String]]) {
        let rows = rows.map { $0.map { $0.isEmpty ? nothing : $0.onOneLine } }
        let natural = head.indices.map { column in ([head] + rows).map { $0[column].columns }.max() ?? 0 }
        let isWhole = head.map { $0.hasSuffix("_uuid") || $0.hasSuffix("_id") }
        guard let widths = Terminal.width.map({ TableLayout.widths(natural, isWhole, within: $0) }) ?? natural else {
            for (number, row) in rows.enumerated() {
                if number > 0 { print("") }
                fields(zip(head, row).map { ($0, $1) })
            }
            return
        }
        let isRight = head.indices.map { column in
            rows.contains { $0[column].isFigure } && rows.allSatisfy { $0[column].isFigure || $0[column].isNothing }
        }
        func line(_ cells: [String]) -> String {
            cells.indices.map { cells[$0].cut(to: widths[$0]).padded(to: widths[$0], right: isRight[$0]) }
                .joined(separator: "  ").trimmingEnd
        }
        print(line(head))
        print(widths.map { String(repeating: "─", count: $0) }.joined(separator: "  "))
        for row in rows { print(line(row)) }
    }
}

extension String {
    func padded(to width: Int, right: Bool = false) -> String {
        let padding = String(repeating: " ", count: max(0, width - columns))
        return right ? padding + self : self + padding
    }

    /// How many columns of a terminal it takes: letters of East Asia and pictures take two.
    var columns: Int { reduce(0) { $0 + ($1.unicodeScalars.contains(where: \.isWide) ? 2 : 1) } }

    /// A cell has one line, whatever stands in it.
    fileprivate var onOneLine: String { String(map { $0.isNewline || $0 == "\t" ? " " : $0 }).withoutControls() }

    fileprivate var isFigure: Bool {
        utf8.contains { 0x30...0x39 ~= $0 } && utf8.allSatisfy { 0x30...0x39 ~= $0 || ",.-+%".utf8.contains($0) }
    }

    /// The text in lines of so many columns, broken at blanks as far as there are some.
    fileprivate func wrapped(to width: Int) -> [String] {
        var lines = [""]
        for word in split(separator: " ", omittingEmptySubsequences: false).map(String.init) {
            let last = lines[lines.count - 1]
            if last.isEmpty {
                lines[lines.count - 1] = word
            } else if last.columns + 1 + word.columns <= max(width, 20) {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(word)
            }
        }
        return lines
    }

    fileprivate var isNothing: Bool { isEmpty || self == "-" }

    fileprivate var trimmingEnd: String {
        String(self[..<(lastIndex { $0 != " " }.map(index(after:)) ?? startIndex)])
    }
}

extension Unicode.Scalar {
    /// Source: Unicode Standard Annex 11, the blocks that are wide as a whole.
    fileprivate var isWide: Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1FAFF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}

extension JSONOption {
    /// Prints a value as JSON, or for people the fields.
    func show(_ value: some Encodable, _ fields: @autoclosure () -> [(String, String)]) throws {
        if json { return try Output.json(value) }
        Output.fields(fields())
    }

    /// Prints values as JSON, or for people a row each.
    func show<Row: Encodable>(_ rows: [Row], _ head: [String], _ cells: (Row) -> [String]) throws {
        if json { return try Output.json(rows) }
        Output.table(head, rows.map(cells))
    }

    /// Prints things, a row each.
    func show(_ rows: [JSONValue], columns: [String]) throws {
        if json { return try Output.json(JSONValue.array(rows)) }
        Output.table(columns, rows.map { row in columns.map { (row.member($0) ?? .null).cell } })
    }

    func show(_ thing: JSONValue?) throws {
        guard case .object(let members)? = thing else { return }
        if json { return try Output.json(JSONValue.object(members)) }
        Output.fields(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value.cell) })
    }
}

extension JSONValue {
    /// A member of an object, or of one in it, such as `recurrence.words`.
    fileprivate func member(_ path: String) -> JSONValue? {
        path.split(separator: ".").reduce(self as JSONValue?) { value, name in value?[String(name)] }
    }

    /// The text of a cell in a table.
    fileprivate var cell: String {
        switch self {
        case .null: "-"
        case .array(let items) where items.allSatisfy({ $0.stringValue != nil }):
            items.compactMap(\.stringValue).joined(separator: ", ")
        default: flat
        }
    }

    /// A text, or what a file holds: `@file`, or `@-` for standard input.
    static func argument(_ text: String, called name: String) throws -> JSONValue {
        var bytes = Data(text.utf8)
        if text.hasPrefix("@") {
            bytes = try InputFile.contents(of: String(text.dropFirst()), for: name)
        }
        do {
            return try JSONValue(json: bytes, field: name)
        } catch {
            throw ValidationError("\(name) \(error.problem)")
        }
    }

    /// A message with some texts in the place of its own; nil leaves one.
    func with(_ texts: (name: String, text: String?)...) -> JSONValue {
        var members: JSONObject = if case .object(let own) = self { own } else { [:] }
        for (name, text) in texts { members.set(name, text) }
        return .object(members)
    }
}

extension JSONObject {
    /// As `JSONValue.argument`, of an object.
    static func argument(_ text: String, called name: String) throws -> JSONObject {
        guard case .object(let members) = try JSONValue.argument(text, called: name) else {
            throw ValidationError("\(name) has to be a JSON object")
        }
        return members
    }

    /// Sets a member where it is given.
    mutating func set(_ name: String, _ value: String?) {
        if let value { self[name] = .string(value) }
    }

    mutating func set(_ name: String, _ value: Double?) throws {
        guard value?.isFinite != false else { throw ValidationError("--\(name) has to be a number") }
        if let value { self[name] = .number(JSONNumber(value)) }
    }

    mutating func set(_ name: String, _ values: [String]) {
        if !values.isEmpty { self[name] = .strings(values) }
    }

    mutating func set(_ name: String, _ values: [Int64]) {
        if !values.isEmpty { self[name] = .array(values.map(JSONValue.integer)) }
    }

    /// The members of an edit, which have to be some.
    ///
    /// - Parameter options: what they come from.
    func given(by options: String) throws -> JSONObject {
        guard !isEmpty else { throw ValidationError("give \(options)") }
        return self
    }
}
