import CNghttp2
import NIOCore

/// An HTTP/2 server session of nghttp2 that does only what a test tells it.
final class ScriptedServer {
    struct Request {
        let stream: Int32
        var headers: [(name: String, value: String, isNeverIndexed: Bool)] = []
        var bodyBytes = 0
        var isComplete = false

        subscript(name: String) -> String? { headers.first { $0.name == name }?.value }
    }

    private(set) var requests: [Request] = []
    private(set) var resets: [Int32: UInt32] = [:]
    private(set) var pings = 0
    /// Answers every complete request at once, if set.
    var autoStatus: Int?
    private var session: OpaquePointer?
    private var bodies: [UnsafeMutablePointer<PendingBody>] = []

    struct PendingBody {
        var left: Int
        let byte: UInt8
    }

    init(streams: UInt32?, answersPings: Bool = true, window: UInt32? = nil) {
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        nghttp2_option_new(&options)
        nghttp2_option_set_no_auto_ping_ack(options, answersPings ? 0 : 1)
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameLength, value, length, flags, me in
            guard let me, let frame else { return 0 }
            let text = { String(decoding: UnsafeBufferPointer(start: $0, count: $1), as: UTF8.self) }
            ScriptedServer.at(me).header(
                frame.pointee.hd.stream_id, text(name, nameLength), text(value, length),
                UInt32(flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue != 0)
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, _, count, me in
            guard let me else { return 0 }
            ScriptedServer.at(me).change(stream) { $0.bodyBytes += count }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, me in
            guard let me, let frame else { return 0 }
            ScriptedServer.at(me).received(frame.pointee)
            return 0
        }
        nghttp2_session_server_new2(&session, callbacks, Unmanaged.passUnretained(self).toOpaque(), options)
        nghttp2_session_callbacks_del(callbacks)
        nghttp2_option_del(options)
        settings(streams: streams, window: window)
    }

    deinit {
        nghttp2_session_del(session)
        bodies.forEach { $0.deallocate() }
    }

    func settings(streams: UInt32?, window: UInt32? = nil) {
        var entries: [nghttp2_settings_entry] = []
        func add(_ id: nghttp2_settings_id, _ value: UInt32?) {
            if let value { entries.append(nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: value)) }
        }
        add(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams)
        add(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window)
        nghttp2_submit_settings(session, 0, entries, entries.count)
    }

    func answer(_ stream: Int32, status: Int, headers: [(String, String)] = [], bodyBytes: Int = 0) {
        let fields = [(":status", "\(status)")] + headers
        let storage = fields.map { (Array($0.0.utf8), Array($0.1.utf8)) }
        withPointers(storage) { nva in
            guard bodyBytes > 0 else {
                nghttp2_submit_response(session, stream, nva.baseAddress, nva.count, nil)
                return
            }
            let body = UnsafeMutablePointer<PendingBody>.allocate(capacity: 1)
            body.initialize(to: PendingBody(left: bodyBytes, byte: UInt8(ascii: "a") + UInt8(stream % 26)))
            bodies.append(body)
            var provider = nghttp2_data_provider(source: nghttp2_data_source(ptr: body)) {
                _, _, buffer, length, flags, source, _ in
                guard let body = source?.pointee.ptr?.assumingMemoryBound(to: PendingBody.self), let buffer else {
                    return -1
                }
                let count = min(length, body.pointee.left, 1_000)
                buffer.update(repeating: body.pointee.byte, count: count)
                body.pointee.left -= count
                if body.pointee.left == 0 { flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
                return count
            }
            nghttp2_submit_response(session, stream, nva.baseAddress, nva.count, &provider)
        }
    }

    func reset(_ stream: Int32, _ code: nghttp2_error_code) {
        nghttp2_submit_rst_stream(session, 0, stream, code.rawValue)
    }

    func goAway(last: Int32, _ code: nghttp2_error_code = NGHTTP2_NO_ERROR, debugData: String = "") {
        let bytes = Array(debugData.utf8)
        nghttp2_submit_goaway(session, 0, last, code.rawValue, bytes, bytes.count)
    }

    func receive(_ buffer: ByteBuffer) {
        _ = buffer.withUnsafeReadableBytes { bytes in
            nghttp2_session_mem_recv(session, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
        }
        guard let autoStatus else { return }
        for index in requests.indices where requests[index].isComplete && !answered.contains(requests[index].stream) {
            answered.insert(requests[index].stream)
            answer(requests[index].stream, status: autoStatus)
        }
    }

    func bytesToSend() -> ByteBuffer {
        var all = ByteBuffer()
        var bytes: UnsafePointer<UInt8>?
        while true {
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count > 0, let bytes else { return all }
            all.writeBytes(UnsafeRawBufferPointer(start: bytes, count: count))
        }
    }

    // MARK: Parts

    private var answered: Set<Int32> = []

    private static func at(_ pointer: UnsafeMutableRawPointer) -> ScriptedServer {
        Unmanaged<ScriptedServer>.fromOpaque(pointer).takeUnretainedValue()
    }

    private func header(_ stream: Int32, _ name: String, _ value: String, _ isNeverIndexed: Bool) {
        if requests.last?.stream != stream { requests.append(Request(stream: stream)) }
        change(stream) { $0.headers.append((name, value, isNeverIndexed)) }
    }

    private func received(_ frame: nghttp2_frame) {
        switch UInt32(frame.hd.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            guard UInt32(frame.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { return }
            change(frame.hd.stream_id) { $0.isComplete = true }
        case NGHTTP2_RST_STREAM.rawValue: resets[frame.hd.stream_id] = frame.rst_stream.error_code
        case NGHTTP2_PING.rawValue: pings += 1
        default: break
        }
    }

    private func change(_ stream: Int32, _ change: (inout Request) -> Void) {
        guard let index = requests.lastIndex(where: { $0.stream == stream }) else { return }
        change(&requests[index])
    }

    /// nghttp2 copies names and values when no flag says otherwise, so the pointers need live only for the call.
    private func withPointers(_ fields: [([UInt8], [UInt8])], _ use: (UnsafeMutableBufferPointer<nghttp2_nv>) -> Void) {
        let memory = fields.flatMap { [$0.0, $0.1] }.map { bytes in
            let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, bytes.count))
            _ = copy.initialize(from: bytes)
            return copy
        }
        var nva = fields.indices.map { index in
            nghttp2_nv(
                name: memory[index * 2].baseAddress, value: memory[index * 2 + 1].baseAddress,
                namelen: fields[index].0.count, valuelen: fields[index].1.count, flags: 0)
        }
        nva.withUnsafeMutableBufferPointer { use($0) }
        memory.forEach { $0.deallocate() }
    }
}
