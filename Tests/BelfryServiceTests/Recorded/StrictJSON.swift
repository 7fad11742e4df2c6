/// JSON read by a stranger to the server's own reader and writer: no key twice, whole numbers told from others.
indirect enum StrictJSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([StrictJSON])
    case object([String: StrictJSON])

    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameter isFromAPage: whether it stands in a document for people, where commas may be missing or too many.
    init(_ text: String, isFromAPage: Bool = false) throws {
        var parser = Parser(text: Array(text.unicodeScalars), isFromAPage: isFromAPage)
        self = try parser.document()
    }

    subscript(key: String) -> StrictJSON? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    subscript(index: Int) -> StrictJSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    var string: String? {
        guard case .string(let string) = self else { return nil }
        return string
    }

    var integer: Int64? {
        guard case .integer(let integer) = self else { return nil }
        return integer
    }
}

extension StrictJSON {
    fileprivate struct Parser {
        let text: [Unicode.Scalar]
        let isFromAPage: Bool
        var position = 0

        mutating func document() throws -> StrictJSON {
            let value = try value()
            guard next() == nil else { throw fault("more behind the end") }
            return value
        }

        private mutating func value() throws -> StrictJSON {
            switch next() {
            case "{": return try object()
            case "[": return try array()
            case "\"": return .string(try string())
            case let first?: return try word(first)
            case nil: throw fault("nothing")
            }
        }

        private mutating func object() throws -> StrictJSON {
            position += 1
            var members: [String: StrictJSON] = [:]
            while next() != "}" {
                if !members.isEmpty { try comma() }
                guard next() == "\"" else { throw fault("no key") }
                let key = try string()
                guard members[key] == nil else { throw fault("the key \(key) twice") }
                guard next() == ":" else { throw fault("no colon behind \(key)") }
                position += 1
                members[key] = try value()
            }
            position += 1
            return .object(members)
        }

        private mutating func array() throws -> StrictJSON {
            position += 1
            var elements: [StrictJSON] = []
            while next() != "]" {
                if !elements.isEmpty { try comma() }
                elements.append(try value())
            }
            position += 1
            return .array(elements)
        }

        private mutating func comma() throws {
            if isFromAPage { return }
            guard next() == "," else { throw fault("no comma") }
            position += 1
            guard next() != "}", next() != "]" else { throw fault("a comma too many") }
        }

        private mutating func string() throws -> String {
            position += 1
            var string = String.UnicodeScalarView()
            while position < text.count, text[position] != "\"" {
                guard text[position].value >= 0x20 else { throw fault("a control character") }
                string.append(text[position] == "\\" ? try escape() : text[position])
                position += 1
            }
            guard position < text.count else { throw fault("a string without end") }
            position += 1
            return String(string)
        }

        private mutating func escape() throws -> Unicode.Scalar {
            position += 1
            guard position < text.count else { throw fault("a string without end") }
            switch text[position] {
            case "\"", "\\", "/": return text[position]
            case "n": return "\n"
            case "t": return "\t"
            case "r": return "\r"
            case "u":
                guard position + 4 < text.count else { throw fault("a short escape") }
                var digits = String.UnicodeScalarView()
                digits.append(contentsOf: text[(position + 1)...(position + 4)])
                position += 4
                guard let scalar = UInt32(String(digits), radix: 16).flatMap(Unicode.Scalar.init) else {
                    throw fault("an escape of no character")
                }
                return scalar
            default: throw fault("an unknown escape")
            }
        }

        private mutating func word(_ first: Unicode.Scalar) throws -> StrictJSON {
            let start = position
            while position < text.count,
                text[position].properties.isAlphabetic
                    || "0123456789+-.".unicodeScalars
                        .contains(text[position])
            { position += 1 }
            var view = String.UnicodeScalarView()
            view.append(contentsOf: text[start..<position])
            switch String(view) {
            case "null": return .null
            case "true": return .bool(true)
            case "false": return .bool(false)
            case let word:
                if let integer = Int64(word) { return .integer(integer) }
                guard first == "-" || ("0"..."9").contains(first), let number = Double(word) else {
                    throw fault("the word '\(word)'")
                }
                return .number(number)
            }
        }

        /// The next character that is no blank.
        private mutating func next() -> Unicode.Scalar? {
            while position < text.count {
                switch text[position] {
                case " ", "\n", "\r", "\t": position += 1
                case "," where isFromAPage: position += 1
                default: return text[position]
                }
            }
            return nil
        }

        private func fault(_ problem: String) -> Malformed {
            Malformed(description: "\(problem), at character \(position) of \(String(String.UnicodeScalarView(text)))")
        }
    }
}
