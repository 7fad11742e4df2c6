import Hummingbird

extension Admin {
    /// The part of a URL after `?`. Unknown names are refused, as unknown members of a body are.
    struct Query: Sendable {
        private let values: [String: String]

        init(_ call: Call, _ known: [String]) throws(InvalidInput) {
            var values: [String: String] = [:]
            for (name, value) in call.request.uri.queryParameters {
                guard known.contains(String(name)) else {
                    throw InvalidInput.unknown(String(name), of: "a parameter of this request", instead: known)
                }
                values[String(name)] = try String(value).storable(String(name))
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
            try text(name).map { (text) throws(InvalidInput) in try Choice(named: text, field: name) }
        }

        func instant(_ name: String) throws(InvalidInput) -> Instant? {
            try text(name).map { (text) throws(InvalidInput) in try Instant(text, field: name) }
        }

        /// The size of a page.
        func limit() throws(InvalidInput) -> Int {
            guard let text = text("limit") else { return Self.limitByDefault }
            guard let limit = Int(text), (1...Self.limitMax).contains(limit) else {
                throw InvalidInput(field: "limit", "is '\(text)', it has to be 1 to \(Self.limitMax)")
            }
            return limit
        }

        /// The position after the previous page: the numbers that it put into its cursor. nil at the beginning.
        func cursor(of count: Int = 1) throws(InvalidInput) -> [Int64]? {
            guard let text = text("cursor") else { return nil }
            guard let cursor = Cursor(text), cursor.numbers.count == count else {
                throw InvalidInput(field: "cursor", "was not issued for this path")
            }
            return cursor.numbers
        }

        /// The parameters of every paged list, besides its own.
        static let paging = ["limit", "cursor"]
        static let limitMax = 200
        private static let limitByDefault = 50
    }

    /// A position in a list, as callers send it back: opaque to them.
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

    /// A position in a list that is in the order of a text.
    enum TextCursor {
        static func encode(_ text: String) -> String { Array(text.utf8).hex }

        static func decode(_ cursor: String) throws(InvalidInput) -> String {
            guard let bytes = [UInt8](hex: cursor.utf8), !bytes.contains(0),
                let text = String(validating: bytes, as: UTF8.self)
            else { throw InvalidInput(field: "cursor", "was not issued for this path") }
            return text
        }
    }
}

extension String {
    /// Throws where it has the one character that PostgreSQL cannot keep.
    func storable(_ field: String) throws(InvalidInput) -> String {
        guard !utf8.contains(0) else {
            throw InvalidInput(field: field, "has the character U+0000, which none may have")
        }
        return self
    }
}

extension JSONWriter {
    /// The end of a paged list: the cursor of the next page, or `null`.
    mutating func next(_ cursor: Admin.Cursor?) { string("next_cursor", cursor?.text) }
}
