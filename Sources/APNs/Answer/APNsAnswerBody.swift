/// The body of an APNs error, `{"reason":"…","timestamp":…}`, as far as it can be understood.
///
/// Accepts any bytes: what cannot be understood is left out, and the status decides.
struct APNsAnswerBody: Hashable {
    /// A longer text is not a reason.
    static let reasonBytesMax = 128

    private(set) var reason: APNsReason?
    /// Milliseconds since 1970.
    private(set) var timestamp: Int64?

    init(_ bytes: Span<UInt8>) {
        var scanner = JSONScanner()
        guard scanner.take(UInt8(ascii: "{"), in: bytes) else { return }
        while let key = scanner.string(in: bytes), scanner.take(UInt8(ascii: ":"), in: bytes),
            let value = scanner.value(in: bytes)
        {
            if Self.equal(bytes, key, "reason") { reason = Self.reason(bytes, value) ?? reason }
            if Self.equal(bytes, key, "timestamp") { timestamp = Self.number(bytes, value.content) ?? timestamp }
            guard scanner.take(UInt8(ascii: ","), in: bytes) else { return }
        }
    }

    private static func equal(_ bytes: Span<UInt8>, _ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count where bytes[range.lowerBound + offset] != text.utf8Start[offset] {
            return false
        }
        return true
    }

    private static func reason(_ bytes: Span<UInt8>, _ value: JSONScanner.Value) -> APNsReason? {
        guard value.isString, 1...reasonBytesMax ~= value.content.count else { return nil }
        var text = [UInt8]()
        for index in value.content {
            // Reasons are plain words. Anything else must not reach a log or a page unchanged.
            guard 0x21...0x7E ~= bytes[index] else { return nil }
            text.append(bytes[index])
        }
        return APNsReason(String(decoding: text, as: UTF8.self))
    }

    /// The digits at the start of a number or a string; nil if there are none or too many.
    private static func number(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int64? {
        var value: Int64?
        for index in range {
            guard 0x30...0x39 ~= bytes[index] else { break }
            let (shifted, overflowed) = (value ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, exceeded) = shifted.addingReportingOverflow(Int64(bytes[index] - 0x30))
            guard !overflowed, !exceeded else { return nil }
            value = sum
        }
        return value
    }
}

/// Scans JSON without building it. Never reads beyond its bytes, never recurses, reads each byte once.
private struct JSONScanner {
    struct Value {
        let content: Range<Int>
        let isString: Bool
    }

    private var position = 0

    /// Takes `byte` if it comes next, after white space.
    mutating func take(_ byte: UInt8, in bytes: Span<UInt8>) -> Bool {
        skipSpace(in: bytes)
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    /// The content of a string, escapes as they are.
    mutating func string(in bytes: Span<UInt8>) -> Range<Int>? {
        guard take(UInt8(ascii: "\""), in: bytes) else { return nil }
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return start..<position - 1
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        return nil
    }

    /// Any value: a string's content, or the text of anything else.
    mutating func value(in bytes: Span<UInt8>) -> Value? {
        skipSpace(in: bytes)
        guard position < bytes.count else { return nil }
        if bytes[position] == UInt8(ascii: "\"") { return string(in: bytes).map { Value(content: $0, isString: true) } }
        let start = position
        return skip(in: bytes) ? Value(content: start..<position, isString: false) : nil
    }

    /// Steps to the end of a number, a word, an object or an array.
    private mutating func skip(in bytes: Span<UInt8>) -> Bool {
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                guard string(in: bytes) != nil else { return false }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return true }
                depth -= 1
                position += 1
            case UInt8(ascii: ",") where depth == 0:
                return true
            default:
                position += 1
            }
        }
        return depth == 0
    }

    private mutating func skipSpace(in bytes: Span<UInt8>) {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }
}
