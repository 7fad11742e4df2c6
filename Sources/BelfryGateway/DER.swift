import Crypto
import CryptoExtras
package import FoundationEssentials
import SwiftASN1
import X509

/// Writes the few forms of DER that a file of PKCS #12 has. Source: X.690.
enum DER {
    enum Identifier: String {
        case data = "1.2.840.113549.1.7.1"
        case certificateBag = "1.2.840.113549.1.12.10.1.3"
        case shroudedKeyBag = "1.2.840.113549.1.12.10.1.2"
        case x509Certificate = "1.2.840.113549.1.9.22.1"
        case localKeyID = "1.2.840.113549.1.9.21"
        case pbes2 = "1.2.840.113549.1.5.13"
        case pbkdf2 = "1.2.840.113549.1.5.12"
        case hmacSHA256 = "1.2.840.113549.2.9"
        case aes256CBC = "2.16.840.1.101.3.4.1.42"
        case sha256 = "2.16.840.1.101.3.4.2.1"
    }

    static let null: [UInt8] = [5, 0]

    static func sequence(_ content: [UInt8]) -> [UInt8] { node(0x30, content) }

    static func set(_ content: [UInt8]) -> [UInt8] { node(0x31, content) }

    static func octets(_ content: [UInt8]) -> [UInt8] { node(0x04, content) }

    static func explicit(_ number: UInt8, _ content: [UInt8]) -> [UInt8] { node(0xA0 | number, content) }

    static func integer(_ value: Int) -> [UInt8] {
        var bytes = base(256, value).map { UInt8($0) }
        if let first = bytes.first, first > 0x7F { bytes.insert(0, at: 0) }
        return node(0x02, bytes)
    }

    static func identifier(_ identifier: Identifier) -> [UInt8] {
        let parts = identifier.rawValue.split(separator: ".").compactMap { Int($0) }
        let numbers = [parts[0] * 40 + parts[1]] + parts.dropFirst(2)
        let content = numbers.flatMap { number in
            let groups = base(128, number)
            return groups.enumerated().map { UInt8($1) | ($0 < groups.count - 1 ? 0x80 : 0) }
        }
        return node(0x06, content)
    }

    /// A ContentInfo whose content is bytes.
    static func content(_ type: Identifier, _ bytes: [UInt8]) -> [UInt8] {
        sequence(identifier(type) + explicit(0, octets(bytes)))
    }

    private static func node(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        guard content.count > 0x7F else { return [tag, UInt8(content.count)] + content }
        let length = base(256, content.count).map { UInt8($0) }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }

    /// The digits of a number, at least one.
    private static func base(_ base: Int, _ value: Int) -> [Int] {
        var (digits, rest) = ([value % base], value / base)
        while rest > 0 {
            digits.insert(rest % base, at: 0)
            rest /= base
        }
        return digits
    }
}

/// A new certificate with its key for a sender of the gateway. It signs itself: the gateway knows it by its fingerprint.
package struct ClientCertificate: Sendable {
    /// The certificate in DER.
    package let certificate: [UInt8]
    /// The private key, PKCS #8 in DER.
    package let key: [UInt8]
    package let expiresAt: Date

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
