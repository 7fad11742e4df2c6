import BelfryCore
import Hummingbird

extension Admin {
    /// The part of a URL behind `?`. Names that a path does not know are refused, as fields of a body are.
    struct Query: Sendable {
        private let values: [String: String]

        init(_ call: Call, _ known: [String]) throws(InvalidInput) {
            var values: [String: String] = [:]
            for (name, value) in call.request.uri.queryParameters {
                guard known.contains(String(name)) else { throw InvalidInput.unknown(String(name), instead: known) }
                values[String(name)] = String(value)
            }
            self.values = values
        }

        func text(_ name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

        func bool(_ name: String) throws(InvalidInput) -> Bool {
            switch values[name] {
            case nil, "false": false
            case "true": true
            default: throw InvalidInput(field: name, "has to be true or false")
            }
        }

        func choice<Choice: RawRepresentable<String> & CaseIterable>(
            _ name: String, as type: Choice.Type = Choice.self
        ) throws(InvalidInput) -> Choice? {
            guard let text = text(name) else { return nil }
            return try Choice(named: text, field: name)
        }

        func instant(_ name: String) throws(InvalidInput) -> Instant? {
            guard let text = text(name) else { return nil }
            return try Instant(text, field: name)
        }

        /// How many are wanted at once.
        func limit() throws(InvalidInput) -> Int {
            guard let text = text("limit") else { return Self.limitByDefault }
            guard let limit = Int(text), (1...Self.limitMax).contains(limit) else {
                throw InvalidInput(field: "limit", "is '\(text)', it has to be 1 to \(Self.limitMax)")
            }
            return limit
        }

        /// Where the answer before this one ended: as many numbers as it put into its cursor. nil at the beginning.
        func cursor(of count: Int = 1) throws(InvalidInput) -> [Int64]? {
            guard let text = text("cursor") else { return nil }
            guard let cursor = Cursor(text), cursor.numbers.count == count else {
                throw InvalidInput(field: "cursor", "is none that this path gave out")
            }
            return cursor.numbers
        }

        /// The names that a paged list takes, besides its own.
        static let paging = ["limit", "cursor"]
        static let limitMax = 200
        private static let limitByDefault = 50
    }

    /// A place in a list, as callers hand it back: opaque to them.
    struct Cursor: Sendable {
        let numbers: [Int64]

        init(_ numbers: Int64...) { self.numbers = numbers }

        init?(_ text: String) {
            guard let bytes = [UInt8](hex: text.utf8), !bytes.isEmpty, bytes.count.isMultiple(of: 8) else { return nil }
            numbers = stride(from: 0, to: bytes.count, by: 8).map { start in
                bytes[start..<(start + 8)].reduce(Int64(0)) { $0 << 8 | Int64($1) }
            }
        }

        var text: String {
            numbers.map { number in withUnsafeBytes(of: number.bigEndian) { Array($0).hex } }.joined()
        }
    }
}

extension JSONWriter {
    /// The end of a paged list: what to ask with for what follows, or `null`.
    mutating func next(_ cursor: Admin.Cursor?) { string("next_cursor", cursor?.text) }
}
