import BelfryCore

extension JSONWriter {
    /// A whole number without a decimal point, another as short as it can be told.
    mutating func number(_ key: StaticString, _ value: Double) {
        self.key(key)
        number(value)
        needsComma = true
    }

    /// Any value, the members of objects in the order of their keys.
    mutating func value(_ key: StaticString, _ value: JSONValue) {
        self.key(key)
        element(value)
    }

    mutating func integers(_ key: StaticString, _ values: [Int64]) {
        self.key(key)
        enclosed("[", "]") { json in
            for value in values { json.element(.integer(value)) }
        }
    }

    /// An element of an array.
    mutating func element(_ value: JSONValue) {
        switch value {
        case .array(let elements):
            enclosed("[", "]") { json in
                for element in elements { json.element(element) }
            }
            return
        case .object(let members):
            enclosed("{", "}") { json in
                for (key, value) in members.sorted(by: { $0.key < $1.key }) { json.member(key, value) }
            }
            return
        default: comma()
        }
        switch value {
        case .null, .array, .object: write("null")
        case .bool(let bool): write(bool ? "true" : "false")
        case .integer(let integer): write(integer)
        case .number(let double): number(double)
        case .string(let string): quoted(string)
        }
        needsComma = true
    }

    private mutating func member(_ key: String, _ value: JSONValue) {
        comma()
        quoted(key)
        write(":")
        needsComma = false
        element(value)
    }

    private mutating func number(_ value: Double) {
        if let integer = Int64(exactly: value) { write(integer) } else { write(value) }
    }
}
