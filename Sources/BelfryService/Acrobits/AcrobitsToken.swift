import FoundationEssentials

/// A push token as softphones spell it: Base64 of the 32 bytes of an APNs token, or of a token of FCM, which is text.
///
/// Padding may be missing, the alphabet may be that of URLs, and a `+` may have become a blank on the way. Hex digits and the
/// plain text of other providers are taken too. Source: Acrobits, "Push Token Reporter", whose samples decode so.
package struct AcrobitsToken: Sendable, Hashable {
    /// As it was received, with blanks mended.
    package let text: String
    package let meaning: Meaning

    package enum Meaning: Sendable, Hashable {
        /// The bytes of a token of APNs.
        case apple([UInt8])
        /// A token of another provider.
        case text(String)
    }

    /// nil where no provider hands out such a token.
    package init?(_ received: String) {
        let text = Self.mended(received)
        guard !text.isEmpty, text.utf8.count <= DeviceToken.bytesMax, text.utf8.allSatisfy(\.isVisible) else {
            return nil
        }
        self.text = text
        meaning = Self.meaning(of: text)
    }

    private static func mended(_ text: String) -> String {
        if text.hasPrefix("<"), text.hasSuffix(">") { return text.filter { $0 != "<" && $0 != ">" && $0 != " " } }
        return String(text.map { $0 == " " ? "+" : $0 })
    }

    private static let appleBytes = 32

    private static func meaning(of text: String) -> Meaning {
        if text.utf8.count == 2 * appleBytes, let bytes = [UInt8](hex: text.utf8) { return .apple(bytes) }
        guard let bytes = base64(text) else { return .text(text) }
        if bytes.count == appleBytes { return .apple(bytes) }
        return bytes.allSatisfy(\.isVisible) && !bytes.isEmpty
            ? .text(String(decoding: bytes, as: UTF8.self)) : .text(text)
    }

    private static func base64(_ text: String) -> [UInt8]? {
        var digits = text.utf8.map { digit in
            switch digit {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: digit
            }
        }
        while digits.last == UInt8(ascii: "=") { digits.removeLast() }
        digits += [UInt8](repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4)
        return Data(base64Encoded: Data(digits)).map { Array($0) }
    }
}

extension AcrobitsToken {
    package var isApple: Bool {
        if case .apple = meaning { true } else { false }
    }

    /// The token as the platform's provider knows it. Throws where the platform takes no such token.
    package func deviceToken(for kind: PlatformKind) throws(InvalidInput) -> DeviceToken {
        switch meaning {
        case .apple(let bytes): try DeviceToken(bytes.hex, for: kind)
        case .text(let text): try DeviceToken(text, for: kind)
        }
    }
}

extension UInt8 {
    fileprivate var isVisible: Bool { 0x21...0x7E ~= self }
}
