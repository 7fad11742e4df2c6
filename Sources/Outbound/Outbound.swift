public import AsyncHTTPClient
public import NIOCore
public import NIOHTTP1
public import NIOSSL

/// One POST.
public struct OutboundRequest: Sendable {
    public var url: String
    public var headers: HTTPHeaders
    public var body: ByteBuffer
    /// Instead of the client's own.
    public var tls: TLSConfiguration?

    public init(url: String, headers: HTTPHeaders = [:], body: ByteBuffer, tls: TLSConfiguration? = nil) {
        self.url = url
        self.headers = headers
        self.body = body
        self.tls = tls
    }
}

/// Posts to providers that speak plain HTTP. Each request has a deadline, each answer a limit; no redirect is followed if
/// the client is set so, and none should be.
public struct Outbound: Sendable {
    private let client: HTTPClient
    private let names: AddressGuard?

    /// How much of an answer's body is read.
    public static let bodyBytesMax = 64 * 1_024

    /// - Parameter names: for a client with a proxy, which connects where we cannot see it: judges the hosts of URLs before
    ///   anything is sent.
    public init(_ client: HTTPClient, judgingNamesBy names: AddressGuard? = nil) {
        self.client = client
        self.names = names
    }

    /// Never throws, and ends when its task is cancelled.
    ///
    /// - Parameter deadline: until the head of the answer. What bounds the body is the cancellation of the task, see
    ///   ``fanOut(_:width:within:untried:_:)``.
    public func post(_ request: OutboundRequest, deadline: Duration) async -> OutboundAnswer {
        if let names, !names.permits(url: request.url) { return OutboundAnswer(AddressRefused()) }
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = .POST
        outgoing.headers = request.headers
        outgoing.body = .bytes(request.body)
        outgoing.tlsConfiguration = request.tls
        do {
            let response = try await client.execute(outgoing, timeout: TimeAmount(deadline))
            return .response(
                OutboundResponse(
                    status: Int(response.status.code), headers: response.headers,
                    body: try await Self.head(of: response.body)))
        } catch {
            return OutboundAnswer(error)
        }
    }

    private static func head(of body: HTTPClientResponse.Body) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in body {
            bytes.append(contentsOf: chunk.readableBytesView.prefix(bodyBytesMax - bytes.count))
            guard bytes.count < bodyBytesMax else { break }
        }
        return bytes
    }
}

extension Outbound {
    /// TLS as the client does it by default, with other roots than the system's and with a certificate of our own.
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
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let trustRoots {
            tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(trustRoots.utf8)))
        }
        if let certificate, let key {
            tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
        }
        return tls
    }
}
