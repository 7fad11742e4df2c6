import Crypto
import FoundationEssentials

/// A provider token as it came in `authorization`: a JWT signed with ES256.
///
/// Source: Apple, "Establishing a token-based connection to APNs".
struct ProviderToken: Equatable {
    var keyID: String
    var teamID: String
    /// Seconds since 1970.
    var issuedAt: Int64
    var signature: [UInt8]
    /// The bytes the signature covers: header and claims as sent.
    var signed: [UInt8]

    /// Reads `bearer <JWT>`; nil when the word is another or the JWT is not one of ES256 with `kid`, `iss` and `iat`.
    init?(jwt: String) {
        let parts = jwt.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Self.decode(Header.self, parts[0]), header.alg == "ES256",
            let claims = Self.decode(Claims.self, parts[1]),
            let signature = Base64URL.decode(parts[2]), signature.count == 64
        else { return nil }
        self.keyID = header.kid
        self.teamID = claims.iss
        self.issuedAt = claims.iat
        self.signature = signature
        self.signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return key.isValidSignature(signature, for: signed)
    }

    private static func decode<T: Decodable>(_ type: T.Type, _ part: Substring) -> T? {
        guard let bytes = Base64URL.decode(part) else { return nil }
        return try? JSONDecoder().decode(type, from: Data(bytes))
    }

    private struct Header: Decodable {
        var alg: String
        var kid: String
    }

    private struct Claims: Decodable {
        var iss: String
        var iat: Int64

        enum CodingKeys: CodingKey { case iss, iat }

        /// Apple also takes `iat` as a string: APNSwift writes it so.
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            iss = try container.decode(String.self, forKey: .iss)
            if let text = try? container.decode(String.self, forKey: .iat), let seconds = Int64(text) {
                iat = seconds
            } else {
                iat = try container.decode(Int64.self, forKey: .iat)
            }
        }
    }
}

/// Base64 with the alphabet of RFC 4648 §5 and no padding.
enum Base64URL {
    static func decode(_ text: Substring) -> [UInt8]? {
        var standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        standard += String(repeating: "=", count: (4 - standard.count % 4) % 4)
        return Data(base64Encoded: standard).map(Array.init)
    }

    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let standard = Data(bytes).base64EncodedString()
        return String(standard.compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 })
    }
}
