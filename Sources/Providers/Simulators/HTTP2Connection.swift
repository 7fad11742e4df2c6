import CNghttp2
import Foundation
import NIOCore

/// One HTTP/2 connection of a sender: an nghttp2 server session inside one channel handler.
///
/// nghttp2 calls back while it reads; nothing is written before it has returned. Providers handle requests in
/// subclasses, which ``HTTP2Session`` calls without knowing them: C callbacks take no generic types.
class HTTP2Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    typealias Slot = HTTP2Stream.Slot

    let handler: ServiceHandler
    /// Counted from 1 since the simulator started.
    let ordinal: Int

    private(set) var session: OpaquePointer?
    private(set) var context: ChannelHandlerContext?
    private var slots: [Slot] = []
    private var freeSlots: [Slot] = []
    /// The stream whose header fields are being read: header blocks of two streams never mix.
    private(set) var reading: Slot?
    private var streamsOpen = 0
    private var streamsOpenMax = 0
    private var lastStreamSeen: Int32 = 0
    /// The last stream that is still processed; GOAWAY lowers it.
    private var lastStreamTaken = Int32.max

    private(set) var compiled = CompiledServiceScript()
    private var scriptVersion = 0
    private(set) var requestsSeen = 0
    private var pingsSinceRequest = 0
    /// The time of the last request by the monotonic clock, in milliseconds.
    private var lastRequestAt: Int64 = 0
    /// The time of the batch being read, in milliseconds since 1970.
    private(set) var now: Int64 = 0

    private var delayed = DelayLine<Slot>()
    private var tick: Scheduled<Void>?
    private var ageEnd: Scheduled<Void>?
    private var idleEnd: Scheduled<Void>?

    private var stickyAnswer: ScriptedAnswer?
    /// How many answers are still discarded before the connection closes; nil when none are.
    private var answersToLose: Int?
    /// Whether to close abruptly as soon as nghttp2 has returned.
    private var mustClose = false
    /// Whether to fall silent as soon as earlier answers were sent.
    private var mustFallSilent = false
    private var isSilent = false

    init(handler: ServiceHandler, ordinal: Int) {
        self.handler = handler
        self.ordinal = ordinal
    }

    // MARK: Provider-specific parts

    /// SETTINGS_MAX_CONCURRENT_STREAMS at the beginning.
    var firstStreamsAtOnceMax: UInt32 { handler.habits.streamsAtOnceMax }

    /// Makes the provider's part of a slot, which lives as long as the connection.
    func makeRequest(on stream: Slot) -> UnsafeMutableRawPointer {
        preconditionFailure("the connection of a provider makes its own requests")
    }

    func freeRequest(_ request: UnsafeMutableRawPointer) {}

    /// A request begins on a slot that may have held others.
    func begin(_ stream: Slot) {}

    /// - Parameter name: in lower case, as nghttp2 guarantees.
    func read(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of stream: Slot) {}

    func readBody(_ bytes: UnsafeRawBufferPointer, of stream: Slot) {}

    /// Validates a complete request, and answers it now or later.
    func take(_ stream: Slot) {}

    /// Records in the ledger that the devices of a request were notified, if the provider would have accepted it.
    func tell(_ stream: Slot) {}

    /// Takes that back: the request turned out to be after the last one of a GOAWAY.
    func takeBack(_ stream: Slot) {}

    func answer(_ stream: Slot) {}

    /// Sends the header fields of an answer whose body never comes.
    func answerStalled(_ stream: Slot) {}

    // MARK: The life of the channel

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
        self.context = nil
        for slot in slots {
            if let request = slot.pointee.request { freeRequest(request) }
            slot.deinitialize(count: 1)
            slot.deallocate()
        }
        slots = []
        freeSlots = []
    }

    func channelInactive(context: ChannelHandlerContext) {
        handler.ledger.recordConnection {
            $0.open -= 1
            $0.closed += 1
        }
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isSilent, let session else { return }
        now = handler.listening.now().milliseconds
        if let newer = handler.currentScript.compiled(newerThan: &scriptVersion) { compiled = newer }
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

    /// Errors of TLS and TCP are expected in simulators: nothing to report, the connection is over.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard session == nil else { return }
        session = HTTP2Session.make(for: self)
        handler.ledger.recordConnection { $0.open += 1 }
        submitSettings(streamsAtOnceMax: firstStreamsAtOnceMax)
        if let ageMax = handler.habits.ageMax {
            ageEnd = schedule(in: ageMax) { $0.goAwayNow(.init(reason: "max_age")) }
        }
        lastRequestAt = uptime
        watchIdleness()
        pump()
    }
}

// MARK: - Reading, called by nghttp2

extension HTTP2Connection {
    func beginStream(_ id: Int32) {
        let slot = freeSlots.popLast() ?? newSlot()
        slot.pointee.begin(id)
        begin(slot)
        reading = slot
        lastStreamSeen = max(lastStreamSeen, id)
        nghttp2_session_set_stream_user_data(session, id, slot)
        streamsOpen += 1
        guard streamsOpen > streamsOpenMax else { return }
        streamsOpenMax = streamsOpen
        let most = streamsOpen
        handler.ledger.recordConnection { $0.streamsAtOnceMax = max($0.streamsAtOnceMax, most) }
    }

