import Crypto

/// The stored form of API keys, platform secrets and admin keys. They are random, so a fast hash is enough.
package enum SecretHash {
    package static func of(_ secret: String) -> [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }

    /// HMAC for the codes of authenticator apps, which know SHA-1 alone. Source: RFC 6238 §1.2.
    package static let authentication: OneTimeCode.Authentication = { key, message in
        Array(HMAC<Insecure.SHA1>.authenticationCode(for: message, using: SymmetricKey(data: key)))
    }

    /// Compared with when there is no hash, so that the time taken reveals nothing. No secret hashes to it.
    static let unmatchable = [UInt8](repeating: 0, count: SHA256.byteCount)
}
