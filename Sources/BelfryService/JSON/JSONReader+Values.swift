extension JSONReader {
    /// A number, or a string that spells one as JSON does.
    package mutating func number(_ field: String) throws(InvalidInput) -> Double? {
        let value = try value(field)
        switch value {
        case .null: return nil
        case .integer(let integer): return Double(integer)
        case .number(let number): return number.double
        case .string(let text):
            guard let number = Double(spelled: text) else {
                throw InvalidInput(field: field, "has to be a number, it is a string of something else")
            }
            return number
        default: throw InvalidInput(field: field, "has to be a number, it is \(value.typeName)")
        }
    }

    /// Reads the single value of a text, to its end.
    package static func text(_ bytes: [UInt8], field: String) throws(InvalidInput) -> JSONValue {
        var reader = JSONReader(bytes)
        let value = try reader.value(field)
        try reader.end()
        return value
    }

    /// Whole numbers, or strings that spell them.
    package mutating func integers(_ field: String) throws(InvalidInput) -> [Int64]? {
        if try null() { return nil }
        var integers: [Int64] = []
        try array(field) { reader, index throws(InvalidInput) in
            let element = "\(field)[\(index)]"
            guard let integer = try reader.integer(element) else {
                throw InvalidInput(field: element, "has to be a whole number, it is null")
            }
            integers.append(integer)
        }
        return integers
    }

    /// Reads an object with members of the caller's own.
    ///
    /// - Parameter bytesMax: the limit on its text.
    package mutating func members(
        _ field: String, bytesMax: Int = PushLimits.contentWrittenBytesMax
    ) throws(InvalidInput) -> JSONObject? {
        let value = try value(field, bytesMax: bytesMax)
        switch value {
        case .null: return nil
        case .object(let members): return members
        default: throw InvalidInput(field: field, "has to be an object, it is \(value.typeName)")
        }
    }
}

extension Double {
    /// Swift itself also accepts hexadecimal, infinities and other forms.
    fileprivate init?(spelled text: String) {
        let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
        guard isPlain, let number = Double(text), number.isFinite else { return nil }
        self = number
    }
}
