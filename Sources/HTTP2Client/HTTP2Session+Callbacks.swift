import CNghttp2

/// Makes an nghttp2 client session whose callbacks find their ``HTTP2Session`` at `owner`.
///
/// The owner deletes the session in its own `deinit`, so the pointer is good in every callback.
func makeSession(for owner: UnsafeMutableRawPointer) throws(HTTP2SessionError) -> OpaquePointer? {
    var callbacks: OpaquePointer?
    var options: OpaquePointer?
    var session: OpaquePointer?
    try check(nghttp2_session_callbacks_new(&callbacks))
    defer { nghttp2_session_callbacks_del(callbacks) }
    try check(nghttp2_option_new(&options))
    defer { nghttp2_option_del(options) }
    nghttp2_option_set_max_reserved_remote_streams(options, 0)
    nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onBody)
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, onFrameNotSent)
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
    try check(nghttp2_session_client_new2(&session, callbacks, owner, options))
    return session
}

/// Copies as much of a body as nghttp2 asks for: flow control may leave less room than the body has.
let readBody: nghttp2_data_source_read_callback = { _, _, buffer, length, flags, source, _ in
    guard let slot = source?.pointee.ptr?.assumingMemoryBound(to: StreamSlot.self), slot.pointee.job != nil,
        let body = slot.pointee.bodyStart, let buffer
    else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
    let count = min(length, slot.pointee.bodyLeft)
    buffer.update(from: body, count: count)
    slot.pointee.bodyStart = body + count
    slot.pointee.bodyLeft -= count
    if slot.pointee.bodyLeft == 0 { flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
}

private func check(_ code: Int32) throws(HTTP2SessionError) {
    if code != 0 { throw HTTP2SessionError(code: Int(code)) }
}

private func with(_ owner: UnsafeMutableRawPointer?, _ act: (HTTP2Session) -> Void) {
    guard let owner else { return }
    Unmanaged<HTTP2Session>.fromOpaque(owner)._withUnsafeGuaranteedRef(act)
}

private func slot(_ session: OpaquePointer?, _ stream: Int32) -> UnsafeMutablePointer<StreamSlot>? {
    nghttp2_session_get_stream_user_data(session, stream)?.assumingMemoryBound(to: StreamSlot.self)
}

private let onHeader: nghttp2_on_header_callback = { session, frame, name, nameLength, value, valueLength, _, owner in
    guard let frame, let slot = slot(session, frame.pointee.hd.stream_id) else { return 0 }
    with(owner) {
        $0.header(
            slot, name: UnsafeBufferPointer(start: name, count: nameLength),
            value: UnsafeBufferPointer(start: value, count: valueLength))
    }
    return 0
}

private let onBody: nghttp2_on_data_chunk_recv_callback = { session, _, stream, bytes, count, owner in
    guard let slot = slot(session, stream) else { return 0 }
    with(owner) { $0.body(slot, piece: UnsafeBufferPointer(start: bytes, count: count)) }
    return 0
}

private let onFrame: nghttp2_on_frame_recv_callback = { session, frame, owner in
    guard let frame else { return 0 }
    let header = frame.pointee.hd
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
        guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return 0 }
        slot(session, header.stream_id)?.pointee.hasEnded = true
    case NGHTTP2_SETTINGS.rawValue:
        with(owner) { $0.received(settings: frame.pointee.settings) }
    case NGHTTP2_GOAWAY.rawValue:
        with(owner) { $0.received(goAway: frame.pointee.goaway) }
    case NGHTTP2_PING.rawValue where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0:
        with(owner) { $0.onPong() }
    default:
        break
    }
    return 0
}

private let onFrameNotSent: nghttp2_on_frame_not_send_callback = { _, frame, _, owner in
    guard let frame, UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue else { return 0 }
    with(owner) { $0.notSent(streamID: frame.pointee.hd.stream_id) }
    return 0
}

private let onStreamClose: nghttp2_on_stream_close_callback = { session, stream, errorCode, owner in
    guard let slot = slot(session, stream) else { return 0 }
    with(owner) { $0.closed(slot, errorCode: errorCode) }
    return 0
}
