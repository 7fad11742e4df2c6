/// Reads the values of a structure one after the other, in DER or in BER with indefinite lengths and strings in pieces, as
/// Windows and Mozilla write p12 files. Source: ITU-T X.690 §8.
struct BERReader {
    /// Levels of nesting that are read. A p12 file has about ten.
    static let depthMax = 24

    private var rest: ArraySlice<UInt8>
    private let depth: Int

    init(_ bytes: ArraySlice<UInt8>, depth: Int = 0) {
        rest = bytes
        self.depth = depth
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func next() throws(KeyFileError) -> BERValue {
        guard depth < Self.depthMax else {
            throw KeyFileError(.format, "the file is nested more than \(Self.depthMax) levels deep")
        }
        return try Self.value(from: &rest, depth: depth)
    }

    /// The next value, which has to have the tag.
    mutating func next(_ tag: UInt8) throws(KeyFileError) -> BERValue {
        let value = try next()
        guard value.tag == tag else { throw .malformed }
        return value
    }

    /// The next value if it has the tag.
    mutating func nextIfAny(_ tag: UInt8) throws(KeyFileError) -> BERValue? { rest.first == tag ? try next() : nil }

    private static func value(from rest: inout ArraySlice<UInt8>, depth: Int) throws(KeyFileError) -> BERValue {
        guard depth < depthMax, let tag = rest.popFirst(), tag & 0x1F != 0x1F, let first = rest.popFirst() else {
            throw .malformed
        }
        if first == 0x80 {
            guard tag & 0x20 != 0 else { throw .malformed }
            let whole = rest
            while !rest.starts(with: [0, 0]) { _ = try value(from: &rest, depth: depth + 1) }
            let content = whole[..<rest.startIndex]
            rest = rest.dropFirst(2)
            return BERValue(tag: tag, content: content, depth: depth)
        }
        var length = Int(first)
        if first > 0x80 {
            let count = Int(first & 0x7F)
            guard count <= 4, rest.count >= count else { throw .malformed }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
        }
        guard rest.count >= length else { throw .malformed }
        let content = rest.prefix(length)
        rest = rest.dropFirst(length)
        return BERValue(tag: tag, content: content, depth: depth)
    }
}

/// One value of a structure: its tag and its content.
struct BERValue {
    static let integer: UInt8 = 0x02
    static let octets: UInt8 = 0x04
    static let identifier: UInt8 = 0x06
    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31
    /// `[0]` around another value.
    static let explicit0: UInt8 = 0xA0

    let tag: UInt8
    let content: ArraySlice<UInt8>
    fileprivate let depth: Int

    var children: BERReader { BERReader(content, depth: depth + 1) }

    /// The bytes of an octet string, which may be in pieces; of one with an implicit tag too.
    func bytes() throws(KeyFileError) -> [UInt8] {
        guard tag & 0x20 != 0 else { return Array(content) }
        var pieces = children
        var bytes: [UInt8] = []
        while !pieces.isAtEnd { bytes += try pieces.next().bytes() }
        return bytes
    }

    /// A number that is not negative; a larger one than an Int holds is its largest.
    func number() throws(KeyFileError) -> Int {
        guard tag == Self.integer, let first = content.first, first < 0x80 else { throw .malformed }
        let digits = content.drop { $0 == 0 }
        return digits.count < 8 ? digits.reduce(0) { $0 << 8 | Int($1) } : .max
    }

    func oid() throws(KeyFileError) -> OID {
        guard tag == Self.identifier, !content.isEmpty, content.count <= 32 else { throw .malformed }
        return OID(bytes: Array(content))
    }
}

/// The name of an algorithm or of a kind of content.
struct OID: Hashable {
    let bytes: [UInt8]

    /// One of RSA Laboratories: 1.2.840.113549 and what follows, each below 128.
    static func rsa(_ rest: UInt8...) -> Self { Self(bytes: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D] + rest) }

    /// One of NIST: 2.16.840.1.101.3.4 and what follows.
    static func nist(_ rest: UInt8...) -> Self { Self(bytes: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04] + rest) }

    /// The usual notation: numbers with dots.
    var dotted: String {
        var numbers: [UInt64] = []
        var number: UInt64 = 0
        for byte in bytes {
            number = number << 7 | UInt64(byte & 0x7F)
            guard byte & 0x80 == 0 else { continue }
            numbers += numbers.isEmpty ? [min(number / 40, 2), number - min(number / 40, 2) * 40] : [number]
            number = 0
        }
        return numbers.map(String.init).joined(separator: ".")
    }
}

extension KeyFileError {
    static var malformed: KeyFileError { KeyFileError(.format, "the bytes are not a PKCS#12 file, or a damaged one") }
}
