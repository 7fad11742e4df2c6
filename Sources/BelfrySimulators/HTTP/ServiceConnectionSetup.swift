import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS

/// Sets up an accepted TCP connection: TLS and the HTTP that both sides speak, or a refused handshake.
struct ServiceConnectionSetup: Sendable {
    private let handler: ServiceHandler
    private let provider: any SimulatedProvider
    private let tls: NIOSSLContext?
    private let believesAnyCertificate: Bool

    init(
        handler: ServiceHandler, provider: any SimulatedProvider, authority: CertificateAuthority,
        clientCertificates: ClientCertificates
    ) throws {
        let speaksHTTP2 = handler.habits.speaksHTTP2 && handler.listening.offersHTTP2
        let protocols = (speaksHTTP2 ? ["h2"] : []) + (handler.habits.speaksHTTP1 ? ["http/1.1"] : [])
        self.handler = handler
        self.provider = provider
        self.believesAnyCertificate = if case .any = clientCertificates { true } else { false }
        self.tls =
            handler.listening.isSecure
            ? try NIOSSLContext(configuration: Self.tls(authority, protocols, clientCertificates)) : nil
    }

    private static func tls(
        _ authority: CertificateAuthority, _ protocols: [String], _ certificates: ClientCertificates
    ) throws -> TLSConfiguration {
        var tls = try authority.serverTLS(protocols: protocols)
        switch certificates {
        case .none: break
        case .any: tls.certificateVerification = .noHostnameVerification
        case .signed(let trusted):
            tls.certificateVerification = .noHostnameVerification
            tls.trustRoots = .certificates(
                try NIOSSLCertificate.fromPEMBytes(Array((trusted ?? authority.certificatePEM).utf8)))
        }
        return tls
    }

    func listen(port: Int, group: any EventLoopGroup) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 64 * 1024))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try open(to: channel) }
            }
            .bind(host: handler.listening.host, port: port).get()
    }

    private func open(to channel: any Channel) throws {
        let ordinal = handler.ledger.numberConnection()
        let pipeline = channel.pipeline.syncOperations
        if let alert = refusal(ofConnection: ordinal) {
            handler.ledger.recordConnection { $0.refused += 1 }
            return try pipeline.addHandler(HandshakeRefusal(alert: alert))
        }
        handler.connections.add(channel)
        guard let tls else { return try speakHTTP1(on: channel, ordinal) }
        try pipeline.addHandler(tlsHandler(tls))
        guard handler.habits.speaksHTTP1 else {
            return try pipeline.addHandler(provider.handler(at: handler, ordinal: ordinal, overHTTP2: true))
        }
        try pipeline.addHandler(
            ApplicationProtocolNegotiationHandler { result, channel in
                channel.eventLoop.makeCompletedFuture { try speak(result, on: channel, ordinal) }
            })
    }

    private func tlsHandler(_ tls: NIOSSLContext) -> NIOSSLServerHandler {
        guard believesAnyCertificate else { return NIOSSLServerHandler(context: tls) }
        return NIOSSLServerHandler(context: tls) { _, verified in verified.succeed(.certificateVerified) }
    }

    private func speak(_ result: ALPNResult, on channel: any Channel, _ ordinal: Int) throws {
        switch result {
        case .negotiated("h2"):
            try channel.pipeline.syncOperations.addHandler(
                provider.handler(at: handler, ordinal: ordinal, overHTTP2: true))
        case .negotiated, .fallback: try speakHTTP1(on: channel, ordinal)
        }
    }

    private func speakHTTP1(on channel: any Channel, _ ordinal: Int) throws {
        try channel.pipeline.syncOperations.configureHTTPServerPipeline()
        try channel.pipeline.syncOperations.addHandler(
            provider.handler(at: handler, ordinal: ordinal, overHTTP2: false))
    }

    private func refusal(ofConnection ordinal: Int) -> UInt8? {
        for armed in handler.currentScript.faults {
            guard case .refuseHandshake(let alert) = armed.fault.then else { continue }
            if armed.matches(.init(connection: ordinal)) { return alert ?? HandshakeRefusal.handshakeFailure }
        }
        return nil
    }
}
