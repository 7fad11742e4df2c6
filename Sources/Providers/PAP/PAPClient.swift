import FoundationEssentials
import HTTP2Client
public import NIOSSL
public import Outbound

/// The credentials for the push gateway, and its address.
public struct PAPCredentials: Sendable, Hashable {
    let applicationID: String
    let password: String
    let url: String

    /// - Parameter url: of the gateway, such as `https://cp123.pushapi.na.blackberry.com/mss/PD_pushRequest`.
    public init(applicationID: String, password: String, url: String) {
        self.applicationID = applicationID
        self.password = password
        self.url = url
    }

    /// The public gateway of a content provider.
    ///
    /// - Parameter isEvaluation: the gateway for evaluation.
    public static func url(contentProvider: String, isEvaluation: Bool) -> String {
        "https://cp\(contentProvider).pushapi.\(isEvaluation ? "eval" : "na").blackberry.com/mss/PD_pushRequest"
    }
}

/// Sends pushes by the Push Access Protocol, to BlackBerry 10 or to a private gateway.
///
/// Source: WAP-247 PAP; BlackBerry, "Push Service SDK".
public struct PAPClient: Sendable {
    public struct Configuration: Sendable {
        /// The limit for a gateway that gives no answer.
        public var silenceLimit = Duration.seconds(15)
        /// Instead of the standard, for simulators.
        public var tls: TLSConfiguration?

        public init() {}
    }

    private let outbound: Outbound
    private let credentials: PAPCredentials
    private let configuration: Configuration

    public init(_ outbound: Outbound, credentials: PAPCredentials, configuration: Configuration = Configuration()) {
        self.outbound = outbound
        self.credentials = credentials
        self.configuration = configuration
    }

    /// Answers in the order of the devices. Never throws and always returns by its deadline.
    ///
    /// One request for each device: for a request with many the gateway would return one result.
    public func send(
        _ message: PAPMessage, to devices: [PAPDevice], urgent: Bool = false, within deadline: Duration
    ) async -> [PAPAnswer] {
        // Unlikely to occur in the content, and random so that no sender can put it there.
        let boundary = "belfry-\(UInt64.random(in: .min ... .max))-\(UInt64.random(in: .min ... .max))"
        let headers = [
            HTTP2Header("content-type", "multipart/related; boundary=\(boundary); type=application/xml"),
            HTTP2Header("authorization", authorization), HTTP2Header("accept", "application/xml"),
        ]
        var batch = OutboundBatch(
            OutboundBatch.Shape(headers: headers, body: .own, answerBytesMax: 16_384, tls: configuration.tls))
        for device in devices {
            let body = message.body(for: device, from: credentials.applicationID, boundary: boundary)
            batch.append(url: credentials.url, body: body)
        }
        let silence = configuration.silenceLimit
        let answers = await outbound.post(batch, urgent: urgent, silence: silence, within: deadline)
        return answers.map { answer in answer.result { PAPAnswer($0) } }
    }

    /// Source: RFC 7617.
    private var authorization: String {
        "Basic \(Data("\(credentials.applicationID):\(credentials.password)".utf8).base64EncodedString())"
    }
}

/// The part of a push that is the same for all devices.
public struct PAPMessage: Sendable, Hashable {
    public let content: [UInt8]
    public let contentType: String
    /// Unix seconds until which the gateway tries; nil leaves it to the gateway.
    public let deliverBefore: Int64?

    /// Source: BlackBerry, "Push Service SDK", content limits.
    public static let contentBytesMax = 8 * 1_024

