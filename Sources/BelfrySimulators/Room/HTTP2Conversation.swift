import CNghttp2
import Foundation
import NIOCore

/// One HTTP/2 connection of a sender: an nghttp2 server session inside one channel handler.
///
/// nghttp2 calls back while it reads; nothing is written before it has returned.
final class HTTP2Conversation: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let station: Station
    private let ordinal: Int
    private var session: OpaquePointer?
    private var context: ChannelHandlerContext?
    private var streams: [Int32: HTTP2Stream] = [:]
    private var streamsOpenMax = 0
    private var lastStreamSeen: Int32 = 0
    /// The last stream that is still processed; lowered by GOAWAY.
    private var lastStreamTaken = Int32.max
    private var playbook = ServicePlaybook()
    private var playbookEdition = 0
    private var requestsSeen = 0
    private var pingsSinceRequest = 0
    /// On the clock that only runs forward, in milliseconds.
    private var lastRequestAt: Int64 = 0
    private var delayed = DelayLine<Int32>()
    private var tick: Scheduled<Void>?
    private var ageEnd: Scheduled<Void>?
    private var idleEnd: Scheduled<Void>?
    private var mustClose = false
    private var isOver = false

    init(station: Station, ordinal: Int) {
        self.station = station
        self.ordinal = ordinal
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
        for timer in [tick, ageEnd, idleEnd] { timer?.cancel() }
        if let session { nghttp2_session_del(session) }
        session = nil
        streams = [:]
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        station.ledger.recordConnection {
            $0.open -= 1
            $0.closed += 1
        }
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver, let session else { return }
        if let newer = station.book.playbook(newerThan: &playbookEdition) { playbook = newer }
        let read = unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
            nghttp2_session_mem_recv(session, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
        }
        if read < 0 {
            pump()
            context.close(promise: nil)
        } else if mustClose {
            pump()
            isOver = true
            context.closeAbruptly()
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
        session = HTTP2ConversationSession.make(for: self)
        station.ledger.recordConnection { $0.open += 1 }
        submitSettings(streamsAtOnceMax: station.habits.streamsAtOnceMax)
        if let ageMax = station.habits.ageMax {
            ageEnd = schedule(in: ageMax) { $0.goAway(.init(data: "max_age")) }
        }
        lastRequestAt = uptime
        watchIdleness()
        pump()
    }
}

// MARK: - Reading, called by nghttp2

extension HTTP2Conversation {
    func beginStream(_ id: Int32) {
        streams[id] = HTTP2Stream(id: id)
        lastStreamSeen = max(lastStreamSeen, id)
        guard streams.count > streamsOpenMax else { return }
        streamsOpenMax = streams.count
        let most = streamsOpenMax
        station.ledger.recordConnection { $0.streamsAtOnceMax = max($0.streamsAtOnceMax, most) }
    }

    func read(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, on id: Int32) {
        streams[id]?.read(name, value)
    }

    func readBody(_ bytes: UnsafeRawBufferPointer, on id: Int32) {
        streams[id]?.readBody(bytes)
    }

    func endStream(_ id: Int32) {
        streams[id] = nil
    }

    func received(_ frame: nghttp2_frame_hd) {
        switch nghttp2_frame_type(UInt32(frame.type)) {
        case NGHTTP2_HEADERS, NGHTTP2_DATA:
            guard frame.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return }
            if let stream = streams[frame.stream_id] { take(stream) }
        case NGHTTP2_PING where frame.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0: receivedPing()
        case NGHTTP2_RST_STREAM: station.ledger.recordConnection { $0.resetsReceived += 1 }
        default: break
        }
    }

    private func receivedPing() {
        station.ledger.recordConnection { $0.pings += 1 }
        pingsSinceRequest += 1
        guard let most = station.habits.pingsWithoutRequestMax, pingsSinceRequest >= most else { return }
        goAway(.init(data: "too_many_pings", code: NGHTTP2_ENHANCE_YOUR_CALM.rawValue))
    }

    private func take(_ stream: HTTP2Stream) {
        // The rest of a batch whose connection is to end, or which lies behind the last stream of a GOAWAY.
        guard !mustClose, stream.id <= lastStreamTaken else { return }
        requestsSeen += 1
        pingsSinceRequest = 0
        lastRequestAt = uptime
        let request = stream.request
        let occasion = ArmedServiceFault.Occasion(connection: ordinal, request: requestsSeen, path: request.path)
        let judged = station.judge(request, occasion, playbook)
        stream.judged = judged
        if let streams = judged.effects.maxStreams { submitSettings(streamsAtOnceMax: streams) }
        if let order = judged.effects.goAway {
            let leaves = order.leavesRequest ?? false
            submitGoAway(order, lastStream: leaves ? stream.id - 2 : lastStreamSeen)
            if leaves { return }
        }
        if let ending = judged.effects.ending { return end(stream, by: ending) }
        guard judged.effects.delay > 0 else { return answer(stream) }
        delayed.insert(stream.id, due: uptime + judged.effects.delay)
        scheduleTick()
    }
}

// MARK: - Answering

extension HTTP2Conversation {
    private func answer(_ stream: HTTP2Stream) {
        guard let judged = stream.judged else { return }
        station.recordAnswer(judged)
        stream.answerBody = judged.reply.answer.body
        submit(judged.reply.answer, on: stream)
    }

