import DNS
import HTTP2Client
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
        /// Says nothing at all.
        var isSilent = false
        /// Ends the connection instead of an answer.
        var breaksOff = false
        /// Ends the connection behind the answer.
        var closes = false
        /// How long the answer is held back.
        var delay = TimeAmount.zero
    }

    let url: String
    private let channel: any Channel
    private let log: Log

    private final class Log: Sendable {
        let requests = Mutex<[Request]>([])
        let connections = Mutex((open: 0, most: 0, ever: 0))
    }

    var requests: [Request] { log.requests.withLock { $0 } }

    /// How many connections are open, were open at a time, and were opened.
    var connections: (open: Int, most: Int, ever: Int) { log.connections.withLock { $0 } }

    private init(channel: any Channel, log: Log) {
        self.channel = channel
        self.log = log
        url = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
    }

    /// Runs a server and a client that may reach what `allowed` names, and closes both.
    static func run(
        allowed: [String] = ["127.0.0.0/8"], configure: (inout HostConnections.Configuration) -> Void = { _ in },
        answer: @escaping @Sendable (Request) -> Answer,
        _ body: (ScriptedHost, Outbound) async throws -> Void
    ) async throws {
        let log = Log()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                log.connections.withLock { $0 = ($0.open + 1, max($0.most, $0.open + 1), $0.ever + 1) }
                channel.closeFuture.whenComplete { _ in log.connections.withLock { $0.open -= 1 } }
                return channel.pipeline.configureHTTPServerPipeline().flatMapThrowing {
                    try channel.pipeline.syncOperations.addHandler(
                        Handler { request in
                            log.requests.withLock { $0.append(request) }
                            return answer(request)
                        })
                }
            }.bind(host: "0.0.0.0", port: 0).get()
        let outcome: Result<Void, any Error>
        do {
            try await Outbound.forTest(allowed: allowed, configure: configure) {
                try await body(ScriptedHost(channel: channel, log: log), $0)
            }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        try await channel.close()
        try outcome.get()
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
                let answer = answer(Request(path: head.uri, headers: head.headers, body: body))
                guard answer.delay > .zero else { return reply(answer, context) }
                let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
                context.eventLoop.scheduleTask(in: answer.delay) { bound.value.0.reply(answer, bound.value.1) }
            }
        }

        private func reply(_ answer: Answer, _ context: ChannelHandlerContext) {
            guard !answer.isSilent else { return }
            guard !answer.breaksOff else { return context.close(promise: nil) }
            var headers = answer.headers
            headers.add(name: "content-length", value: answer.hangs ? "9" : "\(answer.body.utf8.count)")
            let head = HTTPResponseHead(
                version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status), headers: headers)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
            if !answer.hangs { context.write(wrapOutboundOut(.end(nil)), promise: nil) }
            context.flush()
            if answer.closes { context.close(promise: nil) }
        }
    }
}

extension Outbound {
    /// Makes one that may reach what `allowed` names, and closes it.
    static func forTest(
        allowed: [String] = ["127.0.0.0/8"], hostsBy hosts: HostPolicy? = nil,
        configure: (inout HostConnections.Configuration) -> Void = { _ in },
        _ body: (Outbound) async throws -> Void
    ) async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let addresses = AddressGuard(allowed: allowed.compactMap(AddressBlock.init))
        var own = HostConnections.Configuration()
        own.addresses = addresses
        own.lookUp = hosts.map { hosts in { @Sendable in hosts.lookUp($0, on: $1) } }
        configure(&own)
        let connections = HostConnections(own, on: group)
        let outcome: Result<Void, any Error>
        do {
            try await body(Outbound(connections: connections, hostsBy: hosts))
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await connections.shutdown()
        try outcome.get()
    }

    /// One request.
    func post(
        _ url: String, headers: [(String, String)] = [("x-a", "b")], body: String = "hello",
        answerBytesMax: Int = 4_096,
        silence: Duration = Self.silenceLimit, deadline: Duration = .seconds(30)
    ) async -> OutboundAnswer {
        var batch = OutboundBatch(
            OutboundBatch.Shape(
                headers: headers.map { HTTP2Header($0.0, $0.1) }, body: .shared(Array(body.utf8)),
                answerBytesMax: answerBytesMax))
        batch.append(url: url)
        return await post(batch, silence: silence, within: deadline)[0]
    }
}
