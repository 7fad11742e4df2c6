import FoundationEssentials
import Synchronization

/// BlackBerry's side: PAP over HTTP, with the result as XML in a 200.
package final class PAPService: SimulatedService {
    private let configuration: PAPConfiguration
    /// Push ids seen, which identify a second copy.
    private let ids = Mutex<Set<String>>([])
    private static let idsMax = 100_000

    package init(_ configuration: PAPConfiguration) {
        self.configuration = configuration
    }

    /// The result codes; 1001 tells the devices, 1500 too.
    ///
    /// Source: BlackBerry, "Push service response codes".
    private static let codes = [
        "1000": "OK", "1001": "The request has been accepted for processing.",
        "1500": "The request has been accepted, and the daily push quota is exceeded.",
        "2000": "Bad request", "2001": "Forbidden", "2002": "Address error", "2004": "Push ID not found",
        "2007": "Duplicate push ID", "2500": "The daily push quota is exceeded", "3000": "Internal server error",
        "3001": "Not implemented", "3002": "Version not supported", "3007": "Service unavailable",
        "4000": "Service failure", "4001": "Service unavailable", "4500": "The push message expired",
        "4501": "The push message failed", "4502": "The application is not listening",
        "4503": "The push service is blocked", "22002": "The subscriber is not known", "22005": "Too many requests",
        "23000": "The application is suspended",
    ]

    package func answer(for reason: String) -> ServiceAnswer? {
        switch reason {
        case "Unauthorized":
            ServiceAnswer(401, reason: reason, fields: [("www-authenticate", "Basic realm=\"BlackBerry\"")])
        case "NotFound": ServiceAnswer(404, reason: reason)
        case "ServiceUnavailable": ServiceAnswer(503, reason: reason)
        default: Self.codes[reason].map { result(reason, $0, id: "0") }
        }
    }

    package func reply(to request: ServiceRequest, context: inout ServiceContext) -> ServiceReply {
        guard request.path == "/mss/PD_pushRequest", request.method == "POST" else { return refuse("NotFound") }
        guard isKnown(request.credentials(of: "basic")) else { return refuse("Unauthorized") }
        guard let type = request.field("content-type"), let body = Multipart(contentType: type, body: request.body),
            body.parts.count == 2, body.parts[0].fields["content-type"]?.hasPrefix("application/xml") == true,
            let push = PAPPush(String(decoding: body.parts[0].body, as: UTF8.self)),
            push.applicationID == configuration.applicationID,
            body.parts[1].body.count <= configuration.contentBytesMax
        else { return ServiceReply(badMessage("2000")) }
        return send(push, body.parts[1].body, &context)
    }

    private func send(_ push: PAPPush, _ content: [UInt8], _ context: inout ServiceContext) -> ServiceReply {
        let payload = context.keepsPayloads ? String(decoding: content, as: UTF8.self) : ""
        var reply = ServiceReply(
            result("1001", Self.codes["1001"] ?? "", id: push.id),
            deliveries: push.addresses.map { ServiceDelivery(token: $0, payload: payload, messageID: push.id) })
        for address in push.addresses {
            guard let scripted = context.scripted(for: address) else { continue }
            reply.replace(by: answer(scripted, id: push.id))
            return reply
        }
        if !remember(push.id) { reply.replace(by: result("2007", Self.codes["2007"] ?? "", id: push.id)) }
        return reply
    }

    private func answer(_ scripted: ScriptedAnswer, id: String) -> ServiceAnswer {
        var answer = scripted.answer(by: self)
        if scripted.body == nil, let reason = scripted.reason, let words = Self.codes[reason] {
            answer.body = result(reason, words, id: id).body
        }
        return answer
    }

    private func remember(_ id: String) -> Bool {
        ids.withLock { ids in
            if ids.count >= Self.idsMax { ids.removeAll() }
            return ids.insert(id).inserted
        }
    }

    private func isKnown(_ credentials: String?) -> Bool {
        guard let credentials, let bytes = Data(base64Encoded: credentials) else { return false }
        return String(decoding: bytes, as: UTF8.self) == "\(configuration.applicationID):\(configuration.password)"
    }

    // MARK: - XML

    private func result(_ code: String, _ words: String, id: String) -> ServiceAnswer {
        let isTaken = code.hasPrefix("1")
        return xml(
            """
            <push-response push-id="\(id.xmlEscaped)" sender-name="BlackBerry Push Service">\
            <response-result code="\(code)" desc="\(words.xmlEscaped)"/></push-response>
            """, reason: isTaken ? nil : code)
    }

    private func badMessage(_ code: String) -> ServiceAnswer {
        let words = Self.codes[code] ?? ""
        return xml(#"<badmessage-response code="\#(code)" desc="\#(words)" bad-message-fragment=""/>"#, reason: code)
    }

    private func xml(_ inner: String, reason: String?) -> ServiceAnswer {
        let text = """
            <?xml version="1.0"?><!DOCTYPE pap PUBLIC "-//WAPFORUM//DTD PAP 2.1//EN" \
            "http://www.openmobilealliance.org/tech/DTD/pap_2.1.dtd"><pap>\(inner)</pap>
            """
        return ServiceAnswer(200, reason: reason, fields: [("content-type", "application/xml")], body: Array(text.utf8))
    }
}

/// BlackBerry's push service on this machine: PAP 2.1 at `/mss/PD_pushRequest`.
package typealias PAPSimulator = ServiceSimulator<PAPService>

extension ServiceSimulator where S == PAPService {
    /// The address that a sender posts messages to.
    package var sendURL: String { "\(url)/mss/PD_pushRequest" }
}

/// How BlackBerry's simulated push service listens and which senders it accepts.
package struct PAPConfiguration: ServiceConfiguration {
    package var listening = Listening()
    package var applicationID = "1234-ABCDEFbelfry"
    package var password = "p4ssw0rd"
    package var contentBytesMax = 8 * 1024

    package init() {}
}

/// The control part of a push: content and recipients. Source: WAP-247, PAP 2.1, `push-message`.
struct PAPPush {
    var id: String
    var applicationID: String
    var addresses: [String]

    private static let methods: Set = ["confirmed", "preferconfirmed", "unconfirmed", "notspecified"]

    /// nil when it has another document type.
    init?(_ text: String) {
        guard let root = XML(text), root.name == "pap", let message = root.child("push-message"),
            let id = message.attributes["push-id"], !id.isEmpty,
            let application = message.attributes["source-reference"]
        else { return nil }
        if let deadline = message.attributes["deliver-before-timestamp"], !Self.isTimestamp(deadline) { return nil }
        if let quality = message.child("quality-of-service"),
            let method = quality.attributes["delivery-method"], !Self.methods.contains(method)
        {
            return nil
        }
        let addresses = message.children.filter { $0.name == "address" }.compactMap { $0.attributes["address-value"] }
        guard !addresses.isEmpty else { return nil }
        self.id = id
        self.applicationID = application
        self.addresses = addresses
    }

    /// `2026-01-01T00:00:00Z`.
    private static func isTimestamp(_ text: String) -> Bool {
        text.wholeMatch(of: #/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z/#) != nil
    }
}

/// A `multipart/related` body split into its parts. Source: RFC 2046 §5.1.
struct Multipart {
    struct Part {
        /// Names in lower case.
        var fields: [String: String]
        var body: [UInt8]
    }

    let parts: [Part]

    /// nil when the content type names no boundary or the body is not closed by it.
    init?(contentType: String, body: [UInt8]) {
        guard contentType.lowercased().hasPrefix("multipart/related"), let boundary = Self.boundary(in: contentType)
        else { return nil }
        let delimiter = Data("\r\n--\(boundary)".utf8)
        // The first delimiter may be at the very beginning.
        var rest = Data("\r\n".utf8 + body)[...]
        var parts: [Part] = []
        guard let first = rest.firstRange(of: delimiter) else { return nil }
        rest = rest[first.upperBound...]
        while !rest.starts(with: "--".utf8) {
            guard let end = rest.firstRange(of: delimiter), let part = Self.part(Array(rest[..<end.lowerBound])) else {
                return nil
            }
            parts.append(part)
            rest = rest[end.upperBound...]
        }
        self.parts = parts
    }

    private static func boundary(in contentType: String) -> String? {
        for parameter in contentType.split(separator: ";").dropFirst() {
            let sides = parameter.split(separator: "=", maxSplits: 1)
            guard sides.count == 2, Words.trim(sides[0]).lowercased() == "boundary" else { continue }
            return Words.trim(sides[1]).filter { $0 != "\"" }
        }
        return nil
    }

    private static func part(_ bytes: [UInt8]) -> Part? {
        let data = Data(bytes)
        guard let gap = data.firstRange(of: Data("\r\n\r\n".utf8)) else { return nil }
        var fields: [String: String] = [:]
        for line in String(decoding: data[..<gap.lowerBound], as: UTF8.self).split(separator: "\r\n") {
            let sides = line.split(separator: ":", maxSplits: 1)
            guard sides.count == 2 else { return nil }
            fields[Words.trim(sides[0]).lowercased()] = Words.trim(sides[1])
        }
        return Part(fields: fields, body: Array(data[gap.upperBound...]))
    }
}
