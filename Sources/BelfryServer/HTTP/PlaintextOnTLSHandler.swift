import NIOCore

/// Explains the mistake to a client that speaks plain HTTP to a listener with TLS, which a failed handshake does not.
///
/// Every TLS connection begins with a handshake record, whose first byte is 22. Source: RFC 8446 §5.1.
final class PlaintextOnTLSHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        guard let first = unwrapInboundIn(data).readableBytesView.first else { return }
        guard UInt8(ascii: "A")...UInt8(ascii: "Z") ~= first else {
            context.fireChannelRead(data)
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            return
        }
        isRefused = true
        let answer = PlaintextResponse.buffer("400 Bad Request", "This port speaks HTTPS: begin the URL with https.")
        context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
        context.close(promise: nil)
    }
}
