import NIOCore

/// One of two ends, each last in the pipeline of a connection on the same event loop: bytes read at one are written at
/// the other.
///
/// An end reads no faster than the other can write, so a slow side holds no more than one read in memory. When one
/// connection ends, so does the other, once it has written what is pending.
final class Pipe: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var other: Pipe?
    private var context: ChannelHandlerContext?
    private var isReadHeld = false
    /// Bytes that came through before the other end existed.
    private var early: [ByteBuffer] = []

    static func join(_ one: Pipe, _ two: Pipe) {
        (one.other, two.other) = (two, one)
        for (from, to) in [(one, two), (two, one)] {
            from.early.forEach(to.write)
            from.early = []
            to.context?.flush()
            from.readOn()
            if from.context?.channel.isActive != true { to.end() }
        }
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        other?.end()
        other = nil
    }

    func read(context: ChannelHandlerContext) {
        if let other, !other.isWritable { isReadHeld = true } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let other { other.write(unwrapInboundIn(data)) } else { early.append(unwrapInboundIn(data)) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { other?.context?.flush() }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { other?.readOn() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        other?.end()
        other = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private var isWritable: Bool { context?.channel.isWritable ?? true }

    private func write(_ bytes: ByteBuffer) { context?.write(wrapOutboundOut(bytes), promise: nil) }

    private func readOn() {
        guard isReadHeld else { return }
        isReadHeld = false
        context?.read()
    }

    /// How long a side may take to read pending bytes after the other has ended.
    private static let timeout = TimeAmount.seconds(10)

    /// Closes after the pending bytes are written.
    private func end() {
        guard let channel = context?.channel else { return }
        let last = channel.eventLoop.scheduleTask(in: Self.timeout) { channel.close(promise: nil) }
        channel.writeAndFlush(ByteBuffer()).whenComplete { _ in
            last.cancel()
            channel.close(promise: nil)
        }
    }
}
