import BelfryAPI
import BelfryCore
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL

/// How connections of a door are set up: who may come in, TLS, the limits of a head, the deadlines.
struct HTTPDoor<Responder: HTTPResponder>: ServerChildChannel
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    let responder: Responder
    let census: Census
    /// nil for a door without TLS.
    let certificate: Certificate?
    let patience: PatienceConfiguration
    let heads: HeadConfiguration
    private let dates = HTTPDates()

    /// A connection, and what is to be known of its end.
    struct Connection: ServerChildChannelValue {
        let channel: any Channel
        /// Succeeds when it is closed and nothing works for it any more.
        let isOver: EventLoopFuture<Void>
        /// Ends it, whatever is being done for it.
        let callOff: @Sendable () -> Void
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Connection> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let address = channel.remoteAddress.flatMap(NetworkAddress.init)
            guard census.enter(address) == nil else {
                try pipeline.addHandler(Refusal(isSpoken: certificate == nil))
                return Connection(channel: channel, isOver: channel.closeFuture) { channel.close(promise: nil) }
            }
            channel.closeFuture.whenComplete { [census] _ in census.left(address) }
            try furnish(pipeline, logger)
            let conversation = Conversation(on: channel, responder: responder, dates: dates, logger: logger)
            try pipeline.addHandler(conversation)
            let bound = NIOLoopBound(conversation, eventLoop: channel.eventLoop)
            return Connection(channel: channel, isOver: conversation.isOver) {
                channel.eventLoop.execute { bound.value.callOff() }
            }
        }
    }

    private func furnish(_ pipeline: ChannelPipeline.SynchronousOperations, _ logger: Logger) throws {
        if let certificate {
            try pipeline.addHandlers(PlainSpeech(), NIOSSLServerHandler(context: certificate.context))
        }
        let parser = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: heads.limits)
        try pipeline.addHandlers(
            ByteToMessageHandler(parser), HTTP1Codec(isSecure: certificate != nil), Patience(patience))
    }

    func handle(value connection: Connection, logger: Logger) async {
        await withTaskCancellationHandler {
            try? await connection.isOver.get()
        } onCancel: {
            connection.callOff()
        }
    }
}

extension HeadConfiguration {
    fileprivate var limits: NIOHTTPDecoderLimitConfiguration {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = bytesMax
        limits.maxHeaderListSize = bytesMax
        limits.maxHeaderFieldCount = countMax
        return limits
    }
}
