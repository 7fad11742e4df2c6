import CNghttp2
import NIOCore

/// One client session of nghttp2 and its batches. Bytes in, bytes out; it knows no channel and no clock.
///
/// Lives on one event loop. The handler calls ``receive(_:)`` with what was read and ``fill(_:upTo:)`` for what is to be
/// written, and takes ``events`` after each.
final class HTTP2Session {
    private(set) var window: StreamWindow
    private(set) var ending: HTTP2Ending?
    private(set) var hasSettings = false
    var events: [HTTP2Event] = []
    /// Called when nghttp2 acknowledges a ping.
    var onPong: () -> Void = {}

    private let configuration: HTTP2Configuration
    private let names: [[UInt8]]
    private var session: OpaquePointer?
    private var slots: StreamSlots
    private var lanes = BatchLanes()
    private var jobs: [BatchJob] = []
    private var streak: AnswerStreak
    private var isProven = false
    /// All answers of the connection.
    private var answered = 0
    /// Jobs whose answers are given but whose bytes a queued frame may still name.
    private var finished: [BatchJob] = []

    /// How many requests are written between two looks at what the session wants to send. A request's DATA follows its
    /// HEADERS closely, so the server can begin to answer.
    private static let burst = 16

    init(configuration: HTTP2Configuration) throws {
        self.configuration = configuration
        names = configuration.keptHeaders.map { Array($0.utf8) }
        window = StreamWindow(most: configuration.streamsMax, initial: configuration.initialStreamLimit)
        slots = StreamSlots(capacity: configuration.streamsMax)
        streak = AnswerStreak(sickAfter: configuration.sickAfter)
        session = try makeSession(for: Unmanaged.passUnretained(self).toOpaque())
        submitPreface()
    }

    deinit { nghttp2_session_del(session) }

    // MARK: State

    var isIdle: Bool { jobs.isEmpty }
    var hasOpenStreams: Bool { window.active > 0 }
    /// Requests written and unanswered, and requests that wait.
    var load: Int { window.active + lanes.waiting }
    /// True when nothing more can happen on the connection.
    var isFinished: Bool {
        (ending != nil && window.active == 0)
            || (nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0)
    }

    // MARK: Requests in

    /// Takes a batch; its requests are written as streams become free.
    func enqueue(_ job: BatchJob) {
        job.place = jobs.count
        job.names = job.names ?? names
        jobs.append(job)
        if let ending {
            giveUp(job, unwritten: ending.fault)
        } else if lanes.waiting + job.count > configuration.waitingMax {
            giveUp(job, unwritten: HTTP2Fault(.full))
        } else if job.count == 0 {
            finish(job)
        } else {
            lanes.append(job)
        }
    }

    /// Answers every job whose time is up, or to which the server was silent for too long. Streams still open are reset.
    ///
    /// What has not been written waits for the answers of others, so then no answer to anyone is silence.
    func expire(at now: UInt64) {
        for job in jobs {
            let isSilent = job.silence.isTooLong(answers: job.next > 0 ? job.answered : answered, at: now)
            guard job.lapsesAt <= now || isSilent else { continue }
            abandon(job, HTTP2Fault(.deadline))
        }
    }

    /// Answers the job at once; what was written is unknown.
    func cancel(_ id: UInt64) {
        for job in jobs where job.id == id {
            abandon(job, HTTP2Fault(.cancelled))
        }
    }

    /// Opens no more streams. Waiting requests are answered as unprocessed, written ones may still be answered.
    func drain(_ reason: HTTP2Ending) {
        guard ending == nil else { return }
        ending = reason
        events.append(.draining(reason))
        for job in jobs { giveUpWaiting(job, reason.fault) }
    }

    /// The connection is gone: every open request gets its answer.
    func fail(_ reason: HTTP2Ending) {
        ending = ending ?? reason
        // A request above the last stream of a GOAWAY was answered when that frame came; the rest is unknown.
        for job in jobs { abandon(job, reason.fault, resetsStreams: false) }
    }

    // MARK: Bytes out

    /// Appends what is to be written, about `limit` bytes. Appends nothing when all is written or must wait.
    func fill(_ buffer: inout ByteBuffer, upTo limit: Int) {
        repeat {
            serialize(into: &buffer)
        } while buffer.readableBytes < limit && submitBurst()
        if nghttp2_session_get_outbound_queue_size(session) == 0 { finished.removeAll() }
    }

    func ping() { nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) }

    func sayGoodbye() { nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR.rawValue) }

    // MARK: Bytes in

    /// Feeds what was read. Throws when the peer broke the protocol so badly that the session cannot go on.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2SessionError) {
        let read = nghttp2_session_mem_recv(session, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
        if read < 0 { throw HTTP2SessionError(code: read) }
    }
}

