import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization

/// An HTTP/2 connection whose requests are read whole and validated by a service.
final class ServiceConnection: HTTP2Connection {
    private let service: any SimulatedService

    init(handler: ServiceHandler, ordinal: Int, service: any SimulatedService) {
        self.service = service
        super.init(handler: handler, ordinal: ordinal)
    }

    /// A request as it arrives, and its result.
    private struct Request {
        var method = ""
        var target = ""
        var authority: String?
        var fields: [ServiceRequest.Field] = []
        var body: [UInt8] = []
        var validated: ServiceHandler.ValidatedRequest?

        var whole: ServiceRequest {
            ServiceRequest(
                method: method, target: target, fields: fields, authority: authority, body: body, isHTTP2: true)
        }
    }

    private func request(on stream: Slot) -> UnsafeMutablePointer<Request>? {
        stream.pointee.request?.assumingMemoryBound(to: Request.self)
    }

    override func makeRequest(on stream: Slot) -> UnsafeMutableRawPointer {
        let request = UnsafeMutablePointer<Request>.allocate(capacity: 1)
        request.initialize(to: Request())
        return UnsafeMutableRawPointer(request)
    }

    override func freeRequest(_ request: UnsafeMutableRawPointer) {
        request.assumingMemoryBound(to: Request.self).deinitialize(count: 1)
        request.deallocate()
    }

    override func begin(_ stream: Slot) {
        request(on: stream)?.pointee = Request()
    }

    override func read(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of stream: Slot) {
        guard let request = request(on: stream) else { return }
        let text = String(decoding: value, as: UTF8.self)
        switch name.count {
        case 5 where name.equals(":path"): request.pointee.target = text
        case 7 where name.equals(":method"): request.pointee.method = text
        case 10 where name.equals(":authority"): request.pointee.authority = text
        case _ where name.first == UInt8(ascii: ":"): break
        default: request.pointee.fields.append(.init(name: String(decoding: name, as: UTF8.self), value: text))
        }
    }

    override func readBody(_ bytes: UnsafeRawBufferPointer, of stream: Slot) {
        guard let request = request(on: stream), request.pointee.body.count <= ServiceRequest.bodyBytesMax else {
            return
        }
        request.pointee.body.append(contentsOf: bytes)
    }

    override func take(_ stream: Slot) {
        guard let request = request(on: stream) else { return }
        let whole = request.pointee.whole
        let occasion = ArmedServiceFault.Occasion(connection: ordinal, request: requestsSeen, path: whole.path)
        let validated = handler.validate(whole, occasion, compiled, by: service, insteadOfScript: lastingEffects)
        request.pointee.validated = validated
        guard act(on: validated.effects, for: stream) else { return }
        tell(stream)
        answer(stream, after: validated.effects.delay)
    }

    override func tell(_ stream: Slot) {
        guard let request = request(on: stream) else { return }
        request.pointee.validated?.isTold = true
        if let validated = request.pointee.validated { handler.tell(validated, request.pointee.fields) }
    }

    override func takeBack(_ stream: Slot) {
        guard let request = request(on: stream), let validated = request.pointee.validated, validated.isTold else {
            return
        }
        request.pointee.validated?.isTold = false
        handler.takeBack(validated)
    }

    override func answer(_ stream: Slot) {
        guard let validated = request(on: stream)?.pointee.validated else { return }
        handler.recordAnswer(validated)
        submit(validated.reply.answer, on: stream)
    }

    override func answerStalled(_ stream: Slot) {
        if let answer = request(on: stream)?.pointee.validated?.reply.answer { submit(answer, on: stream) }
    }
}

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

/// Answers the first bytes of a client with a fatal TLS alert.
final class HandshakeRefusal: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Source: RFC 8446 §6.
    static let handshakeFailure: UInt8 = 40
    private let alert: UInt8

    init(alert: UInt8) {
        self.alert = alert
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // An alert record of two bytes, TLS 1.2 on the wire: fatal, and the reason. Source: RFC 8446 §5.1, §6.
        let record = ByteBuffer(bytes: [21, 3, 3, 0, 2, 2, alert])
        context.writeAndFlush(wrapOutboundOut(record), promise: nil)
        context.close(mode: .all, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

final class OpenConnections: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { [weak self] _ in
            self?.channels.withLock { $0[id] = nil }
        }
    }

    func closeAll() async throws {
        for channel in channels.withLock({ Array($0.values) }) {
            channel.close(mode: .all, promise: nil)
            try? await channel.closeFuture.get()
        }
    }

    /// Runs an action for every connection's handler of a kind, on its own event loop.
    func each<Handler: ChannelHandler & SendableMetatype>(
        _ kind: Handler.Type, _ act: @escaping @Sendable (Handler) -> Void
    ) async throws {
        for channel in channels.withLock({ Array($0.values) }) {
            try? await channel.eventLoop.submit {
                if let handler = try? channel.pipeline.syncOperations.handler(type: kind) { act(handler) }
            }.get()
        }
    }
}

/// A port that nothing listens on and that the system gives to no other process: callers are refused.
final class HeldPort: Sendable {
    private let descriptor: Int32

    /// nil when another program has taken the port.
    init?(_ address: SocketAddress) {
        descriptor = socket(address.protocol.rawValue, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        // Connections that were accepted on the port may be open still.
        var isShared: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
        let isBound = address.withSockAddr { [descriptor] in bind(descriptor, $0, socklen_t($1)) == 0 }
        guard isBound else { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}
