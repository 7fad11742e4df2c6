/// Writes the few forms of DER that a file of PKCS #12 has. Source: X.690.
enum DER {
    enum Identifier: String {
        case data = "1.2.840.113549.1.7.1"
        case certificateBag = "1.2.840.113549.1.12.10.1.3"
        case shroudedKeyBag = "1.2.840.113549.1.12.10.1.2"
        case x509Certificate = "1.2.840.113549.1.9.22.1"
        case localKeyID = "1.2.840.113549.1.9.21"
        case pbes2 = "1.2.840.113549.1.5.13"
        case pbkdf2 = "1.2.840.113549.1.5.12"
        case hmacSHA256 = "1.2.840.113549.2.9"
        case aes256CBC = "2.16.840.1.101.3.4.1.42"
        case sha256 = "2.16.840.1.101.3.4.2.1"
    }

    static let null: [UInt8] = [5, 0]

    static func sequence(_ content: [UInt8]) -> [UInt8] { node(0x30, content) }

    static func set(_ content: [UInt8]) -> [UInt8] { node(0x31, content) }

    static func octets(_ content: [UInt8]) -> [UInt8] { node(0x04, content) }

    static func explicit(_ number: UInt8, _ content: [UInt8]) -> [UInt8] { node(0xA0 | number, content) }

    static func integer(_ value: Int) -> [UInt8] {
        var bytes = base(256, value).map { UInt8($0) }
        if let first = bytes.first, first > 0x7F { bytes.insert(0, at: 0) }
        return node(0x02, bytes)
    }

    static func identifier(_ identifier: Identifier) -> [UInt8] {
        let parts = identifier.rawValue.split(separator: ".").compactMap { Int($0) }
        let numbers = [parts[0] * 40 + parts[1]] + parts.dropFirst(2)
        let content = numbers.flatMap { number in
            let groups = base(128, number)
            return groups.enumerated().map { UInt8($1) | ($0 < groups.count - 1 ? 0x80 : 0) }
        }
        return node(0x06, content)
    }

    /// A ContentInfo whose content is bytes.
    static func content(_ type: Identifier, _ bytes: [UInt8]) -> [UInt8] {
        sequence(identifier(type) + explicit(0, octets(bytes)))
    }

    private static func node(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        guard content.count > 0x7F else { return [tag, UInt8(content.count)] + content }
        let length = base(256, content.count).map { UInt8($0) }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }

    /// The digits of a number, at least one.
    private static func base(_ base: Int, _ value: Int) -> [Int] {
        var (digits, rest) = ([value % base], value / base)
        while rest > 0 {
            digits.insert(rest % base, at: 0)
            rest /= base
        }
        return digits
    }
}