/// nghttp2 gave up on the session.
struct HTTP2SessionError: Error {
    let code: Int
}

// MARK: - Writing

extension HTTP2Session {
    private func submitPreface() {
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: 16_384),
        ]
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
    }

    private func serialize(into buffer: inout ByteBuffer) {
        var bytes: UnsafePointer<UInt8>?
        while true {
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count > 0, let bytes else { return }
            buffer.writeBytes(UnsafeRawBufferPointer(start: bytes, count: count))
        }
    }

    /// Submits a few requests; false when none could be.
    private func submitBurst() -> Bool {
        var submitted = 0
        while submitted < Self.burst, ending == nil, window.room > 0, let job = lanes.first, hasCredit(for: job) {
            submit(job)
            submitted += 1
        }
        return submitted > 0
    }

    /// True when the server's flow control lets the body follow its headers. With no stream open the request goes out
    /// all the same, so that it cannot wait for a credit that nothing would bring.
    private func hasCredit(for job: BatchJob) -> Bool {
        window.active == 0 || Int(nghttp2_session_get_remote_window_size(session)) >= job.bodyOfNext().count
    }

    private func submit(_ job: BatchJob) {
        guard let slot = slots.take() else { return lanes.advanceFirst() }
        let body = job.bodyOfNext()
        let (headers, headerCount) = job.headersOfNext()
        slot.pointee.job = Unmanaged.passUnretained(job)
        slot.pointee.request = job.next
        slot.pointee.bodyStart = body.baseAddress
        slot.pointee.bodyLeft = body.count
        lanes.advanceFirst()
        var provider = nghttp2_data_provider(source: nghttp2_data_source(ptr: slot), read_callback: readBody)
        let stream =
            body.isEmpty
            ? nghttp2_submit_request(session, nil, headers, headerCount, nil, slot)
            : nghttp2_submit_request(session, nil, headers, headerCount, &provider, slot)
        window.active += 1
        slot.pointee.streamID = stream
        if stream < 0 { refuse(slot, code: stream) } else { job.hasStreams = true }
    }

    /// nghttp2 would not take the request: no stream ids are left, or it has no memory.
    private func refuse(_ slot: UnsafeMutablePointer<StreamSlot>, code: Int32) {
        answer(slot) { $0.settle(.unprocessed, HTTP2Fault(.invalid)) }
        release(slot)
        if code == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE.rawValue { drain(.closed) }
    }
}

// MARK: - Callbacks of nghttp2

extension HTTP2Session {
    func header(
        _ slot: UnsafeMutablePointer<StreamSlot>, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
    ) {
        guard let job = slot.pointee.job else { return }
        if name[0] == UInt8(ascii: ":") {
            // A response has one pseudo header, :status, of three digits. nghttp2 checks both.
            let status = value.reduce(UInt16(0)) { $0 &* 10 &+ UInt16($1 &- 0x30) }
            slot.pointee.status = status
            job._withUnsafeGuaranteedRef { $0.answers.begin(slot.pointee.request, status: status) }
            return
        }
        // Headers of an interim response are not kept: a server may send any number of these.
        guard slot.pointee.status >= 200 else { return }
        job._withUnsafeGuaranteedRef { job in
            guard let place = job.names?.firstIndex(where: { $0.count == name.count && $0.elementsEqual(name) })
            else { return }
            job.answers.keep(slot.pointee.request, place: UInt8(truncatingIfNeeded: place), value: value)
        }
    }

