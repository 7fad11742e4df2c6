import Crypto

/// How API keys, platform secrets and admin keys are stored. They are random, so a fast hash does.
package enum SecretHash {
    package static func of(_ secret: String) -> [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }

    /// Compared with when there is nothing to compare with, so that the time taken tells nothing. No secret hashes to it.
    static let nobodys = [UInt8](repeating: 0, count: SHA256.byteCount)
}
