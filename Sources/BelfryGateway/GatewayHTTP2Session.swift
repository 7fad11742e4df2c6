import CNghttp2
import NIOCore

/// The server's side of HTTP/2 for one connection: nghttp2 reads, and what is complete is taken from it afterwards.
///
/// What it holds of requests at most: so many streams, each with some kibibytes of headers and body, within what the address of the
/// sender and all senders together may hold. Beyond that, streams are refused.
final class GatewayHTTP2Session {
    private var session: OpaquePointer?
    private var drafts: [Int32: Draft] = [:]
    private var complete: [GatewayRequest] = []
    private var bodies: [Int32: (bytes: [UInt8], sent: Int)] = [:]
    private let held: HeldBytes.Share
    /// The bytes counted for each request until it is answered, by stream.
    private var heldOf: [Int32: Int] = [:]
    /// When a stream is given up: its request has to be whole by then, or its answer taken.
    private var deadlines: [Int32: NIODeadline] = [:]
    private let streamTimeout: TimeAmount
    private var now = NIODeadline.uptimeNanoseconds(0)
    private var allowance = FrameAllowance()
    /// The block of headers that has begun, and when it has to be whole; nothing else can come before.
    private var block: (stream: Int32, deadline: NIODeadline)?

    private struct Draft {
        var request: GatewayRequest
        var headerBytes = 0
    }

    /// About what a stream takes beside its headers and body.
    private static let streamBytes = 2_048

    /// Requests that a connection may have under way at a time; Apple's servers let a sender have 1,000.
    static let streamsMax: UInt32 = 500
    private static let headerBytesMax = 8_192

