import BelfryServer
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A receiver of webhooks, good or hostile. It shares no code with what sends to it.
final class TestReceiver: Sendable {
    enum Manner: Sendable {
        case takes
        /// Refuses some messages once, at random.
        case moody
        case hangs
        /// A body that never ends.
        case isEndless
        case redirects(to: String)
    }

    struct Message: Sendable {
        let path: String
        let id: String
        let type: String
        let data: [String: String]
    }

    let url: String
    private let channel: any Channel
    private let messages = Mutex<[Message]>([])
    private let refused = Mutex<Set<String>>([])
    private let manner: Manner

    var taken: [Message] { messages.withLock { $0 } }
    /// The messages without repetitions, in the order in which each came first.
    var firsts: [Message] {
        var seen: Set<String> = []
        return taken.filter { seen.insert($0.id).inserted }
    }

    static func with<Value>(_ manner: Manner = .takes, _ body: (TestReceiver) async throws -> Value) async throws
        -> Value
    {
        let box = Box()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(ReceiverHandler { box.receiver })
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        let receiver = TestReceiver(channel, manner)
        box.set(receiver)
        let result = await Result { try await body(receiver) }
        try await channel.close()
        return try result.get()
    }

    private init(_ channel: any Channel, _ manner: Manner) {
        self.channel = channel
        self.manner = manner
        url = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
    }

    private final class Box: Sendable {
        private let held = Mutex<TestReceiver?>(nil)

        var receiver: TestReceiver? { held.withLock { $0 } }

        func set(_ receiver: TestReceiver) { held.withLock { $0 = receiver } }
    }

    /// How a request is answered; what is taken is noted.
    fileprivate func answer(_ head: HTTPRequestHead, _ body: Data) -> Manner? {
        let id = head.headers.first(name: "webhook-id") ?? ""
        if case .moody = manner, Int.random(in: 0..<4) == 0, refused.withLock({ $0.insert(id).inserted }) { return nil }
        let json = (try? JSONSerialization.jsonObject(with: body)) as? [String: Any]
        let data = (json?["data"] as? [String: Any] ?? [:]).compactMapValues { $0 as? String }
        let message = Message(
            path: head.uri, id: id, type: json?["type"] as? String ?? "",
            data: data)
        messages.withLock { $0.append(message) }
        return manner
    }
}

private final class ReceiverHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let receiver: () -> TestReceiver?
    private var head: HTTPRequestHead?
    private var body = Data()

    init(_ receiver: @escaping () -> TestReceiver?) { self.receiver = receiver }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): (self.head, body) = (head, Data())
        case .body(let bytes): body += Data(bytes.readableBytesView)
        case .end:
            guard let head else { return }
            switch receiver()?.answer(head, body) {
            case nil: reply(503, [:], context)
            case .takes?, .moody?: reply(204, [:], context)
            case .hangs?: return
            case .redirects(let url)?: reply(307, ["location": url], context)
            case .isEndless?:
                let head = HTTPResponseHead(
                    version: .http1_1, status: .ok, headers: ["transfer-encoding": "chunked"])
                context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
                pour(NIOLoopBound(context, eventLoop: context.eventLoop))
            }
        }
    }

    private func pour(_ bound: NIOLoopBound<ChannelHandlerContext>) {
        let context = bound.value
        guard context.channel.isActive else { return }
        let chunk = ByteBuffer(string: String(repeating: "endless ", count: 1_000))
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(chunk)))).whenSuccess { handler.value.pour(bound) }
    }

    private func reply(_ status: Int, _ headers: HTTPHeaders, _ context: ChannelHandlerContext) {
        var headers = headers
        if status != 204 { headers.replaceOrAdd(name: "content-length", value: "0") }
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
