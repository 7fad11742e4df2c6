import Crypto
import CryptoExtras
package import FoundationEssentials
import SwiftASN1
import X509

/// A new certificate with its key for a sender of the gateway. It signs itself: the gateway knows it by its fingerprint.
package struct ClientCertificate: Sendable {
    /// The certificate in DER.
    package let certificate: [UInt8]
    /// The private key, PKCS #8 in DER.
    package let key: [UInt8]
    package let expiresAt: Date

    /// SHA-256 of the certificate.
    package var fingerprint: [UInt8] { Array(SHA256.hash(data: certificate)) }

    /// RSA, since old senders know no other.
    ///
    /// - Parameter name: of the subject, for people.
    package init(name: String, validity: Duration, now: Date = Date()) throws {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        // Certificates count seconds.
        let start = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
        expiresAt = start.addingTimeInterval(Double(validity.components.seconds))
        let subject = try DistinguishedName { CommonName(name) }
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
            notValidBefore: start.addingTimeInterval(-3_600), notValidAfter: expiresAt, issuer: subject,
            subject: subject,
            signatureAlgorithm: .sha256WithRSAEncryption,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.clientAuth])
            }, issuerPrivateKey: .init(key))
        self.certificate = try certificate.serializeAsPEM().derBytes
        self.key = Array(key.pkcs8DERRepresentation)
    }

    /// Made by the key over the text, with SHA-256: it shows that the certificate is the caller's.
    package func signature(of text: String) throws -> [UInt8] {
        let key = try _RSA.Signing.PrivateKey(derRepresentation: key)
        return Array(
            try key.signature(for: SHA256.hash(data: Array(text.utf8)), padding: .insecurePKCS1v1_5).rawRepresentation)
    }

    /// Both in a file of PKCS #12 that the passphrase opens.
    package func p12(passphrase: String) throws -> [UInt8] {
        try PKCS12(certificate: certificate, key: key, passphrase: passphrase).bytes
    }
}
