/// The state that all connections of one simulated provider share: the script and the ledger.
package final class ServiceHandler: Sendable {
    let habits: HTTPHabits
    let listening: Listening
    let ledger: Ledger
    let currentScript: ServiceCurrentScript
    let connections = OpenConnections()

    init(habits: HTTPHabits, listening: Listening, tokenText: Ledger.TokenText) {
        let ledger = Ledger(detail: listening.ledgerDetail, tokenText: tokenText)
        self.habits = habits
        self.listening = listening
        self.ledger = ledger
        self.currentScript = ServiceCurrentScript(tokenText: tokenText) { ledger.connectionsEver }
    }

    func recordUnanswered() {
        ledger.recordConnection { $0.unanswered += 1 }
    }
}

// MARK: - Requests that a service validates

extension ServiceHandler {
    /// A request that was read and validated.
    struct ValidatedRequest {
        var reply: ServiceReply
        var effects: ServiceContext.Effects
        /// Whether its devices were notified, except those it refuses.
        var isTold = false

        fileprivate var told: [ServiceDelivery] { reply.deliveries.filter { $0.reason == nil } }
    }

    /// - Parameter lasting: the lasting effect of an earlier request on the connection, in place of the script.
    func validate(
        _ request: ServiceRequest, _ occasion: ArmedServiceFault.Occasion, _ compiled: CompiledServiceScript,
        by service: any SimulatedService, insteadOfScript lasting: ServiceContext.Effects?
    ) -> ValidatedRequest {
        var context = ServiceContext(
            now: listening.now(), keepsPayloads: ledger.detail == .payloads,
            compiled: compiled, occasion: occasion, insteadOfScript: lasting)
        var reply = service.reply(to: request, context: &context)
        var effects = context.effects
        if let scripted = effects.answer { reply.replace(by: scripted.answer(by: service)) }
        effects.delay += compiled.latency
        return ValidatedRequest(reply: reply, effects: effects)
    }

    /// Counts the answers of a request when they are sent.
    func recordAnswer(_ validated: ValidatedRequest) {
        guard validated.reply.isPush else { return }
        let status = validated.reply.answer.status
        let now = listening.now().milliseconds
        if validated.reply.deliveries.isEmpty {
            let entry = LedgerAnswer(status: status, reason: validated.reply.answer.reason)
            Self.withToken("") { ledger.recordAnswer($0, hash: $1, entry, at: now) }
        }
        for delivery in validated.reply.deliveries {
            let entry = LedgerAnswer(status: status, reason: delivery.reason)
            Self.withToken(delivery.token) { ledger.recordAnswer($0, hash: $1, entry, at: now) }
        }
    }

    /// Counts the devices that a request tells.
    func tell(_ validated: ValidatedRequest, _ fields: [ServiceRequest.Field]) {
        let now = listening.now().milliseconds
        for delivery in validated.told {
            Self.withToken(delivery.token) { token, hash in
                ledger.recordTold(token, hash: hash, id: Self.idHash(delivery), at: now)
                guard ledger.detail == .payloads else { return }
                let headers = fields.filter { $0.name != "authorization" }
                    .map { LedgerRequest.Header(name: $0.name, value: $0.value) }
                ledger.keep(LedgerRequest(headers: headers, payload: delivery.payload), for: token, hash: hash)
            }
        }
    }

    /// Takes back that they were notified.
    func takeBack(_ validated: ValidatedRequest) {
        for delivery in validated.told {
            Self.withToken(delivery.token) { ledger.takeBack($0, hash: $1, id: Self.idHash(delivery)) }
        }
    }

    private static func idHash(_ delivery: ServiceDelivery) -> UInt64? {
        delivery.messageID.map { id in withToken(id) { $1 } }
    }

    private static func withToken<T>(_ token: String, _ body: (UnsafeRawBufferPointer, UInt64) -> T) -> T {
        var token = token
        return token.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return body(bytes, StableHash.hash(bytes))
        }
    }
}
