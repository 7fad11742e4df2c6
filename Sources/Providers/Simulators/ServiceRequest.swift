/// A request of any version of HTTP.
package struct ServiceRequest: Sendable {
    package struct Field: Sendable, Equatable {
        /// The name in lower case.
        package var name: String
        package var value: String
    }

    /// More than any provider accepts, a thousand tokens and their message included.
    static let bodyBytesMax = 4 * 1024 * 1024

    package var method: String
    /// The path without the query.
    package var path: String
    package var query: [String: String]
    /// The fields without pseudo-header fields.
    package var fields: [Field]
    /// `:authority` or `host`.
    package var authority: String?
    package var body: [UInt8]
    package var isHTTP2: Bool

    init(method: String, target: String, fields: [Field], authority: String?, body: [UInt8], isHTTP2: Bool) {
        let cut = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        self.method = method
        self.path = cut.map { String(target[..<$0]) } ?? target
        self.query = cut.map { FormText.read(target[target.index(after: $0)...]) } ?? [:]
        self.fields = fields
        self.authority = authority
        self.body = body
        self.isHTTP2 = isHTTP2
    }

    /// The value of a field; the first if it is repeated.
    func field(_ name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    func values(of name: String) -> [String] {
        fields.filter { $0.name == name }.map(\.value)
    }

    /// The media type without its parameters, in lower case.
    var mediaType: String? {
        field("content-type").map { Words.trim($0.prefix { $0 != ";" }).lowercased() }
    }

    /// The token after `Bearer`, which is not case-sensitive.
    var bearer: String? { credentials(of: "bearer") }

    func credentials(of scheme: String) -> String? {
        guard let value = field("authorization") else { return nil }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == scheme else { return nil }
        return String(parts[1])
    }

    var isForm: Bool { mediaType == "application/x-www-form-urlencoded" }

    var form: [String: String] { FormText.read(Substring(decoding: body, as: UTF8.self)) }

    /// The path split at its slashes.
    var segments: [String] { path.split(separator: "/").map { FormText.decode($0, plusIsSpace: false) } }
}

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
