/// Finds the three texts of a subscription in the JSON that browsers write, in one pass.
///
/// nil for anything unusual, such as an escape, a key twice or a list: then a parser of JSON has to read it.
struct SubscriptionScanner {
    private let bytes: [UInt8]
    private var position = 0
    private var found: [Name: Range<Int>] = [:]

    private enum Name { case endpoint, p256dh, auth }

    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        guard scanObject(isInner: false), skipSpace() == nil, found.count == 3 else { return nil }
    }

    var endpoint: ArraySlice<UInt8> { text(.endpoint) }
    var p256dh: ArraySlice<UInt8> { text(.p256dh) }
    var auth: ArraySlice<UInt8> { text(.auth) }

    private func text(_ name: Name) -> ArraySlice<UInt8> { found[name].map { bytes[$0] } ?? [] }

    private mutating func scanObject(isInner: Bool) -> Bool {
        guard take("{") else { return false }
        repeat {
            guard let name = scanString(), take(":"), scanValue(of: name, isInner: isInner) else { return false }
        } while take(",")
        return take("}")
    }

    private mutating func scanValue(of name: Range<Int>, isInner: Bool) -> Bool {
        if !isInner, bytes[name].elementsEqual("keys".utf8) { return scanObject(isInner: true) }
        guard skipSpace() == UInt8(ascii: "\"") else { return scanWord() }
        guard let value = scanString() else { return false }
        let known: Name? =
            switch (isInner, bytes[name]) {
            case (false, let name) where name.elementsEqual("endpoint".utf8): .endpoint
            case (true, let name) where name.elementsEqual("p256dh".utf8): .p256dh
            case (true, let name) where name.elementsEqual("auth".utf8): .auth
            default: nil
            }
        guard let known else { return true }
        return found.updateValue(value, forKey: known) == nil
    }

    /// A string without escapes; what stands between its quotes.
    private mutating func scanString() -> Range<Int>? {
        guard take("\"") else { return nil }
        let start = position
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            guard bytes[position] >= 0x20, bytes[position] != UInt8(ascii: "\\") else { return nil }
            position += 1
        }
        guard position < bytes.count else { return nil }
        position += 1
        return start..<position - 1
    }

    /// `null`, `true`, a number.
    private mutating func scanWord() -> Bool {
        let start = position
        while position < bytes.count, isOfWord(bytes[position]) { position += 1 }
        return position > start
    }

    private func isOfWord(_ byte: UInt8) -> Bool {
        0x61...0x7A ~= byte || 0x30...0x39 ~= byte || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
    }

    private mutating func take(_ letter: Unicode.Scalar) -> Bool {
        guard skipSpace() == UInt8(ascii: letter) else { return false }
        position += 1
        return true
    }

    /// The next byte that is no space; nil at the end.
    private mutating func skipSpace() -> UInt8? {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case let byte: return byte
            }
        }
        return nil
    }
}
