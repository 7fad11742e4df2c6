import NIOCore
public import NIOSSL

/// The address of a server and the TLS configuration.
public struct HTTP2Endpoint: Sendable {
    /// A host name or an IP address; resolved anew for each connection.
    public var host: String
    public var port: Int
    /// The name in the server's certificate, if not ``host``.
    public var serverName: String?
    /// Trust roots, client certificate, versions. ALPN is set by the connection, verification is always full.
    public var tls: TLSConfiguration

    public init(
        host: String, port: Int = 443, serverName: String? = nil,
        tls: TLSConfiguration = .makeClientConfiguration()
    ) {
        self.host = host
        self.port = port
        self.serverName = serverName
        self.tls = tls
    }

    package var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == 443 ? name : "\(name):\(port)"
    }

    /// Reads trust roots and keys once, to be shared by all connections to the endpoint.
    func makeContext() throws(HTTP2ConnectError) -> NIOSSLContext {
        try Self.makeContext(tls, protocols: ["h2"])
    }

    /// - Parameter protocols: what ALPN offers, the best first.
    package static func makeContext(
        _ tls: TLSConfiguration, protocols: [String]
    ) throws(HTTP2ConnectError) -> NIOSSLContext {
        var tls = tls
        tls.applicationProtocols = protocols
        tls.certificateVerification = .fullVerification
        // A dead peer never completes the shutdown; closing must not wait for it much beyond its own deadline.
        tls.shutdownTimeout = .milliseconds(500)
        do {
            return try NIOSSLContext(configuration: tls)
        } catch {
            throw HTTP2ConnectError(code: .invalid, reason: "the TLS configuration cannot be used: \(error)")
        }
    }
}
