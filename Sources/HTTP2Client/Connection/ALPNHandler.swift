package import NIOCore
import NIOTLS

/// Stands behind TLS and holds the handlers behind it back until both sides have settled what they speak.
///
/// Source: RFC 7301.
package final class ALPNHandler: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer

    private let isFitting: (String?, any Channel) -> Bool

    /// - Parameter isFitting: gets the negotiated protocol, nil for none; returns whether the later handlers should
    ///   continue.
    package init(isFitting: @escaping (String?, any Channel) -> Bool) { self.isFitting = isFitting }

    /// Later handlers wait for the end of the handshake.
    package func channelActive(context: ChannelHandlerContext) {}

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case TLSUserEvent.handshakeCompleted(let negotiated)? = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        if isFitting(negotiated, context.channel) { context.fireChannelActive() }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}

extension ALPNHandler {
    /// Goes on with HTTP/2, or hands the connection over.
    static func http2(_ handler: HTTP2Handler, else take: @escaping @Sendable (any Channel) -> Void) -> ALPNHandler {
        ALPNHandler { negotiated, channel in
            if negotiated == "h2" { return true }
            handler.yield(channel) { take(channel) }
            return false
        }
    }
}
