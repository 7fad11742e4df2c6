import FoundationEssentials
import KeyFiles
import NIOSSL

/// A client certificate with its key and chain.
struct APNsCertificate: Sendable {
    /// Unix seconds.
    let notAfter: Int64
    /// The UID of the subject, which is the bundle id, or the topic of an MDM certificate.
    let topic: String?
    private let chain: [NIOSSLCertificate]
    private let key: NIOSSLPrivateKey

    init(p12: [UInt8], passphrase: String, now: Int64) throws(APNsCredentialsError) {
        let file: PKCS12File
        do throws(KeyFileError) {
            file = try PKCS12File(p12, passphrase: passphrase)
        } catch {
            throw APNsCredentialsError(error)
        }
        try self.init(chain: file.certificates, key: file.key, now: now)
    }

    /// - Parameters:
    ///   - chain: certificates in DER, that of the key first.
    ///   - key: PKCS#8 in DER.
    init(chain: [[UInt8]], key: [UInt8], now: Int64) throws(APNsCredentialsError) {
        do {
            self.chain = try chain.map { try NIOSSLCertificate(bytes: $0, format: .der) }
            self.key = try NIOSSLPrivateKey(bytes: key, format: .der)
        } catch {
            throw APNsCredentialsError(
                .p12, "the certificate or its key is damaged, or of a kind that is not supported")
        }
        guard let leaf = self.chain.first else { throw APNsCredentialsError(.incomplete, "there is no certificate") }
        notAfter = Int64(leaf.notValidAfter)
        guard now <= notAfter else {
            throw APNsCredentialsError(.expired, "the certificate expired on \(Self.date(notAfter))")
        }
        guard now >= Int64(leaf.notValidBefore) else {
            throw APNsCredentialsError(
                .notYetValid, "the certificate is valid from \(Self.date(Int64(leaf.notValidBefore))) on")
        }
        topic = chain.first.flatMap { APNsCertificateFacts(der: $0) }?.topic
    }

    func present(in tls: inout TLSConfiguration) {
        tls.certificateChain = chain.map { .certificate($0) }
        tls.privateKey = .privateKey(key)
    }

    private static func date(_ time: Int64) -> String {
        Date(timeIntervalSince1970: Double(time)).formatted(.iso8601)
    }
}

extension APNsCredentialsError {
    fileprivate init(_ error: KeyFileError) {
        let code: Code =
            switch error.kind {
            case .passphrase: .passphrase
            case .incomplete: .incomplete
            case .mismatch: .keyMismatch
            case .format, .cost, .unsupported: .p12
            }
        self.init(code, error.reason)
    }
}