    func body(_ slot: UnsafeMutablePointer<StreamSlot>, piece: UnsafeBufferPointer<UInt8>) {
        guard let job = slot.pointee.job else { return }
        let isCut = job._withUnsafeGuaranteedRef { job in
            let limit = job.answerBytesMax ?? configuration.bodyBytesMax
            job.answers.keepBody(slot.pointee.request, piece: piece, limit: limit)
            return job.answers.records[slot.pointee.request].isTruncated
        }
        guard isCut else { return }
        // The rest is not waited for: it may have no end.
        responded(slot)
        nghttp2_submit_rst_stream(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), slot.pointee.streamID, NGHTTP2_CANCEL.rawValue)
    }

    /// The stream is closed in both directions, or reset by either side.
    func closed(_ slot: UnsafeMutablePointer<StreamSlot>, errorCode: UInt32) {
        defer { release(slot) }
        guard slot.pointee.job != nil else { return }
        if slot.pointee.hasEnded {
            responded(slot)
        } else if errorCode == NGHTTP2_REFUSED_STREAM.rawValue {
            // nghttp2 itself closes streams above the last id of a GOAWAY with this code.
            let code: HTTP2Fault.Code = if case .goAway = ending { .goAway } else { .refused }
            answer(slot) { $0.settle(.unprocessed, HTTP2Fault(code, errorCode: errorCode)) }
        } else {
            answer(slot) { $0.settle(.unknown, HTTP2Fault(.reset, errorCode: errorCode)) }
        }
    }

    /// A request's HEADERS could not be sent, so the server never saw it.
    func notSent(streamID: Int32) {
        guard let slot = slots.open(streamID) else { return }
        answer(slot) { $0.settle(.unprocessed, HTTP2Fault(.closing)) }
        // Where nghttp2 opened the stream it also closes it, and the slot is released there.
        if nghttp2_session_get_stream_user_data(session, streamID) == nil { release(slot) }
    }

    func received(settings frame: nghttp2_settings) {
        guard frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 else { return }
        hasSettings = true
        window.allow(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
        events.append(.streamLimit(window.provenLimit))
    }

    func received(goAway frame: nghttp2_goaway) {
        let debugData = Array(UnsafeBufferPointer(start: frame.opaque_data, count: frame.opaque_data_len))
        let reason = HTTP2Ending.goAway(errorCode: frame.error_code, debugData: debugData)
        if case .goAway = ending { return }
        // A GOAWAY says more than why we were closing already.
        if ending != nil { ending = reason } else { drain(reason) }
    }

    private func responded(_ slot: UnsafeMutablePointer<StreamSlot>) {
        let status = Int(slot.pointee.status)
        if !isProven, configuration.provesAuthentication(status) { prove() }
        if status >= 400 { obey(verdict(on: slot, status: status)) }
        if streak.saw(status: status) { drain(.sick) }
        answer(slot) { $0.kind = .response }
    }

    private func prove() {
        isProven = true
        window.prove()
        events.append(.proven)
    }

    private func obey(_ verdict: HTTP2Verdict) {
        switch verdict {
        case .keep: break
        case .retire: drain(.retired)
        case .retireAll: drain(.allDeleted)
        }
    }

    private func verdict(on slot: UnsafeMutablePointer<StreamSlot>, status: Int) -> HTTP2Verdict {
        guard let job = slot.pointee.job?.takeUnretainedValue() else { return .keep }
        let bytes = job.answers.bytes
        let body = job.answers.records[slot.pointee.request].body
        return configuration.judge(status, bytes.span.extracting(body))
    }
}

// MARK: - Answers

extension HTTP2Session {
    private func answer(_ slot: UnsafeMutablePointer<StreamSlot>, _ write: (inout AnswerRecord) -> Void) {
        guard let job = slot.pointee.job?.takeUnretainedValue() else { return }
        slot.pointee.job = nil
        answered += 1
        write(&job.answers.records[slot.pointee.request])
        job.answered += 1
        if job.isDone { finish(job) }
    }

    private func release(_ slot: UnsafeMutablePointer<StreamSlot>) {
        window.active -= 1
        slots.give(back: slot)
    }

    /// Answers all that is open on a job.
    private func abandon(_ job: BatchJob, _ fault: HTTP2Fault, resetsStreams: Bool = true) {
        slots.forEachOpen { slot in
            guard slot.pointee.job?.toOpaque() == Unmanaged.passUnretained(job).toOpaque() else { return }
            if slot.pointee.hasEnded { return responded(slot) }
            if resetsStreams {
                nghttp2_submit_rst_stream(
                    session, UInt8(NGHTTP2_FLAG_NONE.rawValue), slot.pointee.streamID, NGHTTP2_CANCEL.rawValue)
            }
            answer(slot) { $0.settle(.unknown, fault) }
        }
        giveUpWaiting(job, fault)
    }

    /// Answers what a job has not written.
    private func giveUpWaiting(_ job: BatchJob, _ fault: HTTP2Fault) {
        guard !job.isWritten else { return }
        lanes.remove(job)
        giveUp(job, unwritten: fault)
    }

    private func giveUp(_ job: BatchJob, unwritten fault: HTTP2Fault) {
        for request in job.next..<job.count {
            job.answers.records[request] = AnswerRecord(kind: .unprocessed, fault: fault)
        }
        job.answered += job.count - job.next
        job.next = job.count
        if job.isDone { finish(job) }
    }

    private func finish(_ job: BatchJob) {
        let last = jobs.removeLast()
        if last !== job {
            last.place = job.place
            jobs[job.place] = last
        }
        if job.hasStreams { finished.append(job) }
        job.finish()
    }
}