    private func submit(_ answer: ServiceAnswer, on stream: HTTP2Stream) {
        let fields = [(":status", "\(answer.status)")] + answer.fields.map { ($0.name, $0.value) }
        let hasBody = !answer.body.isEmpty || stream.isStalled
        HeaderBlock(fields).withPairs { pairs in
            guard hasBody else {
                nghttp2_submit_response(session, stream.id, pairs.baseAddress, pairs.count, nil)
                return
            }
            var provider = body(of: stream)
            nghttp2_submit_response(session, stream.id, pairs.baseAddress, pairs.count, &provider)
        }
    }

    private func body(of stream: HTTP2Stream) -> nghttp2_data_provider {
        // The stream lives in `streams` until nghttp2 has closed it.
        let source = nghttp2_data_source(ptr: Unmanaged.passUnretained(stream).toOpaque())
        return nghttp2_data_provider(source: source) { _, _, target, room, flags, source, user in
            guard let target, let flags, let pointer = source?.pointee.ptr, let user else { return 0 }
            let stream = Unmanaged<HTTP2Stream>.fromOpaque(pointer).takeUnretainedValue()
            if stream.isStalled { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
            let rest = stream.answerBody.count - stream.answerSent
            let count = min(rest, room)
            stream.answerBody.withUnsafeBytes { body in
                if let start = body.baseAddress { memcpy(target, start + stream.answerSent, count) }
            }
            stream.answerSent += count
            let conversation = Unmanaged<HTTP2Conversation>.fromOpaque(user).takeUnretainedValue()
            let endsNow = conversation.station.habits.endsInEmptyFrame ? rest == 0 : count == rest
            if endsNow { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return count
        }
    }

    private func end(_ stream: HTTP2Stream, by ending: ServiceDesk.Ending) {
        station.recordUnanswered()
        switch ending.kind {
        case .hang: break
        case .stall:
            stream.isStalled = true
            if let answer = stream.judged?.reply.answer { submit(answer, on: stream) }
        case .reset(let code):
            nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, code)
            station.ledger.recordConnection { $0.resetsSent += 1 }
        case .close: mustClose = true
        }
    }
}

// MARK: - Later

extension HTTP2Conversation {
    /// Milliseconds on a clock that only runs forward.
    private var uptime: Int64 { Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000) }

    private func schedule(
        in time: Duration, _ act: @escaping @Sendable (HTTP2Conversation) -> Void
    ) -> Scheduled<Void>? {
        guard let loop = context?.eventLoop else { return nil }
        let bound = NIOLoopBound(self, eventLoop: loop)
        return loop.scheduleTask(in: .milliseconds(max(1, time.milliseconds))) { act(bound.value) }
    }

    private func scheduleTick() {
        guard tick == nil, let due = delayed.nextDue else { return }
        tick = schedule(in: .milliseconds(due - uptime)) { $0.answerDue() }
    }

    private func answerDue() {
        tick = nil
        guard session != nil, !isOver else { return }
        let uptime = uptime
        while let id = delayed.popDue(at: uptime) {
            if let stream = streams[id] { answer(stream) }
        }
        pump()
        scheduleTick()
    }

    /// One timer that looks again when requests came since, and not one for each request.
    private func watchIdleness() {
        guard let idleMax = station.habits.idleMax else { return }
        let left = idleMax.milliseconds - (uptime - lastRequestAt)
        guard left > 0 else { return goAway(.init(data: "session_timeout")) }
        idleEnd = schedule(in: .milliseconds(left)) { $0.watchIdleness() }
    }
}

// MARK: - Output

extension HTTP2Conversation {
    private static let writeBytes = 32 * 1024

    /// Takes what nghttp2 wants to send, in writes of about two TLS records.
    private func pump() {
        guard !isOver, let session, let context else { return }
        var buffer: ByteBuffer?
        while true {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count > 0, let bytes else { break }
            if buffer == nil { buffer = context.channel.allocator.buffer(capacity: Self.writeBytes) }
            buffer?.writeBytes(UnsafeRawBufferPointer(start: bytes, count: count))
            if let full = buffer, full.readableBytes >= Self.writeBytes {
                context.write(wrapOutboundOut(full), promise: nil)
                buffer = nil
            }
        }
        if let rest = buffer { context.write(wrapOutboundOut(rest), promise: nil) }
        context.flush()
        if nghttp2_session_want_read(session) == 0, nghttp2_session_want_write(session) == 0 {
            context.close(promise: nil)
        }
    }

    private func submitSettings(streamsAtOnceMax: UInt32) {
        guard let session else { return }
        var entry = nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: streamsAtOnceMax)
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &entry, 1)
    }

    /// Says GOAWAY now, without waiting for a request. Streams that wait are still answered.
    func goAway(_ order: ServiceFault.GoAway) {
        submitGoAway(order, lastStream: lastStreamSeen)
        pump()
    }

    private func submitGoAway(_ order: ServiceFault.GoAway, lastStream: Int32) {
        guard let session else { return }
        lastStreamTaken = min(lastStreamTaken, lastStream)
        let data = Array((order.data ?? "").utf8)
        nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), max(0, lastStream), order.code ?? 0, data, data.count)
        station.ledger.recordConnection { $0.goAwaysSent += 1 }
    }
}