    func readHeader(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        if let reading { read(name, value, of: reading) }
    }

    func readBody(_ bytes: UnsafeRawBufferPointer, on id: Int32) {
        if let stream = stream(id) { readBody(bytes, of: stream) }
    }

    func received(_ frame: nghttp2_frame_hd) {
        switch nghttp2_frame_type(UInt32(frame.type)) {
        case NGHTTP2_HEADERS, NGHTTP2_DATA:
            guard frame.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return }
            if let stream = stream(frame.stream_id) { requestEnded(stream) }
        case NGHTTP2_PING where frame.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0: receivedPing()
        case NGHTTP2_RST_STREAM: handler.ledger.recordConnection { $0.resetsReceived += 1 }
        default: break
        }
    }

    func endStream(_ id: Int32) {
        guard let slot = stream(id), slot.pointee.isOpen else { return }
        slot.pointee.isOpen = false
        streamsOpen -= 1
        if reading == slot { reading = nil }
        if !slot.pointee.isDelayed { freeSlots.append(slot) }
    }

    private func stream(_ id: Int32) -> Slot? {
        if let reading, reading.pointee.id == id, reading.pointee.isOpen { return reading }
        return nghttp2_session_get_stream_user_data(session, id)?.assumingMemoryBound(to: HTTP2Stream.self)
    }

    private func newSlot() -> Slot {
        let slot = Slot.allocate(capacity: 1)
        slot.initialize(to: HTTP2Stream())
        slot.pointee.request = makeRequest(on: slot)
        slots.append(slot)
        return slot
    }

    private func receivedPing() {
        handler.ledger.recordConnection { $0.pings += 1 }
        pingsSinceRequest += 1
        guard let most = handler.habits.pingsWithoutRequestMax, pingsSinceRequest >= most else { return }
        submitGoAway(.init(reason: "too_many_pings", code: NGHTTP2_ENHANCE_YOUR_CALM.rawValue), lastStreamSeen)
    }

    private func requestEnded(_ stream: Slot) {
        // The rest of a batch whose connection is about to end, or which is after the last stream of a GOAWAY.
        guard !mustClose, !mustFallSilent, stream.pointee.id <= lastStreamTaken else { return }
        requestsSeen += 1
        pingsSinceRequest = 0
        if handler.habits.idleMax != nil { lastRequestAt = uptime }
        take(stream)
    }
}

// MARK: - Answering

extension HTTP2Connection {
    /// Answers now or after a number of milliseconds.
    func answer(_ stream: Slot, after delay: Int64) {
        guard delay > 0 else { return answer(stream) }
        stream.pointee.isDelayed = true
        delayed.insert(stream, due: uptime + delay)
        scheduleTick()
    }

    /// - Parameter fields: nghttp2 copies them.
    func submit(_ fields: UnsafeBufferPointer<nghttp2_nv>, on stream: Slot, body: [UInt8] = []) {
        stream.pointee.isAnswered = true
        guard !body.isEmpty || stream.pointee.isStalled else {
            nghttp2_submit_response(session, stream.pointee.id, fields.baseAddress, fields.count, nil)
            return
        }
        stream.pointee.answerBody = body
        var provider = Self.body(of: stream)
        nghttp2_submit_response(session, stream.pointee.id, fields.baseAddress, fields.count, &provider)
    }

    func submit(_ answer: ServiceAnswer, on stream: Slot) {
        let fields = [(":status", "\(answer.status)")] + answer.fields.map { ($0.name, $0.value) }
        HeaderBlock(fields).withPairs { submit($0, on: stream, body: answer.body) }
    }

