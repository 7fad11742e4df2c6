import HTTP2Client
import KeyFiles
import NIOSSL

/// The APNs to connect to.
public struct APNsEndpoint: Sendable, Hashable {
    public var host: String
    public var port: Int
    /// The name in the server's certificate, if not ``host``.
    public var serverName: String?
    /// Certificates in PEM to trust instead of the system's, for simulators.
    public var trustRoots: [UInt8]?

    /// Source: Apple, "Sending notification requests to APNs".
    public static let production = APNsEndpoint(host: "api.push.apple.com")
    public static let sandbox = APNsEndpoint(host: "api.sandbox.push.apple.com")

    /// The endpoint for managing broadcast channels. Source: Apple, "Sending channel management requests to APNs".
    public static let channels = APNsEndpoint(host: "api-manage-broadcast.push.apple.com", port: 2_196)
    public static let sandboxChannels = APNsEndpoint(
        host: "api-manage-broadcast.sandbox.push.apple.com", port: 2_195)

    /// The port APNs serves besides 443, for firewalls that let only this one through.
    public static let alternatePort = 2_197

    public init(host: String, port: Int = 443, serverName: String? = nil, trustRoots: [UInt8]? = nil) {
        self.host = host
        self.port = port
        self.serverName = serverName
        self.trustRoots = trustRoots
    }

    /// This endpoint on port 2197.
    public var onAlternatePort: APNsEndpoint {
        var endpoint = self
        endpoint.port = Self.alternatePort
        return endpoint
    }

    func http2(presenting certificate: APNsCertificate?) throws(APNsCredentialsError) -> HTTP2Endpoint {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let trustRoots {
            guard let roots = try? PEMFile.certificates(in: trustRoots) else {
                throw APNsCredentialsError(.trustRoots, "the trust roots are not PEM certificates")
            }
            tls.trustRoots = .certificates(roots)
        }
        certificate?.present(in: &tls)
        return HTTP2Endpoint(host: host, port: port, serverName: serverName, tls: tls)
    }
}
