import NIOCore
import NIOPosix
import Synchronization

/// A piece of network between programs, with a hand on it.
///
/// What it holds is not lost: as packets that are sent again until one comes through, it arrives when the network heals.
final class Relay: Sendable {
    enum FaultSchedule: Sendable, Equatable {
        case fair
        /// Everything takes so much longer, either way.
        case slow(TimeAmount)
        /// A black hole: connections stay, and nothing comes through.
        case silent
        /// Requests come through. A connection ends in the place of its answer.
        case unanswered
    }

    enum Target: Sendable {
        case port(Int)
        /// A socket in the file system.
        case path(String)
    }

    let port: Int
    private let listener: any Channel
    private let lines: Lines

    private init(listener: any Channel, lines: Lines) {
        self.listener = listener
        self.lines = lines
        port = listener.localAddress?.port ?? 0
    }

    /// - Parameter socket: where it listens, bound already; nil for a free port of this machine.
    static func open(to target: Target, at socket: CInt? = nil) async throws -> Relay {
        let lines = Lines()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { near in
                target.connect(on: near.eventLoop).flatMap { far in
                    near.eventLoop.makeCompletedFuture {
                        try near.pipeline.syncOperations.addHandler(Way(to: far, in: lines, isBack: false))
                        try far.pipeline.syncOperations.addHandler(Way(to: near, in: lines, isBack: true))
                        lines.add(near, far)
                    }
                }
            }
        let listener =
            if let socket {
                try await bootstrap.withBoundSocket(socket).get()
            } else {
                try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
            }
        return Relay(listener: listener, lines: lines)
    }

    func become(_ faultSchedule: FaultSchedule) { lines.become(faultSchedule) }

    var lostAnswers: Int { lines.lostAnswers }

    func close() async {
        try? await listener.close()
        await lines.close()
    }
}

extension Relay.Target {
    fileprivate func connect(on loop: any EventLoop) -> EventLoopFuture<any Channel> {
        // Read once both ways are there.
        let bootstrap = ClientBootstrap(group: loop).channelOption(.autoRead, value: false)
        return switch self {
        case .port(let port): bootstrap.connect(host: "127.0.0.1", port: port)
        case .path(let path): bootstrap.connect(unixDomainSocketPath: path)
        }
    }
}

/// The connections through a relay, and their faults.
private final class Lines: Sendable {
    private struct State {
        var faultSchedule = Relay.FaultSchedule.fair
        var channels: [ObjectIdentifier: any Channel] = [:]
        var lostAnswers = 0
    }

    private let state = Mutex(State())

    var delay: TimeAmount {
        if case .slow(let delay) = state.withLock({ $0.faultSchedule }) { delay } else { .zero }
    }

    var lostAnswers: Int { state.withLock { $0.lostAnswers } }

    /// Counts an answer that is lost; false where none is.
    func loseAnswer() -> Bool {
        state.withLock { state in
            guard state.faultSchedule == .unanswered else { return false }
            state.lostAnswers += 1
            return true
        }
    }

    func add(_ channels: any Channel...) {
        let isSilent = state.withLock { state in
            for channel in channels { state.channels[ObjectIdentifier(channel)] = channel }
            return state.faultSchedule == .silent
        }
        for channel in channels { read(channel, !isSilent) }
    }

    func remove(_ channel: any Channel) {
        _ = state.withLock { $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    func become(_ faultSchedule: Relay.FaultSchedule) {
        let channels = state.withLock { state in
            state.faultSchedule = faultSchedule
            return Array(state.channels.values)
        }
        for channel in channels { read(channel, faultSchedule != .silent) }
    }

    func close() async {
        for channel in state.withLock({ Array($0.channels.values) }) { try? await channel.close() }
    }

    private func read(_ channel: any Channel, _ reads: Bool) {
        _ = channel.setOption(.autoRead, value: reads)
    }
}

/// Passes on what comes from one side to the other. Both are of one event loop.
private final class Way: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let lines: Lines
    /// Whether answers go this way.
    private let isBack: Bool
    /// When the last of what was passed on arrives.
    private var arrival = NIODeadline.now()

    init(to other: any Channel, in lines: Lines, isBack: Bool) {
        self.other = other
        self.isBack = isBack
        self.lines = lines
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if isBack, lines.loseAnswer() { return context.close(promise: nil) }
        arrive(context) { other in other.writeAndFlush(bytes, promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        lines.remove(context.channel)
        arrive(context) { other in other.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func arrive(_ context: ChannelHandlerContext, _ act: @escaping @Sendable (any Channel) -> Void) {
        let (now, delay, other) = (NIODeadline.now(), lines.delay, other)
        guard delay > .zero || arrival > now else { return act(other) }
        // What is due at the same time goes in no order.
        arrival = max(arrival + .nanoseconds(1), now + delay)
        context.eventLoop.scheduleTask(deadline: arrival) { act(other) }
    }
}
