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

    /// The value of `:authority`.
    var authority: String { port == 443 ? host : "\(host):\(port)" }

    /// Reads trust roots and keys once, to be shared by all connections to the endpoint.
    func makeContext() throws(HTTP2ConnectError) -> NIOSSLContext {
        var tls = tls
        tls.applicationProtocols = ["h2"]
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
