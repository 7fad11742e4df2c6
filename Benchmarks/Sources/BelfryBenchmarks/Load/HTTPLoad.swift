import NIOCore
import NIOPosix

/// A load of requests over keep-alive connections, each with one request in flight, from one thread.
struct HTTPLoad: Sendable {
    let port: Int
    let connections: Int
    /// Writes the whole request of a number.
    let write: @Sendable (Int, inout ByteBuffer) -> Void
    /// Requests a second at most; nil for as many as are answered.
    var rateMax: Double?
    /// Told of each answer, on the one thread.
    var onReply: @Sendable (Int, LoadResponse) -> Void = { _, _ in }

    /// Sends the requests of these numbers, and returns how many were answered with 200 each second.
    func run(_ numbers: Range<Int>) async throws -> Double {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { group.shutdownGracefully { _ in } }
        let loop = group.next()
        let channels = try await open(on: loop)
        let done = loop.makePromise(of: Void.self)
        let started = ContinuousClock.now
        loop.execute {
            let shift = Shift(numbers: numbers, load: self, done: done)
            for channel in channels { shift.begin(on: channel) }
        }
        try await done.futureResult.get()
        let seconds = (ContinuousClock.now - started) / .seconds(1)
        for channel in channels { try? await channel.close() }
        return Double(numbers.count) / seconds
    }

    private func open(on loop: any EventLoop) async throws -> [any Channel] {
        var channels: [any Channel] = []
        for _ in 0..<connections {
            let bootstrap = ClientBootstrap(group: loop).channelOption(.tcpOption(.tcp_nodelay), value: 1)
            channels.append(try await bootstrap.connect(host: "127.0.0.1", port: port).get())
        }
        return channels
    }
}

/// The requests still to send, on the event loop of all connections.
private final class Shift {
    private var left: Range<Int>
    private let first: Int
    private let started = NIODeadline.now()
    private var open = 0
    private let load: HTTPLoad
    private let done: EventLoopPromise<Void>
    private var isOver = false

    init(numbers: Range<Int>, load: HTTPLoad, done: EventLoopPromise<Void>) {
        left = numbers
        first = numbers.lowerBound
        self.load = load
        self.done = done
    }

    func begin(on channel: any Channel) {
        var number = 0
        let reader = ReplyReader(
            onReply: { [self] reply in
                guard reply.status == 200 else {
                    let fault = BenchmarkFault("request \(number) was answered \(reply.status): \(reply.text)")
                    return end(.failure(fault))
                }
                load.onReply(number, reply)
                open -= 1
                if let next = send(on: channel) { number = next } else if open == 0 { end(.success(())) }
            },
            onEnd: { [self] in end(.failure($0)) })
        do {
            try channel.pipeline.syncOperations.addHandler(reader)
            if let first = send(on: channel) { number = first }
        } catch {
            end(.failure(error))
        }
    }

    private func send(on channel: any Channel) -> Int? {
        guard let number = left.popFirst() else { return nil }
        open += 1
        var request = channel.allocator.buffer(capacity: 1_024)
        load.write(number, &request)
        let due = load.rateMax.map { started + .nanoseconds(Int64(Double(number - first) / $0 * 1e9)) }
        if let due, due > .now() {
            channel.eventLoop.assumeIsolated().scheduleTask(deadline: due) {
                channel.writeAndFlush(request, promise: nil)
            }
        } else {
            channel.writeAndFlush(request, promise: nil)
        }
        return number
    }

    private func end(_ result: Result<Void, any Error>) {
        guard !isOver else { return }
        isOver = true
        done.completeWith(result)
    }
}

extension Range<Int> {
    fileprivate mutating func popFirst() -> Int? {
        guard let first else { return nil }
        self = first + 1..<upperBound
        return first
    }
}
