public import AsyncHTTPClient
import FoundationEssentials
public import NIOCore
public import NIOHTTP1
public import NIOSSL

/// One POST.
public struct OutboundRequest: Sendable {
    public var url: String
    public var headers: HTTPHeaders
    public var body: ByteBuffer
    /// In place of the client's own.
    public var tls: TLSConfiguration?
    /// The limit on the answer's body.
    public var answerBytesMax: Int

    public init(
        url: String, headers: HTTPHeaders = [:], body: ByteBuffer, tls: TLSConfiguration? = nil,
        answerBytesMax: Int = 64 * 1_024
    ) {
        self.url = url
        self.headers = headers
        self.body = body
        self.tls = tls
        self.answerBytesMax = answerBytesMax
    }
}

/// Posts to providers that use plain HTTP. Each request has a deadline, each answer a limit; the client should be
/// configured to follow no redirects.
public struct Outbound: Sendable {
    private let client: HTTPClient
    private let names: AddressGuard?
    private let hosts: HostPolicy?

    /// - Parameters:
    ///   - names: for a client with a proxy, which connects out of our sight: checks the hosts of URLs before anything is
    ///     sent.
    ///   - hosts: for a client that connects directly: checks the addresses of hosts before connecting.
    public init(_ client: HTTPClient, judgingNamesBy names: AddressGuard? = nil, hostsBy hosts: HostPolicy? = nil) {
        self.client = client
        self.names = names
        self.hosts = hosts
    }

    /// Never throws, and ends when its task is cancelled.
    ///
    /// - Parameter deadline: for everything: connecting, waiting, the whole answer.
    public func post(_ request: OutboundRequest, deadline: Duration) async -> OutboundAnswer {
        guard Self.hasPort(request.url) else { return OutboundAnswer(HTTPClientError.invalidURL) }
        if let names, !names.permits(url: request.url) { return OutboundAnswer(AddressRefused()) }
        switch await hosts?.verdict(on: request.url) {
        case .permitted, nil: break
        case .refused: return OutboundAnswer(AddressRefused())
        case .unresolved: return .unprocessed(.unresolved)
        }
        let lapsesAt = ContinuousClock.now + deadline
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
                    body: try await Self.body(of: response, upTo: request.answerBytesMax, until: lapsesAt)))
        } catch is AddressRefused where hosts != nil {
            // The name resolved to something else a moment before. The error must not reveal whether something listens
            // there.
            return .unprocessed(.noConnection)
        } catch {
            return OutboundAnswer(error, isGuarded: names != nil || hosts != nil)
        }
    }

    /// Connects to the host of a URL, including TLS, and sends a meaningless request. Returns nil when an answer comes,
    /// whatever it is.
    public func reach(_ url: String, tls: TLSConfiguration? = nil, deadline: Duration) async -> OutboundFault? {
        switch await post(OutboundRequest(url: url, body: ByteBuffer(), tls: tls), deadline: deadline) {
        case .response: nil
        case .unprocessed(let fault), .unknown(let fault): fault
        }
    }

    /// Whether the URL's port is valid: the client, which accepts any number, would crash the process with others.
    static func hasPort(_ url: String) -> Bool {
        guard let port = URL(string: url)?.port else { return true }
        return 1...65_535 ~= port
    }

    /// The client's own deadline ends with the head of the answer.
    private static func body(
        of response: HTTPClientResponse, upTo bytesMax: Int, until lapsesAt: ContinuousClock.Instant
    ) async throws -> [UInt8] {
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            group.addTask { try await head(of: response.body, bytesMax) }
            group.addTask {
                try await Task.sleep(until: lapsesAt, clock: .continuous)
                throw CancellationError()
            }
            defer { group.cancelAll() }
            return try await group.next() ?? []
        }
    }

    private static func head(of body: HTTPClientResponse.Body, _ bytesMax: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in body {
            bytes.append(contentsOf: chunk.readableBytesView.prefix(bytesMax - bytes.count))
            guard bytes.count < bytesMax else { break }
        }
        return bytes
    }
}

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
    /// - Returns: nil when nothing has to be set.
    public static func tls(trustRoots: String?, certificate: String? = nil, key: String? = nil) throws
        -> TLSConfiguration?
    {
        guard trustRoots != nil || certificate != nil else { return nil }
        var tls = standardTLS
        if let trustRoots {
            let roots = try NIOSSLCertificate.fromPEMBytes(Array(trustRoots.utf8))
            guard !roots.isEmpty else { throw NIOSSLError.failedToLoadCertificate }
            tls.trustRoots = .certificates(roots)
        }
        if let certificate, let key {
            tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
        }
        return tls
    }
}