    /// Gives nghttp2 the body of an answer; a stalled one never has any.
    private static func body(of stream: Slot) -> nghttp2_data_provider {
        nghttp2_data_provider(source: nghttp2_data_source(ptr: stream)) { _, _, target, room, flags, source, user in
            guard let target, let flags, let pointer = source?.pointee.ptr, let user else { return 0 }
            let stream = pointer.assumingMemoryBound(to: HTTP2Stream.self)
            if stream.pointee.isStalled { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
            let rest = stream.pointee.answerBody.count - stream.pointee.answerSent
            let count = min(rest, room)
            stream.pointee.answerBody.withUnsafeBytes { body in
                if let start = body.baseAddress { memcpy(target, start + stream.pointee.answerSent, count) }
            }
            stream.pointee.answerSent += count
            let connection = Unmanaged<HTTP2Connection>.fromOpaque(user).takeUnretainedValue()
            let endsNow = connection.handler.habits.endsInEmptyFrame ? rest == 0 : count == rest
            if endsNow { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return count
        }
    }
}

// MARK: - Script

extension HTTP2Connection {
    /// Whether the script, or its earlier effects on the connection, may apply to the next request.
    var isScripted: Bool { !compiled.faults.isEmpty || stickyAnswer != nil || answersToLose != nil }

    /// The effect of an earlier request's fault on this one, in place of the script.
    var lastingEffects: ServiceContext.Effects? {
        if let answersToLose { return .init(ending: .init(kind: .loseAnswers(answersToLose), told: true)) }
        return stickyAnswer.map { .init(answer: $0) }
    }

    /// Applies the script's effects on a request other than its answer; false when no answer is sent.
    func act(on effects: ServiceContext.Effects, for stream: Slot) -> Bool {
        if let answer = effects.sticky { stickyAnswer = answer }
        if let streams = effects.maxStreams { submitSettings(streamsAtOnceMax: streams) }
        if let order = effects.goAway {
            let last = lastStream(of: order, before: stream)
            submitGoAway(order, last)
            if stream.pointee.id > last { return false }
        }
        guard let ending = effects.ending else { return true }
        end(stream, by: ending)
        return false
    }

    /// Applies a fault now, without waiting for a request. Faults that need one do nothing.
    func act(_ action: ServiceFault.Then) {
        guard session != nil else { return }
        switch action {
        case .goAway(let order): goAwayNow(order)
        case .maxStreams(let streams):
            submitSettings(streamsAtOnceMax: streams)
            pump()
        case .silence: isSilent = true
        case .close: closeAbruptly()
        default: break
        }
    }

    private func end(_ stream: Slot, by ending: ServiceContext.Ending) {
        if ending.told { tell(stream) }
        handler.recordUnanswered()
        switch ending.kind {
        case .hang: break
        case .stall:
            stream.pointee.isStalled = true
            answerStalled(stream)
        case .reset(let code):
            stream.pointee.isAnswered = true
            nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.pointee.id, code)
            handler.ledger.recordConnection { $0.resetsSent += 1 }
        case .close: mustClose = true
        case .silence: mustFallSilent = true
        case .loseAnswers(let count):
            answersToLose = count - 1
            if count <= 1 { mustClose = true }
        }
    }

    /// Streams that wait for an answer, oldest first.
    private var waiting: [Slot] {
        slots.filter { $0.pointee.isOpen && !$0.pointee.isAnswered }.sorted { $0.pointee.id < $1.pointee.id }
    }

    private func lastStream(of order: ServiceFault.GoAway, before stream: Slot?) -> Int32 {
        switch order.lastStream ?? .all {
        case .all: return lastStreamSeen
        case .before: return max(0, (stream?.pointee.id ?? lastStreamSeen + 2) - 2)
        case .none: return 0
        case .exactly(let stream): return stream
        case .half:
            let waiting = waiting
            return waiting.isEmpty ? lastStreamSeen : waiting[(waiting.count - 1) / 2].pointee.id
        }
    }

    private func goAwayNow(_ order: ServiceFault.GoAway) {
        submitGoAway(order, lastStream(of: order, before: nil))
        pump()
    }

    /// Sends GOAWAY. Devices of streams after the last one were not notified after all; nghttp2 closes those streams.
    private func submitGoAway(_ order: ServiceFault.GoAway, _ lastStream: Int32) {
        guard let session else { return }
        lastStreamTaken = min(lastStreamTaken, lastStream)
        let noticeFirst = order.noticeFirst ?? false
        if noticeFirst { nghttp2_submit_shutdown_notice(session) }
        for stream in waiting where stream.pointee.id > lastStream { takeBack(stream) }
        let data = Array((order.reason.map(handler.habits.goAwayData) ?? "").utf8)
        nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), lastStream, order.code ?? 0, data, data.count)
        handler.ledger.recordConnection { $0.goAwaysSent += noticeFirst ? 2 : 1 }
    }
}

// MARK: - Later

extension HTTP2Connection {
    /// Milliseconds of a monotonic clock.
    private var uptime: Int64 { Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000) }

    private func schedule(
        in time: Duration, _ act: @escaping @Sendable (HTTP2Connection) -> Void
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
        guard session != nil, !isSilent else { return }
        let uptime = uptime
        now = handler.listening.now().milliseconds
        while let stream = delayed.popDue(at: uptime) {
            stream.pointee.isDelayed = false
            if stream.pointee.isOpen { answer(stream) } else { freeSlots.append(stream) }
        }
        pump()
        scheduleTick()
    }

    /// One timer that checks again when requests came since, instead of one for each request.
    private func watchIdleness() {
        guard let idleMax = handler.habits.idleMax else { return }
        let left = idleMax.milliseconds - (uptime - lastRequestAt)
        guard left > 0 else { return goAwayNow(.init(reason: "session_timeout")) }
        idleEnd = schedule(in: .milliseconds(left)) { $0.watchIdleness() }
    }
}

// MARK: - Output

extension HTTP2Connection {
    private static let writeBytes = 32 * 1024

    /// Writes nghttp2's output, in pieces of about two TLS records.
    private func pump() {
        guard !isSilent, let session, let context else { return }
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

    func submitSettings(streamsAtOnceMax: UInt32) {
        guard let session else { return }
        var entry = nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: streamsAtOnceMax)
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &entry, 1)
    }

    /// Writes pending output, then ends the TCP connection without closing HTTP/2 or TLS.
    private func closeAbruptly() {
        guard let context else { return }
        mustClose = false
        pump()
        isSilent = true
        context.closeAbruptly()
    }
}
