import Testing

/// A text that a test is given; of a long one the output shows the beginning and the length.
struct Sample: ExpressibleByStringInterpolation, CustomTestStringConvertible {
    let text: String

    init(stringLiteral text: String) { self.text = text }
    init(_ text: String) { self.text = text }

    var testDescription: String {
        text.utf8.count <= 100 ? "\"\(text)\"" : "\"\(text.prefix(60))…\" (\(text.utf8.count) bytes)"
    }
}
