/// The six digits that an authenticator app shows, which change every half minute.
///
/// Source: RFC 6238 (TOTP) with the values that every app takes: HMAC-SHA-1, 30 seconds, 6 digits.
package enum OneTimeCode {
    package static let digits = 6
    package static let stepSeconds: Int64 = 30
    /// Source: RFC 4226 §4, R6: 160 bits are recommended.
    package static let secretBytes = 20

    /// HMAC-SHA-1 of a message, by a key.
    package typealias Authentication = @Sendable (_ key: [UInt8], _ message: [UInt8]) -> [UInt8]

    package static func step(at instant: Instant) -> Int64 { instant.milliseconds / 1_000 / stepSeconds }

    /// Source: RFC 4226 §5.3.
    package static func code(of secret: [UInt8], at step: Int64, _ authentication: Authentication) -> String {
        let message = (0..<8).reversed().map { UInt8(truncatingIfNeeded: step >> (8 * Int64($0))) }
        let hash = authentication(secret, message)
        let offset = Int(hash[hash.count - 1] & 0x0F)
        let number = hash[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } & 0x7FFF_FFFF
        let text = String(number % 1_000_000)
        return String(repeating: "0", count: digits - text.count) + text
    }

    /// The step of a typed code: the present one, or its neighbours for clocks that differ. nil when it is none of these, or was
    /// used before.
    package static func step(
        ofCode typed: String, by secret: [UInt8], at instant: Instant, after lastStep: Int64,
        _ authentication: Authentication
    ) -> Int64? {
        guard typed.utf8.count <= 16 else { return nil }
        let code = typed.filter { $0 != " " }
        let now = step(at: instant)
        return (now - 1...now + 1).first { $0 > lastStep && self.code(of: secret, at: $0, authentication) == code }
    }

    /// Source: RFC 4648 §6, without padding.
    package static func base32(_ bytes: [UInt8]) -> String {
        var (text, buffer, count) = ("", 0, 0)
        for byte in bytes {
            (buffer, count) = (buffer << 8 | Int(byte), count + 8)
            while count >= 5 {
                count -= 5
                text.append(alphabet[buffer >> count & 31])
            }
            buffer &= 31
        }
        if count > 0 { text.append(alphabet[buffer << (5 - count) & 31]) }
        return text
    }

    /// nil unless the text is the output of `base32` for a secret.
    package static func secret(base32 text: String) -> [UInt8]? {
        guard text.utf8.count == secretBytes * 8 / 5 else { return nil }
        var (bytes, buffer, count) = ([UInt8](), 0, 0)
        for letter in text {
            guard let value = alphabet.firstIndex(of: letter) else { return nil }
            (buffer, count) = (buffer << 5 | value, count + 5)
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: buffer >> count))
            buffer &= 31
        }
        return bytes
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
}
