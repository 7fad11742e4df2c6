import CNghttp2
import Foundation
import NIOCore
import NIOSSL

/// One connection of a provider: bytes in, requests to the validation, answers out.
///
/// An nghttp2 server session inside one channel handler. nghttp2 calls back into `APNsConnection+Callbacks` while it
/// reads; nothing is written before it has returned.
final class APNsConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let station: APNsStation
    /// Counted from 1 since the simulator started.
    let ordinal: Int
    let isByToken: Bool

    var session: OpaquePointer?
    var slots: [UnsafeMutablePointer<Exchange>] = []
    var freeSlots: [UnsafeMutablePointer<Exchange>] = []
    /// The exchange whose headers are being read: header blocks of two streams never mix.
    var reading: UnsafeMutablePointer<Exchange>?
    let answers = AnswerHeaders()

    var credentials = ConnectionCredentials()
    var lastToken = LastToken()
    var lastTopic = LastTopic()
    /// The topic of the client certificate, once it has been looked for.
    var certificateTopic: String??
    var allowsAllStreams: Bool

    var playbook = Playbook()
    var playbookEdition = 0
    var requestsSeen = 0
    var lastStreamSeen: Int32 = 0
    /// The last stream that is still processed; lowered by GOAWAY.
    var lastStreamTaken = Int32.max
    var streamsOpen = 0
    var streamsOpenMax = 0
    var delayed = DelayLine<UnsafeMutablePointer<Exchange>>()
    var tick: Scheduled<Void>?
    /// The time of the batch being read, in milliseconds since 1970.
    var now: Int64 = 0

    var stickyVerdict: APNsVerdict?
    var isSilent = false
    /// To fall silent as soon as what was answered before has left.
    var mustFallSilent = false
    /// How many answers are still to be lost before the connection closes; nil when none are.
    var answersToLose: Int?
    /// To be closed abruptly as soon as nghttp2 has returned.
    var mustClose = false
    var context: ChannelHandlerContext?

    init(station: APNsStation, ordinal: Int) {
        self.station = station
        self.ordinal = ordinal
        self.isByToken = station.configuration.authentication.isByToken
        self.allowsAllStreams = !(isByToken && station.configuration.startsWithOneStream)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    /// The session is freed here and not when the channel goes inactive: that may happen while nghttp2 is running.
    func handlerRemoved(context: ChannelHandlerContext) {
        tick?.cancel()
        if let session { nghttp2_session_del(session) }
        session = nil
        self.context = nil
        for slot in slots {
            slot.pointee.deallocate()
            slot.deinitialize(count: 1)
            slot.deallocate()
        }
        slots = []
        freeSlots = []
        answers.deallocate()
    }

    func channelInactive(context: ChannelHandlerContext) {
        station.ledger.recordConnection {
            $0.open -= 1
            $0.closed += 1
        }
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isSilent, let session else { return }
        now = station.configuration.now().milliseconds
        if let newer = station.book.playbook(newerThan: &playbookEdition) { playbook = newer }
        let read = unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
            nghttp2_session_mem_recv(session, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
        }
        if read < 0 {
            pump()
            context.close(promise: nil)
        } else if mustClose {
            closeAbruptly()
        } else if mustFallSilent {
            pump()
            isSilent = true
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        pump()
        context.fireChannelReadComplete()
    }

    /// Provokers of TLS and TCP errors are what simulators are for: nothing to report, the connection is over.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard session == nil else { return }
        session = ServerSession.make(for: self)
        station.ledger.recordConnection { $0.open += 1 }
        let streams = allowsAllStreams ? station.configuration.streamsAtOnceMax : 1
        submitSettings(streamsAtOnceMax: streams)
        pump()
    }
}

// MARK: - Output

extension APNsConnection {
    private static let writeBytes = 32 * 1024

    /// Takes what nghttp2 wants to send, in writes of about two TLS records.
    func pump() {
        guard !isSilent, let session, let context else { return }
        var buffer: ByteBuffer?
        while true {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count > 0, let bytes else { break }
            let chunk = UnsafeRawBufferPointer(start: bytes, count: count)
            if buffer == nil { buffer = context.channel.allocator.buffer(capacity: Self.writeBytes) }
            buffer?.writeBytes(chunk)
            if let full = buffer, full.readableBytes >= Self.writeBytes {
                context.write(wrapOutboundOut(full), promise: nil)
                buffer = nil
            }
        }
        if let rest = buffer {
            context.write(wrapOutboundOut(rest), promise: nil)
        }
        context.flush()
        if nghttp2_session_want_read(session) == 0, nghttp2_session_want_write(session) == 0 {
            context.close(promise: nil)
        }
    }

    func submitSettings(streamsAtOnceMax: UInt32) {
        guard let session else { return }
        var entry = nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: streamsAtOnceMax)
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &entry, 1)
    }

    /// Sends what is ready, then ends the TCP connection without a word of HTTP/2 or TLS.
    func closeAbruptly() {
        guard let context else { return }
        mustClose = false
        pump()
        isSilent = true
        let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        (tls ?? context).close(promise: nil)
    }
}
