import Crypto
import FoundationEssentials
import NIOCore
import NIOSSL
import SwiftASN1
import X509

/// A new certificate authority for simulators and their clients.
package struct CertificateAuthority: Sendable {
    /// A certificate with its key.
    package struct Identity: Sendable {
        package let certificatePEM: String
        package let certificateDER: [UInt8]
        package let privateKeyPEM: String
    }

    package let certificatePEM: String
    /// Its key, for another start of the same simulator.
    package var privateKeyPEM: String { key.pemRepresentation }
    private let key: P256.Signing.PrivateKey
    private let name: DistinguishedName

    package init(commonName: String = "Belfry Simulators CA") throws {
        key = P256.Signing.PrivateKey()
        name = try DistinguishedName { CommonName(commonName) }
        let certificate = try Self.sign(
            subject: name, key: key.publicKey, issuer: name, with: key,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            })
        certificatePEM = try certificate.serializeAsPEM().pemString
    }

    /// The authority of an earlier start; nil when these are not one, or it has less than a day to live.
    package init?(certificatePEM: String, privateKeyPEM: String) {
        guard let certificate = try? Certificate(pemEncoded: certificatePEM),
            let key = try? P256.Signing.PrivateKey(pemRepresentation: privateKeyPEM),
            certificate.publicKey == Certificate.PublicKey(key.publicKey),
            certificate.notValidAfter > Date() + 86_400
        else { return nil }
        self.certificatePEM = certificatePEM
        self.key = key
        name = certificate.subject
    }

    /// A server certificate for `localhost` and the loopback addresses.
    package func issueServer() throws -> Identity {
        let names: [GeneralName] = [
            .dnsName("localhost"),
            .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
            .ipAddress(ASN1OctetString(contentBytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])),
        ]
        return try issue(
            try DistinguishedName { CommonName("localhost") },
            try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(names)
            })
    }

    /// A client certificate as Apple gives to a provider, with the topic in the `UID` of the subject.
    package func issueClient(topic: String) throws -> Identity {
        let subject = DistinguishedName([
            .init([.init(type: Self.userID, utf8String: topic)]),
            .init([.init(type: .RDNAttributeType.commonName, utf8String: "Apple Push Services: \(topic)")]),
        ])
        return try issue(
            subject,
            try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.clientAuth])
            })
    }

    /// The `UID` of a certificate's subject, which is the topic of a provider's certificate.
    static func topic(inCertificate der: [UInt8]) -> String? {
        guard let certificate = try? Certificate(derEncoded: der) else { return nil }
        for attribute in certificate.subject.flatMap(Array.init) where attribute.type == userID {
            return String(attribute.value)
        }
        return nil
    }

    /// Source: RFC 4519 §2.39, `uid`.
    private static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]

    private func issue(_ subject: DistinguishedName, _ extensions: Certificate.Extensions) throws -> Identity {
        let leaf = P256.Signing.PrivateKey()
        let certificate = try Self.sign(
            subject: subject, key: leaf.publicKey, issuer: name, with: key, extensions: extensions)
        let pem = try certificate.serializeAsPEM()
        return Identity(
            certificatePEM: pem.pemString, certificateDER: pem.derBytes, privateKeyPEM: leaf.pemRepresentation)
    }

    private static func sign(
        subject: DistinguishedName, key: P256.Signing.PublicKey,
        issuer: DistinguishedName, with issuerKey: P256.Signing.PrivateKey,
        extensions: Certificate.Extensions
    ) throws -> Certificate {
        let now = Date()
        return try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key),
            notValidBefore: now - 86_400, notValidAfter: now + 365 * 86_400, issuer: issuer, subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(issuerKey))
    }

    /// TLS 1.2 or newer with a fresh certificate for this machine.
    ///
    /// - Parameter protocols: the protocols of ALPN, in order of preference.
    func serverTLS(protocols: [String]) throws -> TLSConfiguration {
        let server = try issueServer()
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(server.certificatePEM.utf8))
                .map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(server.privateKeyPEM.utf8), format: .pem)))
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = protocols
        // A client that is silent on purpose must not delay the end of a test.
        tls.shutdownTimeout = .milliseconds(500)
        return tls
    }
}
