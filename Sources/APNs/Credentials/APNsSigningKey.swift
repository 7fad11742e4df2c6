import Crypto
import KeyFiles

/// Signs provider tokens: JWTs with ES256.
///
/// Source: Apple, "Establishing a token-based connection to APNs"; RFC 7515 for the form, RFC 7518 §3.4 for ES256.
struct APNsSigningKey: Sendable {
    private let key: P256.Signing.PrivateKey
    private let keyID: String
    private let teamID: String

    init(p8: String, keyID: String, teamID: String) throws(APNsCredentialsError) {
        try Self.check(keyID, "key id", .keyIdentifier)
        try Self.check(teamID, "team id", .teamIdentifier)
        self.keyID = keyID
        self.teamID = teamID
        // The key of a certificate signs no tokens.
        guard let file = try? PEMFile(p8), !file.blocks.contains(where: { $0.label == "CERTIFICATE" }),
            let der = try? file.privateKey(), let key = try? P256.Signing.PrivateKey(derRepresentation: der)
        else {
            throw APNsCredentialsError(
                .key, "the p8 text is not a P-256 private key in PEM, but \(PEMFile.words(for: p8))")
        }
        self.key = key
    }

    /// - Parameter issuedAt: Unix seconds.
    func token(issuedAt: Int64) throws(APNsCredentialsError) -> [UInt8] {
        let head = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(keyID)","typ":"JWT"}"#.utf8))
        let claims = Base64URL.encode(Array(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8))
        let signed = head + [UInt8(ascii: ".")] + claims
        do {
            let signature = try key.signature(for: signed)
            return signed + [UInt8(ascii: ".")] + Base64URL.encode(Array(signature.rawRepresentation))
        } catch {
            throw APNsCredentialsError(.signing, "the provider token could not be signed: \(error)")
        }
    }

    /// They are put into JSON unescaped. Source: Apple, "Establishing a token-based connection to APNs", both have ten
    /// characters.
    private static func check(
        _ identifier: String, _ name: String, _ code: APNsCredentialsError.Code
    ) throws(APNsCredentialsError) {
        let isPlain = identifier.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: false
            }
        }
        guard identifier.utf8.count == 10, isPlain else {
            throw APNsCredentialsError(code, "the \(name) must be letters and digits, ten of them")
        }
    }
}

/// Base64 for URLs, without padding. Source: RFC 4648 §5.
///
/// `Outbound` has one too; this target does not import it, since it needs no HTTP/1.1 client.
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> UInt32(count)) & 63])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << UInt32(6 - count)) & 63]) }
        return text
    }
}
