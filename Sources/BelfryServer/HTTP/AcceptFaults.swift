import Logging
import Metrics
import NIOCore
import SystemPackage

/// Counts and tells connections of a listener that could not be accepted, mostly since descriptors ran out.
final class AcceptFaults: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let listener: String
    private let logger: Logger

    private init(_ listener: String, _ logger: Logger) { (self.listener, self.logger) = (listener, logger) }

    /// Watches the channel of a listener.
    static func watch(_ channel: any Channel, _ listener: String, _ logger: Logger) {
        Metric.acceptFailures(listener).increment(by: 0)
        channel.eventLoop.execute {
            // A listener that is closed already has none to accept.
            try? channel.pipeline.syncOperations.addHandler(AcceptFaults(listener, logger), position: .first)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? IOError {
            Metric.acceptFailures(listener).increment()
            logger.warning(
                "a connection cannot be accepted",
                metadata: ["listener": "\(listener)", "error": "\(Errno(rawValue: error.errnoCode).words)"])
        }
        context.fireErrorCaught(error)
    }
}
