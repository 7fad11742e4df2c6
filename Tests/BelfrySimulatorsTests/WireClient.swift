import CNghttp2
import NIOCore
import NIOPosix
import NIOSSL

/// A bare HTTP/2 client that tells what it sees, frame by frame.
final class WireClient: Sendable {
    enum Event: Sendable, Equatable {
        case settings(maxStreams: UInt32?)
        case answer(stream: Int32, fields: [String: String])
        case data(stream: Int32, String)
        case streamClosed(stream: Int32, code: UInt32)
        case goAway(lastStream: Int32, code: UInt32, data: String)
        case pong
        case closed
    }

    private let channel: any Channel
    private let handler: NIOLoopBound<WireHandler>
    let events: AsyncStream<Event>

    static func connect(
        to simulator: borrowing WireTarget, identity: (certificatePEM: String, privateKeyPEM: String)? = nil
    ) async throws -> WireClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(simulator.trustRootPEM.utf8)))
        tls.applicationProtocols = ["h2"]
        if let identity {
            tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificatePEM.utf8))
                .map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.privateKeyPEM.utf8), format: .pem))
        }
        let context = try NIOSSLContext(configuration: tls)
        let (events, sink) = AsyncStream.makeStream(of: Event.self)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let handler = try await loop.submit { NIOLoopBound(WireHandler(sink), eventLoop: loop) }.get()
        let channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try NIOSSLClientHandler(context: context, serverHostname: "localhost")
                    try channel.pipeline.syncOperations.addHandlers([tls, handler.value])
                }
            }
            .connect(host: "127.0.0.1", port: simulator.port).get()
        return WireClient(channel, handler, events)
    }

    private init(_ channel: any Channel, _ handler: NIOLoopBound<WireHandler>, _ events: AsyncStream<Event>) {
        self.channel = channel
        self.handler = handler
        self.events = events
    }

    /// Sends requests in one burst.
    func send(_ requests: [(fields: [(String, String)], body: String)]) async throws {
        let handler = handler
        try await channel.eventLoop.submit { handler.value.send(requests) }.get()
    }

    func ping() async throws {
        let handler = handler
        try await channel.eventLoop.submit { handler.value.ping() }.get()
    }

    func close() async throws {
        try? await channel.close()
    }

    /// How far to read. A value and not a closure: Swift 6.3 mixes up closures that stand inside `#expect`.
    enum Mark: Sendable {
        case event(Event)
        case settings
        /// The end of a stream, or of the connection.
        case end(of: Int32)
        /// The end of so many streams.
        case ends(Int)

        func isReached(by event: Event, after seen: [Event]) -> Bool {
            switch self {
            case .event(let wanted): event == wanted
            case .settings: if case .settings = event { true } else { event == .closed }
            case .end(let stream): event.endedStream == stream || event == .closed
            case .ends(let count): seen.count { $0.endedStream != nil } == count
            }
        }
    }

    /// The events up to a mark; all of them when the connection ends without it.
    func events(until mark: Mark) async -> [Event] {
        var seen: [Event] = []
        for await event in events {
            seen.append(event)
            if mark.isReached(by: event, after: seen) { break }
        }
        return seen
    }
}

struct WireTarget: Sendable {
    var port: Int
    var trustRootPEM: String
}

