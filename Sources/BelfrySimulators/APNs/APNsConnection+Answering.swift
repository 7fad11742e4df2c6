import CNghttp2

/// Takes a complete request to its answer.
extension APNsConnection {
    /// The usual answer; nil is 200. See `Validation` for the order.
    func verdict(on request: Request) -> APNsVerdict? {
        let facts = request.pointee.facts
        if facts.path == .broadcast { return verdictOnBroadcast(request) }
        let validation = service.validation
        if let complaint = validation.complaintAboutForm(of: facts) { return APNsVerdict(complaint) }
        if let scripted = scriptedVerdict(on: request), scripted.status != 200 { return scripted }
        if let complaint = validation.complaintAboutSender(of: facts) { return APNsVerdict(complaint) }
        if let complaint = validation.complaintAboutPayload(of: facts) { return APNsVerdict(complaint) }
        if service.configuration.parsesPayloads, !JSONObject.isObject(request.pointee.payload) {
            return APNsVerdict(.badRequestPayload)
        }
        return nil
    }

    /// The script's verdict on single tokens.
    func scriptedVerdict(on request: Request) -> APNsVerdict? {
        compiled.verdict(for: request.pointee.token).map { APNsVerdict($0) }
    }

    /// Whether the request is to be answered; its verdict is known then.
    func obeyScript(_ request: Request, on stream: Slot, delay: inout Int64) -> Bool {
        let path = compiled.asksForPath ? request.pointee.path : ""
        var context = ServiceContext(
            now: .milliseconds(now), compiled: compiled,
            occasion: .init(connection: ordinal, request: requestsSeen, path: path, topic: request.pointee.topic),
            insteadOfScript: lastingEffects)
        let answer = context.matchedAnswer(request.pointee.token)
        guard act(on: context.effects, for: stream) else { return false }
        delay += context.effects.delay
        let scripted = answer.map { APNsVerdict($0) }
        request.pointee.verdict = scripted.map { $0.status == 200 ? nil : $0 } ?? verdict(on: request)
        return true
    }

    /// Counts the device as notified.
    func record(_ request: Request) {
        guard request.pointee.facts.path == .device || request.pointee.facts.path == .broadcast else { return }
        let ledger = handler.ledger
        request.pointee.isTold = true
        ledger.recordTold(
            request.pointee.token, hash: request.pointee.tokenHash, id: request.pointee.idHash, at: now)
        guard ledger.detail == .payloads else { return }
        let kept = LedgerRequest(
            headers: request.pointee.headers, payload: String(decoding: request.pointee.payload, as: UTF8.self))
        ledger.keep(kept, for: request.pointee.token, hash: request.pointee.tokenHash)
    }

    /// Sends a refusal, with the header fields of a script if it names some.
    func submit(_ verdict: APNsVerdict, _ fields: UnsafeMutableBufferPointer<nghttp2_nv>, on stream: Slot) {
        guard !verdict.fields.isEmpty else {
            return submit(UnsafeBufferPointer(fields), on: stream, body: Array(verdict.body.utf8))
        }
        HeaderBlock(verdict.fields).withPairs { more in
            (Array(fields) + Array(more)).withUnsafeBufferPointer {
                submit($0, on: stream, body: Array(verdict.body.utf8))
            }
        }
    }

    func headerFields(for request: Request, status: Int) -> UnsafeMutableBufferPointer<nghttp2_nv> {
        if request.pointee.facts.id != .good { request.pointee.writeID(from: answers.nextRandom()) }
        if request.pointee.facts.path == .broadcast {
            return answers.fieldsOfBroadcast(status: status, id: request.pointee.id)
        }
        return answers.fields(
            status: status, id: request.pointee.id, withUniqueID: service.configuration.isSandbox)
    }
}
