import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// An answer of HTTP/1.1, as far as a load generator looks.
struct LoadResponse: Sendable {
    let status: Int
    let body: ByteBuffer
    /// Milliseconds since 1970, when its last byte was read.
    let at: Double

    var text: String { String(buffer: body) }

    /// The string behind a key of a flat JSON object.
    func string(_ key: String) -> String? {
        text.range(of: "\"\(key)\":\"").flatMap { start in
            text[start.upperBound...].split(separator: "\"", maxSplits: 1, omittingEmptySubsequences: false).first
        }.map(String.init)
    }
}

enum WallClock {
    /// Milliseconds since 1970.
    static var now: Double { Date().timeIntervalSince1970 * 1_000 }
}

/// Reads the answers of a keep-alive connection, each with a Content-Length, and hands them on.
final class ReplyReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var unread = ByteBuffer()
    private var onReply: (LoadResponse) -> Void
    private var onEnd: (any Error) -> Void

    init(onReply: @escaping (LoadResponse) -> Void, onEnd: @escaping (any Error) -> Void) {
        self.onReply = onReply
        self.onEnd = onEnd
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        unread.writeImmutableBuffer(unwrapInboundIn(data))
        while let reply = next() { onReply(reply) }
        unread.discardReadBytes()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        onEnd(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { onEnd(BenchmarkFault("the server closed a connection")) }

    private func next() -> LoadResponse? {
        let parsed = unread.withUnsafeReadableBytes { bytes -> (status: Int, head: Int, body: Int)? in
            guard let head = Self.headEnd(bytes) else { return nil }
            var status = 0
            for digit in bytes[9..<12] { status = status * 10 + Int(digit) - 48 }
            return (status, head, Self.contentLength(UnsafeRawBufferPointer(rebasing: bytes[..<head])))
        }
        guard let parsed, unread.readableBytes >= parsed.head + parsed.body else { return nil }
        unread.moveReaderIndex(forwardBy: parsed.head)
        let body = unread.readSlice(length: parsed.body) ?? ByteBuffer()
        return LoadResponse(status: parsed.status, body: body, at: WallClock.now)
    }

    private static let blankLine = Array("\r\n\r\n".utf8)
    private static let lengthNames = ["Content-Length: ", "content-length: "].map { Array($0.utf8) }

    private static func headEnd(_ bytes: UnsafeRawBufferPointer) -> Int? {
        bytes.end(of: blankLine)
    }

    private static func contentLength(_ head: UnsafeRawBufferPointer) -> Int {
        guard let start = lengthNames.lazy.compactMap({ head.end(of: $0) }).first else { return 0 }
        var length = 0
        for byte in head[start...] {
            guard 48...57 ~= byte else { break }
            length = length * 10 + Int(byte) - 48
        }
        return length
    }
}

extension UnsafeRawBufferPointer {
    /// Where the first occurrence of a word ends.
    fileprivate func end(of word: [UInt8]) -> Int? {
        guard count >= word.count else { return nil }
        for start in 0...count - word.count where self[start] == word[0] {
            if self[start..<start + word.count].elementsEqual(word) { return start + word.count }
        }
        return nil
    }
}

/// A caller with one request after the other, on one connection as long as the server keeps it open.
final class HTTPCaller: Sendable {
    private let port: Int
    private let open = Mutex<Line?>(nil)

    /// A connection, and who waits for its answers.
    private struct Line: Sendable {
        let channel: any Channel
        let waiting: NIOLoopBound<Waiting>
    }

    private final class Waiting {
        var promises: [EventLoopPromise<LoadResponse>] = []
    }

    init(port: Int) { self.port = port }

    func get(_ path: String) async throws -> LoadResponse { try await send("GET", path, nil, "") }

    func get(_ path: String, credentials: String) async throws -> LoadResponse {
        let reply = try await send("GET", path, credentials, "")
        guard reply.status == 200 else {
            throw BenchmarkFault("GET \(path) was answered \(reply.status): \(reply.text)")
        }
        return reply
    }

    /// Sends a GET to the admin API, or as an application; whatever the answer is.
    func get(_ path: String, as caller: Caller) async throws -> LoadResponse {
        switch caller {
        case .application(let credentials): try await send("GET", path, credentials, "")
        case .admin(let key): try await send("GET", path, nil, "", fields: "Authorization: Bearer \(key)\r\n")
        }
    }

    /// Whose credentials a request carries.
    enum Caller: Sendable {
        case application(String)
        case admin(key: String)
    }

    /// Sends a GET, as a browser that has a cookie.
    func get(_ path: String, cookie: String) async throws -> LoadResponse {
        try await send("GET", path, nil, "", fields: "Cookie: \(cookie)\r\n")
    }

    @discardableResult
    func delete(_ path: String) async throws -> LoadResponse { try await send("DELETE", path, nil, "") }

    func post(_ path: String, credentials: String, _ body: String) async throws -> LoadResponse {
        let reply = try await send("POST", path, credentials, body)
        guard reply.status == 200 else {
            throw BenchmarkFault("POST \(path) was answered \(reply.status): \(reply.text)")
        }
        return reply
    }

    /// Posts JSON to the admin API.
    func post(_ path: String, key: String, _ body: String) async throws -> LoadResponse {
        let fields = "Authorization: Bearer \(key)\r\nContent-Type: application/json\r\n"
        let reply = try await send("POST", path, nil, body, fields: fields)
        guard 200..<300 ~= reply.status else {
            throw BenchmarkFault("POST \(path) was answered \(reply.status): \(reply.text)")
        }
        return reply
    }

    /// Posts what a simulator's control port is to do.
    func perform(_ path: String, _ body: String, method: String = "POST") async throws {
        let reply = try await send(method, path, nil, body)
        guard 200..<300 ~= reply.status else {
            throw BenchmarkFault("\(method) \(path) was answered \(reply.status): \(reply.text)")
        }
    }

    /// Connects ahead, so that the next request does not wait for it.
    func connect() async throws { _ = try await line() }

    func close() async throws {
        guard let line = open.withLock({ $0 }), line.channel.isActive else { return }
        try await line.channel.close()
    }

    private func send(
        _ method: String, _ path: String, _ credentials: String?, _ body: String, fields: String = ""
    ) async throws -> LoadResponse {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost:\(port)\r\nContent-Length: \(body.utf8.count)\r\n"
        if let credentials { head += "Authorization: Basic \(credentials)\r\n" }
        let request = ByteBuffer(string: head + fields + "\r\n" + body)
        let line = try await line()
        let promise = line.channel.eventLoop.makePromise(of: LoadResponse.self)
        line.channel.eventLoop.execute {
            guard line.channel.isActive else { return promise.fail(BenchmarkFault("the server closed a connection")) }
            line.waiting.value.promises.append(promise)
            line.channel.writeAndFlush(request, promise: nil)
        }
        return try await promise.futureResult.get()
    }

    private func line() async throws -> Line {
        if let known = open.withLock({ $0 }), known.channel.isActive { return known }
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let line = try await ClientBootstrap(group: loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: port)
            .flatMapThrowing { channel in
                let waiting = Waiting()
                let reader = ReplyReader(
                    onReply: { waiting.promises.removeFirst().succeed($0) },
                    onEnd: { error in
                        for promise in waiting.promises { promise.fail(error) }
                        waiting.promises = []
                    })
                try channel.pipeline.syncOperations.addHandler(reader)
                return Line(channel: channel, waiting: NIOLoopBound(waiting, eventLoop: loop))
            }.get()
        open.withLock { $0 = line }
        return line
    }
}
