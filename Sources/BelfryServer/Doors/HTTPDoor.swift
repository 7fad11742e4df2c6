import BelfryAPI
import BelfryCore
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOSSL

/// How connections of a door are set up: who may come in, TLS, the limits of a head, the deadlines.
struct HTTPDoor: HTTPChannelHandler {
    let responder: Responder
    let census: Census
    /// nil for a door without TLS.
    let certificate: Certificate?
    let patience: PatienceConfiguration
    let heads: HeadConfiguration

    func setup(
        channel: any Channel, logger: Logger
    ) -> EventLoopFuture<NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let address = channel.remoteAddress.flatMap(NetworkAddress.init)
            if census.enter(address) == nil {
                channel.closeFuture.whenComplete { [census] _ in census.left(address) }
                try furnish(pipeline, logger)
            } else {
                try pipeline.addHandler(Refusal(isSpoken: certificate == nil))
            }
            return try NIOAsyncChannel(
                wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
        }
    }

    private func furnish(_ pipeline: ChannelPipeline.SynchronousOperations, _ logger: Logger) throws {
        if let certificate {
            try pipeline.addHandlers(PlainSpeech(), NIOSSLServerHandler(context: certificate.context))
        }
        try pipeline.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withErrorHandling: false, withOutboundHeaderValidation: false,
            withEncoderConfiguration: .init(), withDecoderLimitConfiguration: heads.limits)
        try pipeline.addHandlers(
            OldVersions(), HTTP1ToHTTPServerCodec(secure: certificate != nil), LargeHeads(),
            RequestDeadline(patience.request),
            HTTPConnectionStateHandler(idleTimeout: patience.idle, logger: logger))
    }

    func handle(value: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>, logger: Logger) async {
        await withTaskExecutorPreference(LoopExecutor(loop: value.channel.eventLoop)) {
            await handleHTTP(asyncChannel: value, logger: logger)
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
