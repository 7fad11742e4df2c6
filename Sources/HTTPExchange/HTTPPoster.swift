public import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// POSTs small bodies and reads small answers, over HTTP/2 or HTTP/1.1 as the far side likes. Follows no redirect if its
/// client does not.
public struct HTTPPoster: Sendable {
    private let client: HTTPClient
    private let tls: TLSConfiguration?
    private let keptHeaders: [String]
    private let bodyBytesMax: Int

    /// - Parameters:
    ///   - trustRoots: certificates in PEM to trust instead of the system's, for simulators.
    ///   - keptHeaders: of the answer, in lower case.
    ///   - bodyBytesMax: how much of an answer's body is read.
    public init(
        client: HTTPClient, trustRoots: [UInt8]? = nil, keptHeaders: [String] = [], bodyBytesMax: Int = 65_536
    ) throws(HTTPFault) {
        self.client = client
        self.keptHeaders = keptHeaders
        self.bodyBytesMax = bodyBytesMax
        guard let trustRoots else {
            tls = nil
            return
        }
        guard let roots = try? NIOSSLCertificate.fromPEMBytes(trustRoots), !roots.isEmpty else {
            throw HTTPFault("the trust roots are not PEM certificates")
        }
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.trustRoots = .certificates(roots)
        self.tls = tls
    }

    /// - Parameter deadline: for everything: connecting, waiting, the whole answer. Cancelling the task ends it at once.
    public func post(
        _ url: String, headers: [(String, String)], body: [UInt8], deadline: Duration
    ) async -> HTTPAnswer {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers = HTTPHeaders(headers)
        request.body = .bytes(ByteBuffer(bytes: body))
        request.tlsConfiguration = tls
        do {
            let response = try await client.execute(request, deadline: .now() + TimeAmount(deadline))
            return .response(try await reply(response))
        } catch {
            return HTTPAnswer(error)
        }
    }

    private func reply(_ response: HTTPClientResponse) async throws -> HTTPReply {
        var body: [UInt8] = []
        for try await piece in response.body {
            body.append(contentsOf: piece.readableBytesView.prefix(bodyBytesMax - body.count))
            if body.count == bodyBytesMax { break }
        }
        let now = Int64(Date().timeIntervalSince1970)
        var kept: [String: String] = [:]
        for name in keptHeaders { kept[name] = response.headers.first(name: name) }
        return HTTPReply(
            status: Int(response.status.code), body: body,
            retryAfter: response.headers.first(name: "retry-after").flatMap { RetryAfter.duration($0, now: now) },
            headers: kept)
    }
}

extension HTTPAnswer {
    /// What failed before there was a connection was certainly not sent.
    init(_ error: any Error) {
        let fault = HTTPFault("\(error)")
        switch error {
        case is NIOSSLError, is NIOSSLExtraError: self = .credentialsRefused(fault)
        case is NIOConnectionError, is SocketAddressError, is ChannelError: self = .unprocessed(fault)
        case let error as HTTPClientError where Self.unsent.contains(error): self = .unprocessed(fault)
        default: self = .unknown(fault)
        }
    }

    private static let unsent: [HTTPClientError] = [
        .connectTimeout, .tlsHandshakeTimeout, .socksHandshakeTimeout, .httpProxyHandshakeTimeout,
        .getConnectionFromPoolTimeout, .invalidProxyResponse, .proxyAuthenticationRequired, .invalidURL, .emptyHost,
        .emptyScheme, .alreadyShutdown,
    ]
}

extension TimeAmount {
    fileprivate init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
