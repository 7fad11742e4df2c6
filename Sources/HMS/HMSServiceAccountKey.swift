import CryptoExtras
import FoundationEssentials
import KeyFiles
import Outbound

/// Signs the access tokens of a service account: JWTs with PS256.
///
/// Source: Huawei, Push Kit, "Service account authentication"; RFC 7518 §3.5 for PS256.
struct HMSServiceAccountKey: Sendable {
    static let audience = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
    /// The longest lifetime that Huawei accepts, in seconds.
    static let lifetime: Int64 = 3_600

    /// A signature takes eight times as long with a key of twice the length.
    static let bitsMax = 8_192

    private let key: _RSA.Signing.PrivateKey
    private let head: String
    private let subAccount: String

    init(pem: String, keyID: String, subAccount: String) throws(HMSCredentialsError) {
        guard let key = try? _RSA.Signing.PrivateKey(derRepresentation: PEMFile(pem).privateKey()),
            key.keySizeInBits <= Self.bitsMax
        else {
            throw HMSCredentialsError(
                "private_key is not an RSA private key of 2,048 to \(Self.bitsMax) bits in PEM")
        }
        guard Outbound.isWord(keyID), Outbound.isWord(subAccount) else {
            throw HMSCredentialsError("key_id or sub_account is empty or holds other than visible ASCII")
        }
        self.key = key
        self.subAccount = subAccount
        let keyID = String(decoding: JSONText.quoted(keyID), as: UTF8.self)
        head = Base64URL.encode(#"{"alg":"PS256","kid":\#(keyID),"typ":"JWT"}"#.utf8)
    }

    /// - Parameter now: Unix seconds.
    func grant(at now: Int64) -> Result<AccessGrant, AccessTokenError> {
        let issuer = String(decoding: JSONText.quoted(subAccount), as: UTF8.self)
        let claims = #"{"aud":"\#(Self.audience)","exp":\#(now + Self.lifetime),"iat":\#(now),"iss":\#(issuer)}"#
        let signed = "\(head).\(Base64URL.encode(claims.utf8))"
        do {
            let signature = try key.signature(for: Array(signed.utf8), padding: .PSS)
            let token = "\(signed).\(Base64URL.encode(signature.rawRepresentation))"
            return .success(AccessGrant(token: token, lifetime: .seconds(Self.lifetime)))
        } catch {
            return .failure(AccessTokenError(isRefusal: true, "the access token could not be signed: \(error)"))
        }
    }
}
