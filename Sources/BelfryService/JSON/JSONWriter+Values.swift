extension JSONWriter {
    /// A whole number without a decimal point, any other in its shortest form.
    mutating func number(_ key: StaticString, _ value: Double) {
        self.key(key)
        write(value)
        needsComma = true
    }

    /// Any value, as it was read.
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
        comma()
        write(value)
        needsComma = true
    }
}
