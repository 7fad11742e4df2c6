import KeyFiles
public import NIOSSL

extension Outbound {
    /// TLS 1.2 or above, with the roots of the system.
    public static var standardTLS: TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        return tls
    }

    /// ``standardTLS`` with other roots than the system's and with a certificate of our own.
    ///
    /// - Parameters:
    ///   - trustRoots: certificates in PEM.
    ///   - certificate: a chain in PEM, the leaf first.
    ///   - key: its private key in PEM.
    /// - Returns: nil when there is nothing to set.
    public static func tls(trustRoots: String?, certificate: String? = nil, key: String? = nil) throws
        -> TLSConfiguration?
    {
        guard trustRoots != nil || certificate != nil else { return nil }
        var tls = standardTLS
        if let trustRoots {
            tls.trustRoots = .certificates(try PEMFile.certificates(in: Array(trustRoots.utf8)))
        }
        if let certificate, let key {
            tls.certificateChain = try PEMFile.certificates(in: Array(certificate.utf8)).map { .certificate($0) }
            tls.privateKey = .privateKey(try PEMFile.privateKey(in: Array(key.utf8)))
        }
        return tls
    }
}
