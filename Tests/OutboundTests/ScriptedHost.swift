import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

@testable import Outbound

/// A plain HTTP server on the loopback that answers as a closure says and keeps what it was asked.
final class ScriptedHost: Sendable {
    struct Request: Sendable {
        let path: String
        let headers: HTTPHeaders
        let body: String
    }

    struct Answer: Sendable {
        var status = 200
        var headers: HTTPHeaders = [:]
        var body = ""
        /// Sends the head alone and never ends.
        var hangs = false
    }

    let url: String
    private let channel: any Channel
    private let log: Log

    private final class Log: Sendable {
        let requests = Mutex<[Request]>([])
    }

    var requests: [Request] { log.requests.withLock { $0 } }

    private init(channel: any Channel, log: Log) {
        self.channel = channel
        self.log = log
        url = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
    }

    /// Runs a server and a client that may reach what `allowed` names, and closes both.
    static func run(
        allowed: [String] = ["127.0.0.0/8"], answer: @escaping @Sendable (Request) -> Answer,
        _ body: (ScriptedHost, Outbound) async throws -> Void
    ) async throws {
        let log = Log()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.pipeline.configureHTTPServerPipeline().flatMapThrowing {
                    try channel.pipeline.syncOperations.addHandler(
                        Handler { request in
                            log.requests.withLock { $0.append(request) }
                            return answer(request)
                        })
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        var configuration = HTTPClient.Configuration()
        AddressGuard(allowed: allowed.compactMap(AddressBlock.init)).stand(before: &configuration)
        let client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
        do {
            try await body(ScriptedHost(channel: channel, log: log), Outbound(client))
        } catch {
            try await client.shutdown()
            try await channel.close()
            throw error
        }
        try await client.shutdown()
        try await channel.close()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let answer: @Sendable (Request) -> Answer
        private var head: HTTPRequestHead?
        private var body = ""

        init(answer: @escaping @Sendable (Request) -> Answer) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                self.head = head
                body = ""
            case .body(let bytes): body += String(buffer: bytes)
            case .end:
                guard let head else { return }
                reply(answer(Request(path: head.uri, headers: head.headers, body: body)), context)
            }
        }

        private func reply(_ answer: Answer, _ context: ChannelHandlerContext) {
            var headers = answer.headers
            headers.add(name: "content-length", value: answer.hangs ? "9" : "\(answer.body.utf8.count)")
            let head = HTTPResponseHead(
                version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status), headers: headers)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
            if !answer.hangs { context.write(wrapOutboundOut(.end(nil)), promise: nil) }
            context.flush()
        }
    }
}
