extension Acrobits {
    /// The address and the body of a report as an operator wrote them into the account, by which the values of a report are found.
    ///
    /// Several texts, each in a line of its own: the part of the address behind the key, with or without a query; the text of a
    /// form; or a JSON object.
    struct Template: Sendable, Hashable {
        /// The pieces of the path; empty where it has none.
        private(set) var path: [Piece] = []
        /// Fields by the name of a parameter, of a form's field or of a JSON member; nil for values that are not needed.
        private(set) var names: [String: Field?] = [:]

        enum Piece: Sendable, Hashable {
            case literal(String)
            case value(Field?)
        }

        static let none = Template()

        private init() {}

        /// Throws where reports written by it could not be read.
        init(_ text: String, field: String = "template") throws(InvalidInput) {
            for line in text.split(whereSeparator: \.isNewline) { try read(line, field) }
            let fields = path.compactMap(\.field) + names.values.compactMap(\.self)
            guard text.isEmpty || fields.contains(.otherToken) || fields.contains(.callsToken) else {
                throw InvalidInput(field: field, "has no %pushToken%, %pushTokenOther% or %pushTokenIncomingCall%")
            }
        }

        private mutating func read(_ line: Substring, _ field: String) throws(InvalidInput) {
            let line = line.drop(while: \.isWhitespace)
            if line.first == "{" { return try readMembers(of: line, field) }
            let parts = line.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            let isForm = parts.count == 1 && line.contains("=") && !line.contains("/")
            if !isForm { path = try Self.pieces(Self.behindKey(parts[0]), field) }
            readParameters(of: isForm ? line : parts.count == 2 ? parts[1] : "")
        }

        private mutating func readMembers(of line: Substring, _ field: String) throws(InvalidInput) {
            guard case .object(let members) = try JSONValue(json: line.utf8, field: field) else { return }
            for (name, value) in members { names[name.lowercased()] = Self.onlyField(value.flat[...]) }
        }

        private mutating func readParameters(of text: Substring) {
            for parameter in text.split(separator: "&") {
                let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else { continue }
                names[parts[0].lowercased()] = Self.onlyField(parts[1])
            }
        }

        /// The field of a value that is one placeholder.
        private static func onlyField(_ text: Substring) -> Field? {
            guard text.count > 2, text.first == "%", text.last == "%" else { return nil }
            return Field(placeholder: text.dropFirst().dropLast())
        }

        /// The path behind `/acrobits/<key>`, where the whole address was given.
        private static func behindKey(_ text: Substring) -> Substring {
            guard let root = text.firstRange(of: "/\(Acrobits.root)/") else { return text.drop { $0 == "/" } }
            return text[root.upperBound...].drop { $0 != "/" }.drop { $0 == "/" }
        }

        private static func pieces(_ text: Substring, _ field: String) throws(InvalidInput) -> [Piece] {
            var pieces: [Piece] = []
            var rest = text
            while let start = rest.firstIndex(of: "%") {
                if start > rest.startIndex { pieces.append(.literal(String(rest[..<start]))) }
                guard let end = placeholderEnd(rest[start...]) else {
                    throw InvalidInput(
                        field: field, "has a % without its end; a placeholder is %selector% and the like")
                }
                if case .value? = pieces.last {
                    throw InvalidInput(field: field, "has two placeholders in a row, which nothing tells apart")
                }
                pieces.append(.value(Field(placeholder: rest[rest.index(after: start)..<end])))
                rest = rest[rest.index(after: end)...]
            }
            let tail = rest.last == "/" ? rest.dropLast() : rest
            if !tail.isEmpty { pieces.append(.literal(String(tail))) }
            return pieces
        }

        /// The end of the placeholder that the text begins with; `%sha1(%account[password]%)%` is one.
        private static func placeholderEnd(_ text: Substring) -> Substring.Index? {
            let body = text.dropFirst()
            guard body.hasPrefix("sha1(") else { return body.firstIndex(of: "%") }
            return body.firstRange(of: ")%").map { body.index(before: $0.upperBound) }
        }

        /// The values of a path that is written by the template, still percent-encoded; none where it is not. A slash at its end counts where
        /// an empty value stands behind it.
        func values(of path: Substring) -> [(Field, Substring)] {
            match(path) ?? (path.last == "/" ? match(path.dropLast()) : nil) ?? []
        }

        private func match(_ path: Substring) -> [(Field, Substring)]? {
            var rest = path
            var values: [(Field, Substring)] = []
            for (index, piece) in self.path.enumerated() {
                switch piece {
                case .literal(let text):
                    guard rest.hasPrefix(text) else { return nil }
                    rest = rest.dropFirst(text.count)
                case .value(let field):
                    guard let end = end(ofValue: index, rest) else { return nil }
                    if let field { values.append((field, rest[..<end])) }
                    rest = rest[end...]
                }
            }
            return rest.isEmpty ? values : nil
        }

        /// A value ends where the next literal begins, or at the end of the path.
        private func end(ofValue index: Int, _ text: Substring) -> Substring.Index? {
            guard index + 1 < path.count, case .literal(let literal) = path[index + 1] else {
                return text.contains("/") ? nil : text.endIndex
            }
            guard let found = text.firstRange(of: literal), !text[..<found.lowerBound].contains("/") else { return nil }
            return found.lowerBound
        }
    }
}

extension Acrobits.Template.Piece {
    fileprivate var field: Acrobits.Field? {
        if case .value(let field) = self { field } else { nil }
    }
}
