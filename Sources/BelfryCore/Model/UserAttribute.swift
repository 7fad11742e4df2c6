/// A value of a user's profile. In JSON a time is `{"time": "2026-01-31T08:30:00Z"}`, the others are what they are.
package enum UserAttribute: Sendable, Hashable {
    case text(String)
    case number(Double)
    case flag(Bool)
    case time(Instant)

    package init(json value: JSONValue, field: String) throws(InvalidInput) {
        if case .object(let members) = value, members.count == 1,
            let time = members["time"]?.stringValue.flatMap(Instant.init(text:))
        {
            self = .time(time)
            return
        }
        switch value {
        case .string(let text): self = .text(text)
        case .bool(let flag): self = .flag(flag)
        case .integer(let integer): self = .number(Double(integer))
        case .number(let number): self = .number(number)
        default:
            throw InvalidInput(
                field: field, #"has to be a text, a number, true, false or {"time": "2026-01-31T08:30:00Z"}"#)
        }
    }

    package var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .number(let number): Int64(exactly: number).map(JSONValue.integer) ?? .number(number)
        case .flag(let flag): .bool(flag)
        case .time(let time): .object(["time": .string(time.text)])
        }
    }

    /// As a person reads it.
    package var text: String {
        if case .time(let time) = self { time.text } else { json.flat }
    }
}

extension [String: UserAttribute] {
    /// The members of a JSON object.
    package init(json members: [String: JSONValue], field: String = "attributes") throws(InvalidInput) {
        self = [:]
        for (name, value) in members { self[name] = try UserAttribute(json: value, field: "\(field).\(name)") }
    }

    package var json: JSONValue { .object(mapValues(\.json)) }
}
