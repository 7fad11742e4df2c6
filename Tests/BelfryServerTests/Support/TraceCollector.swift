import BelfryServer
import BelfryTesting
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A collector of OTLP over HTTP in JSON, which keeps the spans that it is sent. It reads what the specification says by itself.
final class TraceCollector: Sendable {
    struct Span: Sendable, Equatable {
        let service: String
        let traceID: String
        let spanID: String
        let name: String
        let start: Int64
        let end: Int64
        let attributes: [String: String]
        let events: [String: Int64]
    }

    /// The status of its answers from now on.
    var status: Int {
        get { state.withLock { $0.status } }
        set { state.withLock { $0.status = newValue } }
    }

    /// How often it was asked, whatever it answered.
    var asked: Int { state.withLock { $0.asked } }
    /// Spans that it answered 200 to.
    var spans: [Span] { state.withLock { $0.spans } }
    /// Why a request was none of the protocol.
    var faults: [String] { state.withLock { $0.faults } }
    let url: String

    private let state: Mutex<State>
    private let channel: any Channel

    fileprivate struct State {
        var status = 200
        var asked = 0
        var spans: [Span] = []
        var faults: [String] = []
    }

    /// - Parameter key: what the header `x-key` has to be.
    static func with<Value>(key: String? = nil, _ body: (TraceCollector) async throws -> Value) async throws -> Value {
        let made = Mutex<TraceCollector?>(nil)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        Handler { head, body in made.withLock { $0 }?.answer(head, body, key: key) ?? 503 })
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        let collector = TraceCollector(channel)
        made.withLock { $0 = collector }
        let result = await Result { try await body(collector) }
        try await channel.close()
        return try result.get()
    }

    private init(_ channel: any Channel) {
        self.channel = channel
        url = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
        state = Mutex(State())
    }

    private func answer(_ head: HTTPRequestHead, _ body: Data, key: String?) -> Int {
        state.withLock { state in
            state.asked += 1
            guard head.method == .POST, head.uri == "/v1/traces",
                head.headers.first(name: "content-type") == "application/json"
            else {
                state.faults.append("\(head)")
                return 404
            }
            guard key == nil || head.headers.first(name: "x-key") == key else {
                state.faults.append("no key")
                return 401
            }
            guard state.status == 200 else { return state.status }
            do {
                state.spans += try JSONDecoder().decode(Request.self, from: body).spans
            } catch {
                state.faults.append("\(error)")
                return 400
            }
            return 200
        }
    }

    // MARK: The wire. Source: opentelemetry-proto 1.5, with its JSON mapping.

    private struct Request: Decodable {
        struct Value: Decodable {
            let stringValue: String?
            let intValue: String?
        }
        struct Attribute: Decodable {
            let key: String
            let value: Value
        }
        struct Event: Decodable {
            let name: String
            let timeUnixNano: String
        }
        struct Wire: Decodable {
            let traceId: String
            let spanId: String
            let name: String
            let kind: Int
            let startTimeUnixNano: String
            let endTimeUnixNano: String
            let attributes: [Attribute]
            let events: [Event]
        }
        struct Scope: Decodable {
            let spans: [Wire]
        }
        struct Resource: Decodable {
            let attributes: [Attribute]
        }
        struct ResourceSpans: Decodable {
            let resource: Resource
            let scopeSpans: [Scope]
        }
        let resourceSpans: [ResourceSpans]

        var spans: [Span] {
            resourceSpans.flatMap { resource in
                let service = resource.resource.attributes.first { $0.key == "service.name" }?.value.stringValue ?? ""
                return resource.scopeSpans.flatMap(\.spans).map { span in
                    Span(
                        service: service, traceID: span.traceId, spanID: span.spanId, name: span.name,
                        start: Int64(span.startTimeUnixNano) ?? 0, end: Int64(span.endTimeUnixNano) ?? 0,
                        attributes: Dictionary(
                            span.attributes.map { ($0.key, $0.value.stringValue ?? $0.value.intValue ?? "") }
                        ) { first, _ in first },
                        events: Dictionary(span.events.map { ($0.name, Int64($0.timeUnixNano) ?? 0) }) { first, _ in
                            first
                        })
                }
            }
        }
    }
}

private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answer: @Sendable (HTTPRequestHead, Data) -> Int
    private var head: HTTPRequestHead?
    private var body = Data()

    init(answer: @escaping @Sendable (HTTPRequestHead, Data) -> Int) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): (self.head, body) = (head, Data())
        case .body(let bytes): body.append(contentsOf: bytes.readableBytesView)
        case .end:
            guard let head else { return }
            let response = HTTPResponseHead(
                version: .http1_1, status: HTTPResponseStatus(statusCode: answer(head, body)),
                headers: ["content-length": "2", "content-type": "application/json"])
            context.write(wrapOutboundOut(.head(response)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "{}")))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
