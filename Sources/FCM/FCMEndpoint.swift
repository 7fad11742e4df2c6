import HTTP2Client
import NIOSSL
import Outbound

/// The FCM to connect to.
public struct FCMEndpoint: Sendable, Hashable {
    public var host: String
    public var port: Int
    /// Certificates in PEM to trust instead of the system's, for simulators; the token server's too.
    public var trustRoots: String?

    /// Source: Firebase, REST reference of the FCM HTTP v1 API.
    public static let production = FCMEndpoint(host: "fcm.googleapis.com")

    public init(host: String, port: Int = 443, trustRoots: String? = nil) {
        self.host = host
        self.port = port
        self.trustRoots = trustRoots
    }

    func http2() throws(FCMCredentialsError) -> HTTP2Endpoint {
        do {
            return HTTP2Endpoint(
                host: host, port: port, tls: try Outbound.tls(trustRoots: trustRoots) ?? Outbound.standardTLS)
        } catch {
            throw FCMCredentialsError(.trustRoots, "the trust roots are not PEM certificates")
        }
    }
}
