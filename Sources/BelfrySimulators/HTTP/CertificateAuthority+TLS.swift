import NIOCore
import NIOSSL

extension CertificateAuthority {
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