    /// nil where nghttp2 has no memory.
    init?(held: HeldBytes.Share, streamTimeout: TimeAmount) {
        self.held = held
        self.streamTimeout = streamTimeout
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        Self.set(callbacks)
        var option: OpaquePointer?
        guard nghttp2_option_new(&option) == 0, let option else { return nil }
        defer { nghttp2_option_del(option) }
        nghttp2_option_set_no_closed_streams(option, 1)
        nghttp2_option_set_max_outbound_ack(option, 128)
        let user = Unmanaged.passUnretained(self).toOpaque()
        guard nghttp2_session_server_new2(&session, callbacks, user, option) == 0 else { return nil }
        let settings = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: Self.streamsMax),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: UInt32(Self.headerBytesMax)),
        ]
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
    }

    deinit { if let session { nghttp2_session_del(session) } }

    /// Reads bytes of the sender; false when they are not HTTP/2, and the connection is over.
    func read(_ buffer: ByteBuffer, at now: NIODeadline) -> Bool {
        self.now = now
        return buffer.withUnsafeReadableBytes { bytes in
            nghttp2_session_mem_recv(session, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count) >= 0
        }
    }

    /// The requests that were completed since.
    func takeRequests() -> [GatewayRequest] {
        defer { complete = [] }
        return complete
    }

    /// The bytes to write; nil when there are none.
    func output(_ allocator: ByteBufferAllocator) -> ByteBuffer? {
        var buffer: ByteBuffer?
        while true {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count > 0, let bytes else { return buffer }
            if buffer == nil { buffer = allocator.buffer(capacity: count) }
            buffer?.writeBytes(UnsafeRawBufferPointer(start: bytes, count: count))
        }
    }

    /// Whether neither side has anything to say any more.
    var isOver: Bool { nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0 }

    /// A stream that the sender has given up gets no answer.
    func respond(_ response: GatewayResponse, id: String, on stream: Int32, at now: NIODeadline) {
        release(stream)
        guard nghttp2_session_find_stream(session, stream) != nil else { return }
        deadlines[stream] = now + streamTimeout
        let body = response.body
        var fields = [(":status", "\(response.status)"), ("apns-id", id)]
        if let warning = response.warning { fields.append(("warning", warning)) }
        if response.status == 405 { fields.append(("allow", "POST")) }
        if response.status == 415 { fields.append(("accept-encoding", "identity")) }
        if !body.isEmpty { fields.append(("content-type", "application/json")) }
        Self.withPairs(fields) { pairs in
            guard !body.isEmpty else {
                nghttp2_submit_response(session, stream, pairs.baseAddress, pairs.count, nil)
                return
            }
            bodies[stream] = (body, 0)
            var provider = Self.body
            nghttp2_submit_response(session, stream, pairs.baseAddress, pairs.count, &provider)
        }
    }

    /// Takes no further request; those under way are answered.
    func goAway() {
        let last = nghttp2_session_get_last_proc_stream_id(session)
        nghttp2_submit_goaway(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, 0, nil, 0)
    }

    /// Ends the connection once all was written.
    func terminate() { nghttp2_session_terminate_session(session, 0) }

    // MARK: Bounds

    var hasDeadlines: Bool { !deadlines.isEmpty || block != nil }

    /// Gives up streams whose time is over; false where a block of headers has not ended in time.
    func expire(at now: NIODeadline) -> Bool {
        if let block, block.deadline <= now { return false }
        for stream in deadlines.filter({ $0.value <= now }).keys {
            deadlines[stream] = nil
            nghttp2_submit_rst_stream(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, UInt32(NGHTTP2_CANCEL.rawValue))
        }
        return true
    }

    /// When the connection is over.
    func forgetAll() {
        held.release(heldOf.values.reduce(0, +))
        heldOf = [:]
    }

    private func hold(_ count: Int, for stream: Int32) {
        held.hold(count)
        heldOf[stream, default: 0] += count
    }

    private func release(_ stream: Int32) {
        if let count = heldOf.removeValue(forKey: stream) { held.release(count) }
    }

    /// Ends the connection of a sender that sends more of other frames than its requests need. Source: RFC 9113 §10.5.
    fileprivate func count(_ frame: FrameAllowance.Frame) {
        guard !allowance.take(frame, at: now) else { return }
        nghttp2_session_terminate_session(session, UInt32(NGHTTP2_ENHANCE_YOUR_CALM.rawValue))
    }

    // MARK: Called by nghttp2

    fileprivate func begin(_ stream: Int32) {
        let deadline = now + streamTimeout
        deadlines[stream] = deadline
        block = (stream, deadline)
        guard !held.isFull else {
            nghttp2_submit_rst_stream(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, UInt32(NGHTTP2_REFUSED_STREAM.rawValue))
            return
        }
        hold(Self.streamBytes, for: stream)
        drafts[stream] = Draft(request: GatewayRequest(stream: stream))
    }

    fileprivate func endBlock() { block = nil }

    /// False where a stream has too many headers.
    fileprivate func readHeader(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of stream: Int32
    ) -> Bool {
        guard var draft = drafts[stream] else { return true }
        draft.headerBytes += name.count + value.count + 32
        guard draft.headerBytes <= Self.headerBytesMax else {
            count(.oversize)
            endBlock()
            return false
        }
        let text = String(decoding: value, as: UTF8.self)
        var kept = value.count
        switch String(decoding: name, as: UTF8.self) {
        case ":method": draft.request.method = text
        case ":path": draft.request.path = text
        case "content-encoding": draft.request.note(contentCoding: text)
        case let name where name.hasPrefix("apns-"):
            let name = String(name.dropFirst(5))
            if GatewayRequest.headerNames.contains(name) {
                draft.request.headers[name] = text
            } else {
                kept = draft.request.note(unknown: name) ? name.utf8.count : 0
            }
        default: kept = 0
        }
        hold(kept, for: stream)
        drafts[stream] = draft
        return true
    }

    fileprivate func readBody(_ bytes: UnsafeRawBufferPointer, of stream: Int32) {
        guard let body = drafts[stream]?.request.body else { return }
        let room = GatewayRequest.bodyBytesMax - body.count
        hold(min(bytes.count, room), for: stream)
        drafts[stream]?.request.body.append(contentsOf: bytes.prefix(room))
        if bytes.count > room { drafts[stream]?.request.isBodyTooLong = true }
    }

    fileprivate func end(_ stream: Int32) {
        guard let draft = drafts.removeValue(forKey: stream) else { return }
        deadlines[stream] = nil
        allowance.earn()
        complete.append(draft.request)
    }

    /// A request that was passed on counts until it is answered, even when its sender has gone.
    fileprivate func close(_ stream: Int32) {
        deadlines[stream] = nil
        // nghttp2 does not report the end of a malformed block.
        if block?.stream == stream { endBlock() }
        bodies[stream] = nil
        let isPassedOn = drafts.removeValue(forKey: stream) == nil && !complete.contains { $0.stream == stream }
        if !isPassedOn {
            complete.removeAll { $0.stream == stream }
            release(stream)
        }
    }

    fileprivate func writeBody(
        of stream: Int32, to target: UnsafeMutablePointer<UInt8>, room: Int, _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        guard let (bytes, sent) = bodies[stream] else {
            flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
            return 0
        }
        let count = min(bytes.count - sent, room)
        for index in 0..<count { target[index] = bytes[sent + index] }
        bodies[stream] = (bytes, sent + count)
        if sent + count == bytes.count { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return count
    }
}

