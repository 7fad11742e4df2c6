/// What all connections of one simulated provider share: the service, the script and the ledger.
final class Station: Sendable {
    let service: any SimulatedService
    let habits: HTTPHabits
    let listening: Listening
    let ledger: Ledger
    let book: ServiceScriptBook
    let roster = Roster()

    init(_ service: any SimulatedService, habits: HTTPHabits, listening: Listening) {
        let ledger = Ledger(detail: listening.ledgerDetail, tokenText: .plain)
        self.service = service
        self.habits = habits
        self.listening = listening
        self.ledger = ledger
        self.book = ServiceScriptBook { ledger.connectionsEver }
    }

    /// A request that was read and judged.
    struct Judged {
        var reply: ServiceReply
        var effects: ServiceDesk.Effects
        /// Devices that were told.
        fileprivate(set) var told: [ServiceDelivery] = []
    }

    /// Judges a request and counts the devices that are told by it.
    func judge(_ request: ServiceRequest, _ occasion: ArmedServiceFault.Occasion, _ playbook: ServicePlaybook) -> Judged
    {
        let now = listening.now()
        var desk = ServiceDesk(
            now: now, keepsPayloads: ledger.detail == .payloads, playbook: playbook, occasion: occasion)
        var reply = service.reply(to: request, desk: &desk)
        var effects = desk.effects
        if let scripted = effects.answer { reply.replace(by: scripted.answer(by: service)) }
        effects.delay += playbook.latency
        var judged = Judged(reply: reply, effects: effects)
        if effects.ending?.told ?? true, effects.goAway?.leavesRequest != true { tell(&judged, request, at: now) }
        return judged
    }

    /// Counts the answers of a request, at the moment they are handed out.
    func recordAnswer(_ judged: Judged) {
        guard judged.reply.isPush else { return }
        let status = judged.reply.answer.status
        let now = listening.now().milliseconds
        if judged.reply.deliveries.isEmpty {
            let entry = LedgerAnswer(status: status, reason: judged.reply.answer.reason)
            Self.withToken("") { ledger.recordAnswer($0, hash: $1, entry, at: now) }
        }
        for delivery in judged.reply.deliveries {
            let entry = LedgerAnswer(status: status, reason: delivery.reason)
            Self.withToken(delivery.token) { ledger.recordAnswer($0, hash: $1, entry, at: now) }
        }
    }

    func recordUnanswered() {
        ledger.recordConnection { $0.unanswered += 1 }
    }

    private func tell(_ judged: inout Judged, _ request: ServiceRequest, at now: Duration) {
        judged.told = judged.reply.deliveries.filter { $0.reason == nil }
        for delivery in judged.told {
            Self.withToken(delivery.token) { token, hash in
                let id = delivery.messageID.map { id in Self.withToken(id) { $1 } }
                ledger.recordTold(token, hash: hash, id: id, at: now.milliseconds)
                guard ledger.detail == .payloads else { return }
                let headers = request.fields.filter { $0.name != "authorization" }
                    .map { LedgerRequest.Header(name: $0.name, value: $0.value) }
                ledger.keep(LedgerRequest(headers: headers, payload: delivery.payload), for: token, hash: hash)
            }
        }
    }

    private static func withToken<T>(_ token: String, _ body: (UnsafeRawBufferPointer, UInt64) -> T) -> T {
        var token = token
        return token.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return body(bytes, StableHash.hash(bytes))
        }
    }
}
