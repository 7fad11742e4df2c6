import NIOCore

/// Answers the first bytes of a client with a fatal TLS alert.
final class HandshakeRefusal: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Source: RFC 8446 §6.
    static let handshakeFailure: UInt8 = 40
    private let alert: UInt8

    init(alert: UInt8) {
        self.alert = alert
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // An alert record of two bytes, TLS 1.2 on the wire: fatal, and the reason. Source: RFC 8446 §5.1, §6.
        let record = ByteBuffer(bytes: [21, 3, 3, 0, 2, 2, alert])
        context.writeAndFlush(wrapOutboundOut(record), promise: nil)
        context.close(mode: .all, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
