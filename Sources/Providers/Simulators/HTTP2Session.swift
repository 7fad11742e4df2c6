import CNghttp2

/// Makes nghttp2 sessions that call back into a connection. The connection outlives its session.
enum HTTP2Session {
    static func make(for connection: HTTP2Connection) -> OpaquePointer? {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, user in
            guard let frame, let user else { return 0 }
            let isRequest =
                frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue)
                && frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
            if isRequest { with(user) { $0.beginStream(frame.pointee.hd.stream_id) } }
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameBytes, value, valueBytes, _, user in
            // Trailers may belong to another stream than the one that began last.
            guard let user, frame?.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
            with(user) {
                $0.readHeader(
                    UnsafeRawBufferPointer(start: name, count: nameBytes),
                    UnsafeRawBufferPointer(start: value, count: valueBytes))
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, user in
            guard let user else { return 0 }
            with(user) { $0.readBody(UnsafeRawBufferPointer(start: bytes, count: count), on: stream) }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            guard let frame, let user else { return 0 }
            with(user) { $0.received(frame.pointee.hd) }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, _, user in
            guard let user else { return 0 }
            with(user) { $0.endStream(stream) }
            return 0
        }
        var option: OpaquePointer?
        guard nghttp2_option_new(&option) == 0, let option else { return nil }
        defer { nghttp2_option_del(option) }
        nghttp2_option_set_no_closed_streams(option, 1)
        var session: OpaquePointer?
        let user = Unmanaged.passUnretained(connection).toOpaque()
        guard nghttp2_session_server_new2(&session, callbacks, user, option) == 0 else { return nil }
        return session
    }
}

/// Outside the type because a C callback may capture nothing, not even `Self`.
@inline(__always)
private func with(_ user: UnsafeMutableRawPointer, _ body: (HTTP2Connection) -> Void) {
    Unmanaged<HTTP2Connection>.fromOpaque(user)._withUnsafeGuaranteedRef(body)
}

/// One stream of a connection: an incoming request and its outgoing answer.
///
/// Occupies a slot that its connection reuses for later streams, so that the fast path allocates nothing.
struct HTTP2Stream {
    typealias Slot = UnsafeMutablePointer<HTTP2Stream>

    var id: Int32 = 0
    var answerBody: [UInt8] = []
    var answerSent = 0

    /// The stream exists.
    var isOpen = false
    /// Its answer was handed to nghttp2, or it was reset.
    var isAnswered = false
    /// It is in the delay line, which keeps the slot even when the stream is gone.
    var isDelayed = false
    /// The body of its answer never comes.
    var isStalled = false

    /// The provider's state of the request; see ``HTTP2Connection/makeRequest(on:)``.
    var request: UnsafeMutableRawPointer?

    /// Makes the slot ready for another stream.
    mutating func begin(_ id: Int32) {
        self.id = id
        answerSent = 0
        isOpen = true
        isAnswered = false
        isStalled = false
    }
}

/// Header fields in contiguous memory for nghttp2, which copies them.
struct HeaderBlock {
    private var bytes: [UInt8] = []
    private var lengths: [(name: Int, value: Int)] = []

    init(_ fields: [(name: String, value: String)]) {
        for (name, value) in fields {
            bytes.append(contentsOf: name.utf8)
            bytes.append(contentsOf: value.utf8)
            lengths.append((name.utf8.count, value.utf8.count))
        }
    }

    func withPairs(_ body: (UnsafeBufferPointer<nghttp2_nv>) -> Void) {
        var bytes = bytes
        bytes.withUnsafeMutableBufferPointer { memory in
            guard let start = memory.baseAddress else { return }
            var offset = 0
            let pairs = lengths.map { name, value in
                defer { offset += name + value }
                return nghttp2_nv(
                    name: start + offset, value: start + offset + name, namelen: name, valuelen: value, flags: 0)
            }
            pairs.withUnsafeBufferPointer(body)
        }
    }
}
