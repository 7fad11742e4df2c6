import NIOCore
import NIOHTTP1
import NIOPosix

/// The HTTP/1.1 port for scripting and querying a simulator. It carries no secrets and requires none: it listens where
/// the simulator does.
enum ControlPort {
    static func open(
        host: String, port: Int, group: any EventLoopGroup, routes: @escaping ControlRoutes
    ) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(ControlHandler(routes: routes))
                }
            }
            .bind(host: host, port: port).get()
    }
}

/// Answers one request of the control port.
typealias ControlRoutes = @Sendable (ControlRequest) async -> ControlAnswer

struct ControlRequest: Sendable {
    var method: String
    /// The path split at its slashes.
    var path: [String]
    var query: [String: String]
    var body: [UInt8]

    init(method: String, uri: String, body: [UInt8]) {
        let parts = uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.method = method
        self.path = (parts.first ?? "").split(separator: "/").map(String.init)
        self.query = [:]
        for pair in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1).map(String.init)
            if let name = sides.first { query[name] = sides.count > 1 ? sides[1] : "" }
        }
        self.body = body
    }
}

struct ControlAnswer: Sendable {
    var status: Int
    var body: [UInt8]
}

private final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// A script may name a million tokens.
    private static let bodyBytesMax = 256 * 1024 * 1024
    private let routes: ControlRoutes
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(routes: @escaping ControlRoutes) {
        self.routes = routes
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(let bytes):
            guard body.count + bytes.readableBytes <= Self.bodyBytesMax else { return context.close(promise: nil) }
            body.append(contentsOf: bytes.readableBytesView)
        case .end:
            guard let head else { return }
            answer(ControlRequest(method: head.method.rawValue, uri: head.uri, body: body), head, context)
            body = []
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(_ request: ControlRequest, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let routes = routes
        let promise = context.eventLoop.makePromise(of: ControlAnswer.self)
        promise.completeWithTask { await routes(request) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        promise.futureResult.whenSuccess { answer in
            let (handler, context) = bound.value
            handler.write(answer, head, context)
        }
    }

    private func write(_ answer: ControlAnswer, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let fields: HTTPHeaders = [
            "content-type": "application/json", "content-length": "\(answer.body.count)",
        ]
        let response = HTTPResponseHead(
            version: head.version, status: .init(statusCode: answer.status), headers: fields)
        context.write(wrapOutboundOut(.head(response)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if !head.isKeepAlive { context.close(promise: nil) }
    }
}