    public init(
        content: [UInt8], contentType: String = "text/plain; charset=utf-8", deliverBefore: Int64? = nil
    ) throws(PAPError) {
        guard !content.isEmpty else { throw PAPError("content is empty") }
        guard content.count <= Self.contentBytesMax else {
            throw PAPError("content is \(content.count) bytes, the push service takes \(Self.contentBytesMax)")
        }
        guard contentType.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
            throw PAPError("content type holds other than visible ASCII")
        }
        self.content = content
        self.contentType = contentType
        self.deliverBefore = deliverBefore
    }

    /// The request for one device: the control entity, then the content. Source: WAP-247 PAP §7, §8.
    func body(for device: PAPDevice, from applicationID: String, boundary: String) -> [UInt8] {
        let before = deliverBefore.map { #" deliver-before-timestamp="\#(Self.timestamp($0))""# } ?? ""
        let control = """
            <?xml version="1.0"?>\r
            <!DOCTYPE pap PUBLIC "-//WAPFORUM//DTD PAP 2.1//EN" "http://www.openmobilealliance.org/tech/DTD/pap_2.1.dtd">\r
            <pap><push-message push-id="\(Self.escaped(device.pushID))" source-reference="\(Self.escaped(applicationID))"\(before)>\
            <address address-value="\(Self.escaped(device.address))"/>\
            <quality-of-service delivery-method="unconfirmed"/></push-message></pap>\r

            """
        var body = Array("--\(boundary)\r\nContent-Type: application/xml; charset=UTF-8\r\n\r\n\(control)".utf8)
        body += Array("--\(boundary)\r\nContent-Type: \(contentType)\r\n\r\n".utf8)
        body += content
        body += Array("\r\n--\(boundary)--\r\n".utf8)
        return body
    }

    /// `2026-01-01T00:00:00Z`. Source: RFC 3339 §5.6.
    private static func timestamp(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }
}

/// One device of a push.
public struct PAPDevice: Sendable, Hashable {
    /// A PIN or a token.
    public let address: String
    /// The id of this push's message to this device; the same when it is sent again.
    public let pushID: String

    public init(address: String, pushID: String) throws(PAPError) {
        guard !address.isEmpty, (address + pushID).utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
            throw PAPError("address is empty or holds other than visible ASCII")
        }
        // It would be sent to all devices. Source: BlackBerry, "Push Service SDK", broadcast pushes.
        guard address.lowercased() != "push_all" else { throw PAPError("address means every device") }
        self.address = address
        self.pushID = pushID
    }
}

/// Why something cannot be sent, detected beforehand.
public struct PAPError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

/// The result of one push.
public enum PAPAnswer: Sendable, Hashable, OutboundResult {
    /// The gateway's code, in an answer of 2xx.
    ///
    /// - Parameter description: visible ASCII.
    case result(code: Int, description: String)
    /// An answer without a code, or other than 2xx.
    ///
    /// - Parameter words: the gateway's sentence for people, in visible ASCII.
    case rejected(status: Int, retryAfter: Duration?, words: String? = nil)
    /// Certainly not sent.
    case unprocessed(OutboundFault)
    /// It may have been sent, and no answer came.
    case unknown(OutboundFault)
}

extension PAPAnswer {
    /// Reads an answer of any bytes; only `response-result` and `badmessage-response` count, wherever they are. Source:
    /// WAP-247 PAP §9.2.
    public init(_ response: OutboundResponse) {
        if 200..<300 ~= response.status, let element = PAPElement(in: response.body), let code = element.code {
            self = .result(code: code, description: Outbound.plain((element.attributes["desc"] ?? "").utf8))
        } else {
            self = .rejected(
                status: response.status, retryAfter: response.headers.retryAfter(),
                words: Outbound.words(in: response.body))
        }
    }
}

/// The start tag of the result, and its attributes.
struct PAPElement {
    private(set) var attributes: [String: String] = [:]

    static let names = ["response-result", "badmessage-response"]

    var code: Int? { attributes["code"].flatMap { Int($0) } }

    init?(in bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        for tag in text.split(separator: "<").lazy.map({ $0.prefix { $0 != ">" } }) {
            let name = tag.prefix { !$0.isWhitespace && $0 != "/" }
            guard Self.names.contains(String(name)) else { continue }
            read(tag.dropFirst(name.count))
            return
        }
        return nil
    }

    /// `name="value"` or `name='value'`, one after the other; stops at anything else.
    private mutating func read(_ text: Substring) {
        var rest = text
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].trimmed
            let value = rest[rest.index(after: equals)...].drop { $0.isWhitespace }
            guard let quote = value.first, quote == "\"" || quote == "'",
                let end = value.dropFirst().firstIndex(of: quote)
            else { return }
            attributes[name] = String(value[value.index(after: value.startIndex)..<end])
            rest = value[value.index(after: end)...]
        }
    }
}

extension Substring {
    fileprivate var trimmed: String {
        String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }
}
