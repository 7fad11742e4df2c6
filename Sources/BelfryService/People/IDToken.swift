import Crypto
import CryptoExtras
import FoundationEssentials
import KeyFiles

/// An ID token in its compact form: read, but not believed before its key and its claims are checked.
///
/// Source: RFC 7515 §3.1, OpenID Connect Core 1.0 §2 and §3.1.3.7.
struct IDToken: Sendable {
    let algorithm: SigningKey.Algorithm
    /// nil where the header names no key.
    let keyID: String?
    let claims: JSONValue
    private let signed: [UInt8]
    private let signature: [UInt8]

    static let bytesMax = 32 << 10
    /// How far the issuer's clock may be from ours.
    static let skew = Duration.seconds(60)

    init(_ text: String) throws(SignOnFault) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard text.utf8.count <= Self.bytesMax, parts.count == 3,
            let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Data(base64URL: parts[2])
        else { throw SignOnFault("The ID token cannot be read.") }
        let name = header["alg"]?.stringValue ?? ""
        guard let algorithm = SigningKey.Algorithm(rawValue: name) else {
            throw SignOnFault("The ID token is signed by another algorithm than RS256 and ES256.")
        }
        // What an extension demands we would not do. Source: RFC 7515 §4.1.11.
        guard header["crit"] == nil else { throw SignOnFault("The ID token demands an extension.") }
        self.algorithm = algorithm
        self.claims = claims
        self.signature = Array(signature)
        keyID = header["kid"]?.stringValue
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    /// Whether one of these keys made the signature.
    func isSigned(by keys: [SigningKey]) -> Bool {
        keys.contains { key in
            key.algorithm == algorithm && (keyID == nil || key.id == keyID) && key.isValid(signature, of: signed)
        }
    }

    /// - Parameter nonce: what this login asked the issuer to put into the token.
    func check(of issuer: Issuer, nonce: String, at now: Instant) throws(SignOnFault) {
        guard claims["iss"]?.stringValue == issuer.url else { throw SignOnFault("The ID token is of another issuer.") }
        guard audience.contains(issuer.clientID) else { throw SignOnFault("The ID token is for another client.") }
        let party = claims["azp"]?.stringValue
        guard party == issuer.clientID || (party == nil && audience.count == 1) else {
            throw SignOnFault("The ID token was issued to another client.")
        }
        guard let expiry = Self.instant(claims["exp"]), now < expiry + Self.skew else {
            throw SignOnFault("The ID token has expired. Is the clock of this server right?")
        }
        guard let issued = Self.instant(claims["iat"]), issued <= now + Self.skew,
            (Self.instant(claims["nbf"]) ?? issued) <= now + Self.skew
        else { throw SignOnFault("The ID token is from the future. Is the clock of this server right?") }
        guard claims["nonce"]?.stringValue == nonce else { throw SignOnFault("The ID token is of another login.") }
        guard let subject = claims["sub"]?.stringValue, !subject.isEmpty,
            subject.utf8.count <= PersonIdentity.subjectBytesMax
        else { throw SignOnFault("The ID token has no valid subject.") }
    }

    var audience: [String] {
        switch claims["aud"] {
        case .string(let one): [one]
        case .array(let all): all.compactMap(\.stringValue)
        default: []
        }
    }

    private static func object(_ part: String) -> JSONValue? {
        guard let bytes = Data(base64URL: part), let value = try? JSONValue(json: bytes), case .object = value else {
            return nil
        }
        return value
    }

    /// Seconds since 1970, which some issuers give with a fraction.
    static func instant(_ value: JSONValue?) -> Instant? {
        switch value {
        case .integer(let seconds) where (0..<1 << 40).contains(seconds): Instant(milliseconds: seconds * 1_000)
        case .number(let seconds) where (0..<1e12).contains(seconds.double):
            Instant(milliseconds: Int64(seconds.double * 1_000))
        default: nil
        }
    }
}

/// A public key by which an issuer signs. Source: RFC 7517, RFC 7518 §6.
struct SigningKey: Sendable {
    /// The two that issuers use; `none` and the symmetric ones are never taken. Source: RFC 7518 §3.1.
    enum Algorithm: String, Sendable { case rs256 = "RS256", es256 = "ES256" }

    private enum Material: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
    }

    let id: String?
    private let material: Material

    var algorithm: Algorithm {
        switch material {
        case .rsa: .rs256
        case .p256: .es256
        }
    }

    /// nil for keys of other kinds and uses, which a set may have too.
    init?(_ jwk: JSONValue) {
        guard jwk["use"].map({ $0.stringValue == "sig" }) ?? true else { return nil }
        func number(_ name: String) -> Data? { jwk[name]?.stringValue.flatMap { Data(base64URL: $0) } }
        let declared = jwk["alg"]?.stringValue
        switch jwk["kty"]?.stringValue {
        case "RSA":
            // A modulus of 2,048 bits at least (RFC 7518 §3.3), and of no more than costs us little.
            guard declared ?? "RS256" == "RS256", let n = number("n"), let e = number("e"),
                (256...1_024).contains(n.count), e.count <= 8,
                let key = try? _RSA.Signing.PublicKey(n: n, e: e)
            else { return nil }
            material = .rsa(key)
        case "EC":
            guard declared ?? "ES256" == "ES256", jwk["crv"]?.stringValue == "P-256", let x = number("x"),
                let y = number("y"), x.count == 32, y.count == 32,
                let key = try? P256.Signing.PublicKey(rawRepresentation: x + y)
            else { return nil }
            material = .p256(key)
        default: return nil
        }
        id = jwk["kid"]?.stringValue
    }

    func isValid(_ signature: [UInt8], of signed: [UInt8]) -> Bool {
        switch material {
        case .rsa(let key):
            key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature), for: SHA256.hash(data: signed),
                padding: .insecurePKCS1v1_5)
        case .p256(let key):
            (try? P256.Signing.ECDSASignature(rawRepresentation: signature))
                .map { key.isValidSignature($0, for: SHA256.hash(data: signed)) } ?? false
        }
    }
}

extension Data {
    /// Decodes the alphabet for URLs, without padding. Source: RFC 7515 §2.
    init?(base64URL text: String) {
        guard let bytes = Base64.decode(text.utf8, of: .url) else { return nil }
        self.init(bytes)
    }

    var base64URL: String { Base64.encode(self) }
}

/// A login by an issuer that failed, in words for the person and the log. Never holds values that were sent.
package struct SignOnFault: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
