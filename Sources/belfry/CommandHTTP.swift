import Foundation
import HTTP2Client
import NIOCore
import NIOPosix
import NIOSSL
import Outbound

/// Requests of a command to one server, over the connections that providers are posted to by; no proxy is used.
struct CommandHTTP: Sendable {
    private let connections: HostConnections
    private let tls: TLSConfiguration?
    private let deadline: Duration

    /// - Parameter roots: certificates to trust instead of the system's.
    init(trusting roots: [NIOSSLCertificate]? = nil, connectDeadline: Duration, deadline: Duration) {
        var configuration = HostConnections.Configuration()
        configuration.connectDeadline = connectDeadline
        connections = HostConnections(configuration, on: .singletonMultiThreadedEventLoopGroup)
        var tls = TLSConfiguration.makeClientConfiguration()
        if let roots { tls.trustRoots = .certificates(roots) }
        self.tls = tls
        self.deadline = deadline
    }

    func shutdown() async { await connections.shutdown() }

    /// - Parameters:
    ///   - url: as people type it: other letters in host and path get their form in ASCII, a user is left out.
    ///   - headers: by their names in lowercase.
    func ask(
        _ method: String, _ url: String, _ headers: [String: String], _ body: [UInt8] = []
    ) async throws(OutboundFault) -> OutboundResponse {
        var address = URLComponents(string: url)
        address?.user = nil
        address?.password = nil
        var request = OutboundRequest(
            method, address?.string ?? url, headers: headers.map { HTTP2Header($0, $1) }, body: body)
        request.tls = tls
        request.answerBytesMax = 16 << 20
        switch await Outbound(connections: connections).ask(request, deadline: deadline) {
        case .response(let response): return response
        case .unprocessed(let fault), .unknown(let fault): throw fault
        }
    }
}

extension OutboundFault {
    /// The reason of a fault of TLS, without what all of them have in common.
    var tlsWords: String { description.replacing("TLS failed: ", with: "") }
}