private final class WireHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let sink: AsyncStream<WireClient.Event>.Continuation
    private var session: OpaquePointer?
    private var context: ChannelHandlerContext?
    private var fields: [Int32: [String: String]] = [:]
    private var bodies: [Int32: [UInt8]] = [:]

    init(_ sink: AsyncStream<WireClient.Event>.Continuation) {
        self.sink = sink
    }

    func channelActive(context: ChannelHandlerContext) {
        self.context = context
        session = makeSession()
        var noPush = nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0)
        nghttp2_submit_settings(session, 0, &noPush, 1)
        pump()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let read = unwrapInboundIn(data).withUnsafeReadableBytes {
            nghttp2_session_mem_recv(session, $0.bindMemory(to: UInt8.self).baseAddress, $0.count)
        }
        if read < 0 { context.close(promise: nil) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { pump() }

    func channelInactive(context: ChannelHandlerContext) {
        sink.yield(.closed)
        sink.finish()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func handlerRemoved(context: ChannelHandlerContext) {
        nghttp2_session_del(session)
        session = nil
        self.context = nil
        sink.finish()
    }

    func send(_ requests: [(fields: [(String, String)], body: String)]) {
        for request in requests { submit(request.fields, request.body) }
        pump()
    }

    func ping() {
        nghttp2_submit_ping(session, 0, nil)
        pump()
    }

    private func submit(_ fields: [(String, String)], _ body: String) {
        let bytes = fields.map { (Array($0.0.utf8), Array($0.1.utf8)) }
        var flat: [UInt8] = []
        for (name, value) in bytes { flat += name + value }
        let body = Array(body.utf8)
        flat.withUnsafeMutableBufferPointer { flat in
            var offset = 0
            var pairs: [nghttp2_nv] = []
            for (name, value) in bytes {
                guard let start = flat.baseAddress else { return }
                pairs.append(
                    nghttp2_nv(
                        name: start + offset, value: start + offset + name.count, namelen: name.count,
                        valuelen: value.count, flags: 0))
                offset += name.count + value.count
            }
            var provider = nghttp2_data_provider()
            provider.read_callback = { _, stream, target, room, flags, _, user in
                guard let user, let target, let flags else { return 0 }
                return handler(user).fill(target, room, flags, stream)
            }
            let stream = nghttp2_submit_request(session, nil, pairs, pairs.count, &provider, nil)
            bodies[stream] = body
        }
    }

    private func fill(
        _ target: UnsafeMutablePointer<UInt8>, _ room: Int, _ flags: UnsafeMutablePointer<UInt32>, _ stream: Int32
    ) -> Int {
        let body = bodies[stream] ?? []
        let count = min(room, body.count)
        for index in 0..<count { target[index] = body[index] }
        bodies[stream] = Array(body.dropFirst(count))
        if count == body.count { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return count
    }

    private func pump() {
        guard let context, let session else { return }
        while true {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count > 0, let bytes else { break }
            let chunk = ByteBuffer(bytes: UnsafeBufferPointer(start: bytes, count: count))
            context.write(wrapOutboundOut(chunk), promise: nil)
        }
        context.flush()
        if nghttp2_session_want_read(session) == 0, nghttp2_session_want_write(session) == 0 {
            context.close(promise: nil)
        }
    }

    private func makeSession() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, count, _, user in
            guard let frame, let user else { return 0 }
            let name = String(decoding: UnsafeBufferPointer(start: name, count: nameCount), as: UTF8.self)
            let value = String(decoding: UnsafeBufferPointer(start: value, count: count), as: UTF8.self)
            handler(user).fields[frame.pointee.hd.stream_id, default: [:]][name] = value
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            guard let frame, let user else { return 0 }
            handler(user).received(frame.pointee)
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, user in
            guard let user else { return 0 }
            let text = String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
            handler(user).sink.yield(.data(stream: stream, text))
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, user in
            guard let user else { return 0 }
            handler(user).sink.yield(.streamClosed(stream: stream, code: code))
            return 0
        }
        var session: OpaquePointer?
        nghttp2_session_client_new(&session, callbacks, Unmanaged.passUnretained(self).toOpaque())
        return session
    }

    private func received(_ frame: nghttp2_frame) {
        switch nghttp2_frame_type(UInt32(frame.hd.type)) {
        case NGHTTP2_SETTINGS where frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0:
            let entries = UnsafeBufferPointer(start: frame.settings.iv, count: frame.settings.niv)
            let limit = Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue)
            sink.yield(.settings(maxStreams: entries.last { $0.settings_id == limit }?.value))
        case NGHTTP2_HEADERS:
            sink.yield(.answer(stream: frame.hd.stream_id, fields: fields[frame.hd.stream_id] ?? [:]))
        case NGHTTP2_GOAWAY:
            let data = UnsafeBufferPointer(start: frame.goaway.opaque_data, count: frame.goaway.opaque_data_len)
            sink.yield(
                .goAway(
                    lastStream: frame.goaway.last_stream_id, code: frame.goaway.error_code,
                    data: String(decoding: data, as: UTF8.self)))
        case NGHTTP2_PING where frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0: sink.yield(.pong)
        default: break
        }
    }
}

/// Outside the type because a C callback may capture nothing.
private func handler(_ user: UnsafeMutableRawPointer) -> WireHandler {
    Unmanaged<WireHandler>.fromOpaque(user).takeUnretainedValue()
}

extension WireClient.Event {
    var endedStream: Int32? {
        if case .streamClosed(let stream, _) = self { stream } else { nil }
    }
}
