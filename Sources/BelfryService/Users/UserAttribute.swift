/// A value of a user's profile. In JSON a time is `{"time": "2026-01-31T08:30:00Z"}`; the others are plain values.
package enum UserAttribute: Sendable, Hashable {
    case text(String)
    case number(Double)
    case flag(Bool)
    case time(Instant)

    package init(json value: JSONValue, field: String) throws(InvalidInput) {
        if case .object(let members) = value, members.count == 1, let time = members["time"]?.stringValue {
            self = .time(try Instant(time, field: "\(field).time"))
            return
        }
        switch value {
        case .string(let text): self = .text(text)
        case .bool(let flag): self = .flag(flag)
        case .integer, .number:
            guard let number = value.exactNumber else {
                throw InvalidInput(
                    field: field, "is a number with more digits than are kept, which is 17: as a text it keeps them all"
                )
            }
            self = .number(number)
        default:
            throw InvalidInput(
                field: field, #"has to be a text, a number, true, false or {"time": "2026-01-31T08:30:00Z"}"#)
        }
    }

    package var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .number(let number): Int64(exactly: number).map(JSONValue.integer) ?? .number(JSONNumber(number))
        case .flag(let flag): .bool(flag)
        case .time(let time): .object(["time": .string(time.text)])
        }
    }

    /// As a person reads it.
    package var text: String {
        if case .time(let time) = self { time.text } else { json.flat }
    }
}

extension JSONValue {
    /// The number; nil where it has more digits than any double is written with. Source: IEEE 754, 17 decimal digits tell doubles apart.
    fileprivate var exactNumber: Double? {
        switch self {
        case .integer(let integer):
            return Double(exactly: integer)
        case .number(let number):
            let digits = number.text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }.filter { 0x30...0x39 ~= $0 }
            let significant = digits.drop { $0 == 0x30 }.reversed().drop { $0 == 0x30 }
            return significant.count <= 17 ? number.double : nil
        default: return nil
        }
    }
}

extension [String: UserAttribute] {
    /// The members of a JSON object.
    package init(json members: JSONObject, field: String = "attributes") throws(InvalidInput) {
        self = [:]
        for (name, value) in members {
            self[name.normalized] = try UserAttribute(json: value, field: "\(field).\(name)")
        }
    }

    package var json: JSONValue { .object(JSONObject(mapValues(\.json))) }
}

extension UserAttribute {
    /// The value in the form of an index: its type first, and within the type in the order of the values. A text is found in any
    /// Unicode composition.
    package var indexed: [UInt8] {
        switch self {
        case .flag(let flag): [UInt8(ascii: "f"), flag ? 1 : 0]
        case .number(let number): [UInt8(ascii: "n")] + Self.ascending(number)
        case .time(let time): [UInt8(ascii: "t")] + Self.bytes(UInt64(bitPattern: time.milliseconds) ^ 1 << 63)
        case .text(let text): [UInt8(ascii: "x")] + Array(text.normalized.utf8)
        }
    }

    /// The bits of a number, inverted for numbers below zero. Both zeros are one.
    private static func ascending(_ number: Double) -> [UInt8] {
        let bits = (number == 0 ? 0 : number).bitPattern
        return bytes(bits >> 63 == 1 ? ~bits : bits | 1 << 63)
    }

    private static func bytes(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
