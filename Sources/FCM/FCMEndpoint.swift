import HTTP2Client
import NIOSSL

/// Which FCM to talk to.
public struct FCMEndpoint: Sendable, Hashable {
    public var host: String
    public var port: Int
    /// Certificates in PEM to trust instead of the system's, for simulators; the token server's too.
    public var trustRoots: [UInt8]?

    /// Source: Firebase, REST reference of the FCM HTTP v1 API.
    public static let production = FCMEndpoint(host: "fcm.googleapis.com")

    public init(host: String, port: Int = 443, trustRoots: [UInt8]? = nil) {
        self.host = host
        self.port = port
        self.trustRoots = trustRoots
    }

    func http2() throws(FCMCredentialsError) -> HTTP2Endpoint {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let trustRoots {
            guard let roots = try? NIOSSLCertificate.fromPEMBytes(trustRoots), !roots.isEmpty else {
                throw FCMCredentialsError(.trustRoots, "the trust roots are not PEM certificates")
            }
            tls.trustRoots = .certificates(roots)
        }
        return HTTP2Endpoint(host: host, port: port, tls: tls)
    }
}
