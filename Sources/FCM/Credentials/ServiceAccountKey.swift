import CryptoExtras
import FoundationEssentials
import KeyFiles
import Outbound

/// Signs the assertions with which a service account requests a token: JWTs with RS256.
///
/// Source: RFC 7523 §2.1; Google, "Using OAuth 2.0 for Server to Server Applications"; RFC 7518 §3.3 for RS256.
struct ServiceAccountKey: Sendable {
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// The longest lifetime that Google accepts.
    static let lifetime: Int64 = 3_600

    /// A signature takes eight times as long with a key of twice the length.
    static let bitsMax = 8_192

    private let key: _RSA.Signing.PrivateKey
    private let keyID: String?
    private let clientEmail: String
    private let audience: String

    init(pem: String, keyID: String?, clientEmail: String, audience: String) throws(FCMCredentialsError) {
        do {
            key = try _RSA.Signing.PrivateKey(derRepresentation: PEMFile(pem).privateKey())
            guard key.keySizeInBits <= Self.bitsMax else { throw FCMCredentialsError(.key, "") }
        } catch {
            throw FCMCredentialsError(
                .key, "private_key is not an RSA private key of 2,048 to \(Self.bitsMax) bits in PEM")
        }
        self.keyID = keyID
        self.clientEmail = clientEmail
        self.audience = audience
    }

    /// - Parameter now: Unix seconds.
    func assertion(at now: Int64) throws(FCMCredentialsError) -> String {
        let head = Head(kid: keyID)
        let claims = Claims(
            aud: audience, exp: now + Self.lifetime, iat: now, iss: clientEmail, scope: Self.scope)
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let signed = "\(Base64URL.encode(try encoder.encode(head))).\(Base64URL.encode(try encoder.encode(claims)))"
            return "\(signed).\(try signature(of: signed))"
        } catch {
            throw FCMCredentialsError(.signing, "the assertion could not be signed: \(error)")
        }
    }

    /// RS256, in Base64 for URLs.
    func signature(of text: String) throws -> String {
        Base64URL.encode(try key.signature(for: Data(text.utf8), padding: .insecurePKCS1v1_5).rawRepresentation)
    }

    private struct Head: Encodable {
        let alg = "RS256"
        let kid: String?
        let typ = "JWT"
    }

    private struct Claims: Encodable {
        let aud: String
        let exp: Int64
        let iat: Int64
        let iss: String
        let scope: String
    }
}
