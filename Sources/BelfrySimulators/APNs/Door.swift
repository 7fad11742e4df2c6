import NIOCore
import NIOPosix
import NIOSSL

/// Decides what stands behind an accepted TCP connection: TLS and APNs, or a refused handshake.
struct Door: Sendable {
    private let station: APNsStation
    private let tls: NIOSSLContext

    init(station: APNsStation, authority: CertificateAuthority) throws {
        self.station = station
        self.tls = try NIOSSLContext(configuration: Self.configuration(station.configuration, authority))
    }

    func listen(host: String, port: Int, group: any EventLoopGroup) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 64 * 1024))
            .childChannelInitializer { open(to: $0) }
            .bind(host: host, port: port).get()
    }

    func open(to channel: any Channel) -> EventLoopFuture<Void> {
        let ordinal = station.ledger.numberConnection()
        return channel.eventLoop.makeCompletedFuture {
            if let alert = refusal(ofConnection: ordinal) {
                station.ledger.recordConnection { $0.refused += 1 }
                try channel.pipeline.syncOperations.addHandler(HandshakeRefusal(alert: alert))
                return
            }
            station.roster.add(channel)
            try channel.pipeline.syncOperations.addHandlers([
                tlsHandler(), APNsConnection(station: station, ordinal: ordinal),
            ])
        }
    }

    private func refusal(ofConnection ordinal: Int) -> UInt8? {
        for armed in station.book.faults {
            guard case .refuseHandshake(let alert) = armed.fault.then else { continue }
            if armed.strikes(.init(connection: ordinal)) { return alert ?? HandshakeRefusal.handshakeFailure }
        }
        return nil
    }

    private func tlsHandler() -> NIOSSLServerHandler {
        guard case .anyCertificate = station.configuration.authentication else {
            return NIOSSLServerHandler(context: tls)
        }
        return NIOSSLServerHandler(context: tls) { _, verified in verified.succeed(.certificateVerified) }
    }

    private static func configuration(
        _ configuration: APNsSimulator.Configuration, _ authority: CertificateAuthority
    ) throws -> TLSConfiguration {
        var tls = try authority.serverTLS(protocols: ["h2"])
        switch configuration.authentication {
        case .tokens, .anyToken: break
        case .anyCertificate: tls.certificateVerification = .noHostnameVerification
        case .certificates(let trustRootPEM):
            tls.certificateVerification = .noHostnameVerification
            let trusted = trustRootPEM ?? authority.certificatePEM
            tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(trusted.utf8)))
        }
        return tls
    }
}
