import Crypto
package import FoundationEssentials
import SwiftASN1
import X509

/// Proves that the person who enters a certificate has its key. All who see the certificate know its fingerprint, and the fingerprint leads
/// a sender's pushes to one platform: so without the key an operator has to enter it.
package enum CertificateProof {
    /// The text that the certificate's key signs, with SHA-256.
    package static func text(for platform: UUID) -> String { "belfry gateway \(platform.lowercased)" }

    /// - Parameter certificate: in DER.
    static func isValid(
        _ signature: [UInt8], by certificate: [UInt8], with fingerprint: [UInt8], for platform: UUID
    ) -> Bool {
        guard SHA256.hash(data: certificate).elementsEqual(fingerprint),
            let key = try? Certificate(derEncoded: certificate).publicKey
        else { return false }
        let text = Array(Self.text(for: platform).utf8)
        return [.sha256WithRSAEncryption, .ecdsaWithSHA256].contains { algorithm in
            key.isValidSignature(signature, for: text, signatureAlgorithm: algorithm)
        }
    }
}
