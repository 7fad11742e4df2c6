import Crypto
import FoundationEssentials

/// A provider token from `authorization`: a JWT signed with ES256.
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

    /// Reads `bearer <JWT>`; nil when the scheme is another or the JWT is not one of ES256 with `kid`, `iss` and `iat`.
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
