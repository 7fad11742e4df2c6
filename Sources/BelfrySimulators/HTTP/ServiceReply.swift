/// An answer before it is written as HTTP.
package struct ServiceAnswer: Sendable, Equatable {
    package var status: Int
    /// Why the message was refused, in the provider's term; nil when it was accepted. The ledger counts by it.
    package var reason: String?
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(
        _ status: Int, reason: String? = nil, fields: [(name: String, value: String)] = [], body: [UInt8] = []
    ) {
        self.status = status
        self.reason = reason
        self.fields = fields
        self.body = body
    }

    package static func json(
        _ status: Int, _ body: String, reason: String? = nil, fields: [(name: String, value: String)] = []
    ) -> ServiceAnswer {
        ServiceAnswer(
            status, reason: reason, fields: [("content-type", "application/json; charset=UTF-8")] + fields,
            body: Array(body.utf8))
    }

    package static func text(_ status: Int, _ body: String, reason: String? = nil) -> ServiceAnswer {
        ServiceAnswer(
            status, reason: reason, fields: [("content-type", "text/plain; charset=UTF-8")], body: Array(body.utf8))
    }

    package static func html(_ status: Int, _ body: String, reason: String? = nil) -> ServiceAnswer {
        ServiceAnswer(
            status, reason: reason, fields: [("content-type", "text/html; charset=UTF-8")], body: Array(body.utf8))
    }

    package static func == (left: ServiceAnswer, right: ServiceAnswer) -> Bool {
        left.status == right.status && left.reason == right.reason && left.body == right.body
            && left.fields.elementsEqual(right.fields) { $0 == $1 }
    }
}

/// The result for one device in a request.
package struct ServiceDelivery: Sendable, Equatable {
    package var token: String
    /// Why this device was refused; nil when it was notified.
    package var reason: String?
    /// The payload that the device reads: decrypted where the message was encrypted.
    package var payload = ""
    /// The sender's own id of the message, which identifies a second copy.
    package var messageID: String?
}

/// An answer and the devices it is about.
package struct ServiceReply: Sendable {
    package var answer: ServiceAnswer
    package var deliveries: [ServiceDelivery]
    /// Whether the request was a push; one for an access token is not.
    package var isPush = true

    /// An answer without a readable device.
    init(_ answer: ServiceAnswer, deliveries: [ServiceDelivery] = []) {
        self.answer = answer
        self.deliveries = deliveries
    }

    /// An answer for one device, which is notified unless the answer has a reason.
    init(_ answer: ServiceAnswer, token: String, payload: String = "", messageID: String? = nil) {
        self.answer = answer
        self.deliveries = [
            ServiceDelivery(token: token, reason: answer.reason, payload: payload, messageID: messageID)
        ]
    }

    /// An answer to a request that was not a push.
    static func aside(_ answer: ServiceAnswer) -> ServiceReply {
        var reply = ServiceReply(answer)
        reply.isPush = false
        return reply
    }

    /// Replaces the answer: if it is a refusal, it is one for every device.
    mutating func replace(by answer: ServiceAnswer) {
        self.answer = answer
        for index in deliveries.indices { deliveries[index].reason = answer.reason }
    }
}