extension GatewayHTTP2Session {
    private static func set(_ callbacks: OpaquePointer) {
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, header, user in
            guard let frame = header?.pointee, let user else { return 0 }
            gatewaySession(user).count(.init(type: frame.type, length: frame.length, flags: frame.flags))
            return 0
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, user in
            guard let frame, let user, isRequest(frame) else { return 0 }
            gatewaySession(user).begin(frame.pointee.hd.stream_id)
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameBytes, value, valueBytes, _, user in
            guard let frame, let user, isRequest(frame) else { return 0 }
            let isRead = gatewaySession(user).readHeader(
                UnsafeRawBufferPointer(start: name, count: nameBytes),
                UnsafeRawBufferPointer(start: value, count: valueBytes), of: frame.pointee.hd.stream_id)
            return isRead ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, user in
            guard let user else { return 0 }
            gatewaySession(user).readBody(UnsafeRawBufferPointer(start: bytes, count: count), of: stream)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            guard let frame, let user else { return 0 }
            let type = UInt32(frame.pointee.hd.type)
            if type == NGHTTP2_HEADERS.rawValue { gatewaySession(user).endBlock() }
            guard frame.pointee.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return 0 }
            if type == NGHTTP2_HEADERS.rawValue || type == NGHTTP2_DATA.rawValue {
                gatewaySession(user).end(frame.pointee.hd.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, _, user in
            guard let user else { return 0 }
            gatewaySession(user).close(stream)
            return 0
        }
    }

    private static var body: nghttp2_data_provider {
        nghttp2_data_provider(source: nghttp2_data_source()) { _, stream, target, room, flags, _, user in
            guard let target, let flags, let user else { return 0 }
            return gatewaySession(user).writeBody(of: stream, to: target, room: room, flags)
        }
    }

    private static func withPairs(
        _ fields: [(name: String, value: String)], _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Void
    ) {
        var bytes = fields.flatMap { Array($0.name.utf8) + Array($0.value.utf8) }
        bytes.withUnsafeMutableBufferPointer { memory in
            guard let start = memory.baseAddress else { return }
            var offset = 0
            let pairs = fields.map { name, value in
                defer { offset += name.utf8.count + value.utf8.count }
                return nghttp2_nv(
                    name: start + offset, value: start + offset + name.utf8.count, namelen: name.utf8.count,
                    valuelen: value.utf8.count, flags: 0)
            }
            pairs.withUnsafeBufferPointer(body)
        }
    }
}

private func isRequest(_ frame: UnsafePointer<nghttp2_frame>) -> Bool {
    frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue) && frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
}

/// Outside the type because a C callback may capture nothing.
private func gatewaySession(_ user: UnsafeMutableRawPointer) -> GatewayHTTP2Session {
    Unmanaged<GatewayHTTP2Session>.fromOpaque(user).takeUnretainedValue()
}

/// How many frames a sender may send that bring no request on: some at once, some a second, and some for each request.
struct FrameAllowance {
    /// A frame by what it costs.
    struct Frame {
        let cost: Int

        /// A list of headers that is longer than any that is taken: it was decoded for nothing.
        static let oversize = Frame(cost: 50)

        private init(cost: Int) { self.cost = cost }

        /// Frames of data with something in them are bounded by the windows.
        init(type: UInt8, length: Int, flags: UInt8) {
            switch UInt32(type) {
            case NGHTTP2_HEADERS.rawValue: cost = 0
            case NGHTTP2_DATA.rawValue:
                cost = length == 0 && flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) == 0 ? 1 : 0
            // A block of headers that is taken needs one frame.
            case NGHTTP2_CONTINUATION.rawValue: cost = 100
            default: cost = 1
            }
        }
    }

    private static let most = 1_000
    private static let perSecond = 50
    private static let perRequest = 4

    private var left = Self.most
    private var countedAt: NIODeadline?

    /// False where there is none left.
    mutating func take(_ frame: Frame, at now: NIODeadline) -> Bool {
        guard frame.cost > 0 else { return true }
        let earned = countedAt.map { (now - $0).nanoseconds * Int64(Self.perSecond) / 1_000_000_000 } ?? 0
        if earned > 0 || countedAt == nil {
            left = min(Self.most, left + Int(clamping: earned))
            countedAt = now
        }
        left -= frame.cost
        return left >= 0
    }

    mutating func earn() { left = min(Self.most, left + Self.perRequest) }
}
