import FoundationEssentials

extension DeviceToken {
    /// A token in whatever spelling apps and senders of other systems use.
    ///
    /// Apple's tokens are hex in either case, also as `<ab cd …>`, or Base64 of 32 bytes in either alphabet, padded or not.
    /// 64 hex digits are always hex. Tokens of other providers are taken as they are.
    package init(anySpelling text: String, for kind: PlatformKind) throws(InvalidInput) {
        guard kind.spellsTokensInHex, text.utf8.count <= Self.bytesMax else {
            try self.init(text, for: kind)
            return
        }
        let digits = text.utf8.filter { !Self.decoration.contains($0) }
        if let bytes = [UInt8](hex: digits), !bytes.isEmpty, bytes.count <= Self.apnsBytesMax {
            self.init(bytes: bytes)
        } else if let bytes = Self.base64(text), bytes.count == Self.spelledBytes {
            self.init(bytes: bytes)
        } else {
            try self.init(text, for: kind)
        }
    }

    /// The characters that iOS prints around and between the digits of a token.
    private static let decoration = Set("<> ".utf8)
    /// Tokens of another length are not taken for Base64.
    private static let spelledBytes = 32

    private static func base64(_ text: String) -> [UInt8]? {
        let plain = text.utf8.prefix { $0 != UInt8(ascii: "=") }.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - plain.count % 4) % 4)
        guard text.utf8.dropFirst(plain.count).allSatisfy({ $0 == UInt8(ascii: "=") }) else { return nil }
        return Data(base64Encoded: Data(plain + padding)).map(Array.init)
    }
}
