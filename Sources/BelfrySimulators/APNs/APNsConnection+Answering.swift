import CNghttp2
import Foundation
import NIOCore

/// From a finished request to its answer.
extension APNsConnection {
    func requestEnded(_ exchange: UnsafeMutablePointer<Exchange>) {
        // The rest of a batch whose connection is to end, or which lies behind the last stream of a GOAWAY.
        guard !mustClose, !mustFallSilent, exchange.pointee.streamID <= lastStreamTaken else { return }
        requestsSeen += 1
        if !isByToken { authorizeByCertificate(exchange) }
        var delay = playbook.latency
        if !playbook.faults.isEmpty || stickyVerdict != nil || answersToLose != nil {
            guard goesOn(exchange, delay: &delay) else { return }
        } else {
            exchange.pointee.verdict = verdict(on: exchange)
        }
        settle(exchange, after: delay)
    }

    /// The usual answer; nil is 200. See `Validation` for the order.
    func verdict(on exchange: UnsafeMutablePointer<Exchange>) -> APNsVerdict? {
        let facts = exchange.pointee.facts
        if facts.path == .broadcast { return verdictOnBroadcast(exchange) }
        if let complaint = station.validation.complaintAboutForm(of: facts) { return APNsVerdict(complaint) }
        if let scripted = playbook.verdict(for: exchange.pointee.token), scripted.status != 200 { return scripted }
        if let complaint = station.validation.complaintAboutSender(of: facts) { return APNsVerdict(complaint) }
        if let complaint = station.validation.complaintAboutPayload(of: facts) { return APNsVerdict(complaint) }
        if station.configuration.parsesPayloads, !JSONObject.isObject(exchange.pointee.payload) {
            return APNsVerdict(.badRequestPayload)
        }
        return nil
    }

    private func settle(_ exchange: UnsafeMutablePointer<Exchange>, after delay: Int64) {
        if exchange.pointee.verdict == nil { tell(exchange) }
        guard delay > 0 else { return answer(exchange) }
        exchange.pointee.isDelayed = true
        delayed.insert(exchange, due: uptime + delay)
        scheduleTick()
    }

    /// Counts the device as told.
    func tell(_ exchange: UnsafeMutablePointer<Exchange>) {
        guard exchange.pointee.facts.path == .device || exchange.pointee.facts.path == .broadcast else { return }
        let ledger = station.ledger
        exchange.pointee.isTold = true
        ledger.recordTold(
            exchange.pointee.token, hash: exchange.pointee.tokenHash, id: exchange.pointee.idHash, at: now)
        guard ledger.detail == .payloads else { return }
        let request = LedgerRequest(
            headers: exchange.pointee.headers, payload: String(decoding: exchange.pointee.payload, as: UTF8.self))
        ledger.keep(request, for: exchange.pointee.token, hash: exchange.pointee.tokenHash)
    }

    func answer(_ exchange: UnsafeMutablePointer<Exchange>) {
        guard let session else { return }
        let verdict = exchange.pointee.verdict
        exchange.pointee.isAnswered = true
        station.ledger.recordAnswer(
            exchange.pointee.token, hash: exchange.pointee.tokenHash, APNsVerdict.entry(verdict), at: now)
        let fields = headerFields(for: exchange, status: verdict?.status ?? 200)
        if let verdict, verdict.reason != nil {
            exchange.pointee.body = Array(verdict.body.utf8)
            var provider = Self.body(of: exchange)
            nghttp2_submit_response(session, exchange.pointee.streamID, fields.baseAddress, fields.count, &provider)
        } else {
            nghttp2_submit_response(session, exchange.pointee.streamID, fields.baseAddress, fields.count, nil)
        }
        if !allowsAllStreams, verdict == nil { allowAllStreams() }
    }

    func headerFields(
        for exchange: UnsafeMutablePointer<Exchange>, status: Int
    ) -> UnsafeMutableBufferPointer<nghttp2_nv> {
        if exchange.pointee.facts.id != .good { exchange.pointee.writeID(from: answers.nextRandom()) }
        if exchange.pointee.facts.path == .broadcast {
            return answers.fieldsOfBroadcast(status: status, id: exchange.pointee.id)
        }
        return answers.fields(
            status: status, id: exchange.pointee.id, withUniqueID: station.configuration.isSandbox)
    }

    /// Hands nghttp2 the body of an exchange; a stalled one never has anything to hand.
    static func body(of exchange: UnsafeMutablePointer<Exchange>) -> nghttp2_data_provider {
        nghttp2_data_provider(source: nghttp2_data_source(ptr: exchange)) { _, _, target, room, flags, source, _ in
            guard let target, let flags, let pointer = source?.pointee.ptr else { return 0 }
            let exchange = pointer.assumingMemoryBound(to: Exchange.self)
            if exchange.pointee.isStalled { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
            let rest = exchange.pointee.body.count - exchange.pointee.bodySent
            let count = min(rest, room)
            exchange.pointee.body.withUnsafeBytes { body in
                if let start = body.baseAddress { memcpy(target, start + exchange.pointee.bodySent, count) }
            }
            exchange.pointee.bodySent += count
            if count == rest { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return count
        }
    }

    /// The first accepted provider token lifts the limit of one stream. Source: Apple, "Sending notification requests to APNs".
    private func allowAllStreams() {
        allowsAllStreams = true
        submitSettings(streamsAtOnceMax: station.configuration.streamsAtOnceMax)
    }
}

// MARK: - Later

extension APNsConnection {
    /// Milliseconds on a clock that only runs forward.
    private var uptime: Int64 { Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000) }

    private func scheduleTick() {
        guard tick == nil, let due = delayed.nextDue, let context else { return }
        let wait = TimeAmount.milliseconds(max(1, due - uptime))
        tick = context.eventLoop.assumeIsolated().scheduleTask(in: wait) { self.answerDue() }
    }

    private func answerDue() {
        tick = nil
        guard session != nil, !isSilent else { return }
        let uptime = uptime
        now = station.configuration.now().milliseconds
        while let exchange = delayed.popDue(at: uptime) {
            exchange.pointee.isDelayed = false
            if exchange.pointee.isOpen { answer(exchange) } else { freeSlots.append(exchange) }
        }
        pump()
        scheduleTick()
    }
}
