import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS

/// Decides what stands behind an accepted TCP connection: TLS and the HTTP that both sides speak, or a refused handshake.
struct ServiceDoor: Sendable {
    private let station: Station
    private let tls: NIOSSLContext?

    init(station: Station, authority: CertificateAuthority) throws {
        let protocols = (station.habits.speaksHTTP2 ? ["h2"] : []) + (station.habits.speaksHTTP1 ? ["http/1.1"] : [])
        self.station = station
        self.tls =
            station.listening.isSecure
            ? try NIOSSLContext(configuration: Self.tls(authority, protocols, station.listening)) : nil
    }

    private static func tls(
        _ authority: CertificateAuthority, _ protocols: [String], _ listening: Listening
    ) throws -> TLSConfiguration {
        var tls = try authority.serverTLS(protocols: protocols)
        guard listening.needsClientCertificate else { return tls }
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.certificatePEM.utf8)))
        tls.certificateVerification = .noHostnameVerification
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
            .bind(host: station.listening.host, port: port).get()
    }

    private func open(to channel: any Channel) throws {
        let ordinal = station.ledger.numberConnection()
        let pipeline = channel.pipeline.syncOperations
        if let alert = refusal(ofConnection: ordinal) {
            station.ledger.recordConnection { $0.refused += 1 }
            return try pipeline.addHandler(HandshakeRefusal(alert: alert))
        }
        station.roster.add(channel)
        guard let tls else { return try speakHTTP1(on: channel, ordinal) }
        try pipeline.addHandler(NIOSSLServerHandler(context: tls))
        try pipeline.addHandler(
            ApplicationProtocolNegotiationHandler { result, channel in
                channel.eventLoop.makeCompletedFuture { try speak(result, on: channel, ordinal) }
            })
    }

    private func speak(_ result: ALPNResult, on channel: any Channel, _ ordinal: Int) throws {
        switch result {
        case .negotiated("h2"):
            try channel.pipeline.syncOperations.addHandler(HTTP2Conversation(station: station, ordinal: ordinal))
        case .negotiated, .fallback:
            guard station.habits.speaksHTTP1 else { return channel.close(promise: nil) }
            try speakHTTP1(on: channel, ordinal)
        }
    }

    private func speakHTTP1(on channel: any Channel, _ ordinal: Int) throws {
        try channel.pipeline.syncOperations.configureHTTPServerPipeline()
        try channel.pipeline.syncOperations.addHandler(HTTP1Conversation(station: station, ordinal: ordinal))
    }

    private func refusal(ofConnection ordinal: Int) -> UInt8? {
        for armed in station.book.faults {
            guard case .refuseHandshake(let alert) = armed.fault.then else { continue }
            if armed.strikes(.init(connection: ordinal)) { return alert ?? HandshakeRefusal.handshakeFailure }
        }
        return nil
    }
}
