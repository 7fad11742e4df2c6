/// A number as it was written: with all of its digits, its trailing zeros and its exponent.
///
/// An app's data may hold an amount of money or an id of any length, which a double would alter.
package struct JSONNumber: Hashable, Sendable, CustomStringConvertible {
    /// As JSON has it.
    package let text: String

    /// - Parameter text: a number of JSON, which a double can hold roughly.
    init(text: String) { self.text = text }

    /// Writes a double in its shortest form; a whole number has no point. JSON cannot express infinities and NaN: they become null.
    package init(_ double: Double) {
        var bytes: [UInt8] = []
        bytes.append(json: double)
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// The nearest double.
    package var double: Double { Double(text) ?? .nan }

    package var description: String { text }
}

extension JSONNumber: ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral {
    package init(floatLiteral double: Double) { self.init(double) }

    package init(integerLiteral integer: Int64) { text = String(integer) }
}
