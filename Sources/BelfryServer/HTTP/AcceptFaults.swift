import Logging
import Metrics
import NIOCore
import SystemPackage

/// Counts and tells connections of a listener that could not be accepted, mostly since descriptors ran out, and lets a second pass after
/// each.
///
/// NIO's own back-off does not: it holds the next read back, while the one that failed stays pending, and the socket readable. So
/// a listener without this accepts in vain as fast as it can. See `DescriptorTests`, "exhausted descriptors are named …".
final class AcceptFaults: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let pause = TimeAmount.seconds(1)
    private static let shortages: [Errno] = [.tooManyOpenFiles, .tooManyOpenFilesInSystem, .noBufferSpace, .noMemory]

    private let listener: String
    private let logger: Logger

    private init(_ listener: String, _ logger: Logger) { (self.listener, self.logger) = (listener, logger) }

    static func watch(_ channel: any Channel, _ listener: String, _ logger: Logger) {
        Metric.acceptFailures(listener).increment(by: 0)
        channel.eventLoop.execute {
            // A listener that is closed already has none to accept.
            try? channel.pipeline.syncOperations.addHandler(AcceptFaults(listener, logger), position: .first)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? IOError {
            // A caller that left before it was accepted holds up no other.
            if Self.shortages.contains(Errno(rawValue: error.errnoCode)) { rest(context.channel) }
            Metric.acceptFailures(listener).increment()
            logger.warning(
                "a connection cannot be accepted",
                metadata: ["listener": "\(listener)", "error": "\(Errno(rawValue: error.errnoCode).words)"])
        }
        context.fireErrorCaught(error)
    }

    private func rest(_ channel: any Channel) {
        try? channel.syncOptions?.setOption(ChannelOptions.autoRead, value: false)
        // A listener that is closed by then has nothing to read.
        channel.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
            try? channel.syncOptions?.setOption(ChannelOptions.autoRead, value: true)
        }
    }
}
