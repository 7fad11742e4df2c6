import NIOCore
import NIOEmbedded
import Testing

@testable import HTTP2Client

/// A client handler on an embedded channel, facing a scripted server. Time moves only by hand.
final class TestConnection {
    let channel = EmbeddedChannel()
    let server: ScriptedServer
    let handler: HTTP2Handler
    private(set) var events: [HTTP2Event] = []
    private let log: EventLog
    private var nextID: UInt64 = 0

    /// The answers of one batch, once they are there.
    final class TestAnswer {
        fileprivate(set) var answers: HTTP2Answers?

        /// The answers in short, such as `200`, `unprocessed GOAWAY` or `unknown stream reset`.
        var words: [String] {
            (answers ?? HTTP2Answers(count: 0)).map { answer in
                switch answer {
                case .response(let response): "\(response.status)"
                case .unprocessed(let fault): "unprocessed \(fault.code.text)"
                case .unknown(let fault): "unknown \(fault.code.text)"
                }
            }
        }

        var responses: [HTTP2Response] {
            (answers ?? HTTP2Answers(count: 0)).compactMap {
                if case .response(let response) = $0 { response } else { nil }
            }
        }
    }

    private final class EventLog { var events: [HTTP2Event] = [] }

    init(server: ScriptedServer, _ configure: (inout HTTP2Configuration) -> Void = { _ in }) throws {
        self.server = server
        var configuration = HTTP2Configuration()
        configuration.keptHeaders = ["apns-id", "retry-after"]
        configure(&configuration)
        let log = EventLog()
        self.log = log
        handler = try HTTP2Handler(
            configuration: configuration, eventLoop: channel.embeddedEventLoop, report: { log.events.append($0) },
            publish: { _ in })
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 443)).wait()
        try turn()
    }

    deinit { _ = try? channel.finish(acceptAlreadyClosed: true) }

    func send(_ count: Int, urgent: Bool = false, deadline: Duration = .seconds(30)) throws -> TestAnswer {
        var batch = HTTP2Batch(headers: [HTTP2Header("apns-topic", "app")], body: .shared(Array("{}".utf8)))
        for number in 0..<count { batch.append(path: urgent ? "/urgent/\(number)" : "/\(number)") }
        return try send(batch, urgent: urgent, deadline: deadline)
    }

    func send(
        _ batch: HTTP2Batch, urgent: Bool = false, deadline: Duration = .seconds(30), silence: Duration? = nil
    ) throws -> TestAnswer {
        let reply = TestAnswer()
        nextID += 1
        let now = channel.embeddedEventLoop.now.uptimeNanoseconds
        handler.send(
            BatchJob(
                id: nextID, batch: batch, authority: Array("host".utf8), isUrgent: urgent,
                lapsesAt: now + deadline.nanoseconds,
                silence: silence.map { SilenceClock(most: $0.nanoseconds, now: now) } ?? SilenceClock()
            ) { reply.answers = $0 })
        try turn()
        return reply
    }

    /// Lets both sides say what they have to say, until both are silent.
    func turn() throws {
        channel.embeddedEventLoop.run()
        while true {
            var isSilent = true
            while let sent = try channel.readOutbound(as: ByteBuffer.self) {
                server.receive(sent)
                isSilent = false
            }
            let answer = server.bytesToSend()
            if answer.readableBytes > 0, channel.isActive {
                try channel.writeInbound(answer)
                channel.embeddedEventLoop.run()
                isSilent = false
            }
            if isSilent { break }
        }
        events = log.events
    }

    /// Second by second, so that the server may answer in between.
    func advance(_ seconds: Int) throws {
        for _ in 0..<seconds {
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            try turn()
        }
    }

    /// The paths of the requests the server has seen, in order.
    var paths: [String] { server.requests.map { $0[":path"] ?? "" } }
}

extension HTTP2Batch {
    /// Requests to `/0`, `/1` and so on.
    static func numbered(_ count: Int) -> HTTP2Batch {
        var batch = HTTP2Batch(body: .shared([1]))
        for number in 0..<count { batch.append(path: "/\(number)") }
        return batch
    }
}
