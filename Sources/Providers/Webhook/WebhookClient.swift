import Crypto
import FoundationEssentials
import HTTP2Client
import KeyFiles
public import NIOSSL
public import Outbound

/// Posts batches of devices to a service of one's own, which notifies them by its own means.
public struct WebhookClient: Sendable {
    public struct Configuration: Sendable {
        /// Instead of the standard, for tests.
        public var tls: TLSConfiguration?
        /// Unix seconds.
        public var now: @Sendable () -> Int64 = { Outbound.now() }

        public init() {}
    }

    private let outbound: Outbound
    private let url: String
    private let signature: WebhookSignature
    private let configuration: Configuration

    public init(
        _ outbound: Outbound, url: String, signature: WebhookSignature, configuration: Configuration = Configuration()
    ) {
        self.outbound = outbound
        self.url = url
        self.signature = signature
        self.configuration = configuration
    }

    /// Never throws and always returns by its deadline.
    public func send(
        _ batch: WebhookBatch, urgent: Bool = false, within deadline: Duration
    ) async -> WebhookAnswer {
        var headers = [HTTP2Header("content-type", "application/json")]
        for (name, value) in signature.headers(of: batch.body, time: configuration.now()) {
            headers.append(HTTP2Header(name, value))
        }
        var request = OutboundBatch(
            OutboundBatch.Shape(
                headers: headers, body: .shared(batch.body), answerBytesMax: Self.answerBytesMax,
                tls: configuration.tls))
        request.append(url: url)
        let answers = await outbound.post(request, urgent: urgent, silence: deadline, within: deadline)
        return answers[0].result { WebhookAnswer($0, devices: batch.devices.count) }
    }

    /// An answer may hold an outcome for each device.
    private static let answerBytesMax = 65_536
}

/// One push and its devices, in one request.
public struct WebhookBatch: Sendable {
    public struct Device: Sendable, Hashable {
        /// The id of this push's message to this device; the same when it is sent again, so that the receiver can detect a repetition.
        public let messageID: String
        /// The token as the device registered it.
        public let token: String

        public init(messageID: String, token: String) {
            self.messageID = messageID
            self.token = token
        }
    }

    public let devices: [Device]
    let body: [UInt8]

    /// - Parameters:
    ///   - push: a JSON object, sent as it is.
    public init(push: [UInt8], devices: [Device]) {
        var body = Array(#"{"push":"#.utf8)
        body += push
        body += Array(#","devices":["#.utf8)
        for (index, device) in devices.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body += Array(#"{"id":"#.utf8)
            body += JSONText.quoted(device.messageID)
            body += Array(#","token":"#.utf8)
            body += JSONText.quoted(device.token)
            body.append(UInt8(ascii: "}"))
        }
        self.body = body + Array("]}".utf8)
        self.devices = devices
    }
}

/// Proves to the receiver that a request is from a sender with the same secret, and when it was made.
///
/// HMAC-SHA256 over id, time and body. The time is signed so that an old request cannot be replayed as a new one. The id is derived from the
/// body: the same request sent twice has the same. Source: standardwebhooks.com, specification.
public struct WebhookSignature: Sendable {
    private let key: SymmetricKey

    /// Source: the same, "Symmetric signature scheme": 24 bytes or more.
    public static let secretBytesMin = 24

    /// - Parameter secret: `whsec_` followed by Base64, or any text whose bytes are the key; nil for a short one.
    public init?(secret: String) {
        let prefix = "whsec_"
        let bytes =
            secret.hasPrefix(prefix)
            ? Array(Data(base64Encoded: String(secret.dropFirst(prefix.count))) ?? Data()) : Array(secret.utf8)
        guard bytes.count >= Self.secretBytesMin else { return nil }
        key = SymmetricKey(data: bytes)
    }

    /// The headers of a request.
    ///
    /// - Parameter time: Unix seconds.
    func headers(of body: [UInt8], time: Int64) -> [(name: String, value: String)] {
        Self.headers(of: body, id: "msg_\(Base64.encode(SHA256.hash(data: body).prefix(16)))", time: time, by: [self])
    }

    /// The headers of a request that several secrets sign, while one replaces another.
    ///
    /// - Parameters:
    ///   - id: the same when the message is sent again.
    ///   - time: Unix seconds.
    public static func headers(
        of body: [UInt8], id: String, time: Int64, by signatures: [WebhookSignature]
    ) -> [(name: String, value: String)] {
        let codes = signatures.map { "v1,\($0.code(of: body, id: id, time: time))" }
        return [
            ("webhook-id", id), ("webhook-timestamp", "\(time)"), ("webhook-signature", codes.joined(separator: " ")),
        ]
    }

    /// The code in Base64.
    func code(of body: [UInt8], id: String, time: Int64) -> String {
        var code = HMAC<SHA256>(key: key)
        code.update(data: Array("\(id).\(time).".utf8))
        code.update(data: body)
        return Data(code.finalize()).base64EncodedString()
    }
}

/// The result of one batch.
public enum WebhookAnswer: Sendable, Hashable, OutboundResult {
    /// One for each device, in order.
    case verdicts([WebhookVerdict])
    /// Any other answer than 2xx, for the batch as a whole.
    ///
    /// - Parameter words: the receiver's sentence for people, in visible ASCII.
    case rejected(status: Int, retryAfter: Duration?, words: String? = nil)
    /// 2xx, but no list of verdicts that fits the batch.
    case unreadable
    /// Certainly not sent.
    case unprocessed(OutboundFault)
    /// It may have been sent, and no answer came.
    case unknown(OutboundFault)
}

/// The receiver's verdict on one device.
public enum WebhookVerdict: Sendable, Hashable {
    case accepted
    /// For good: it would be refused again.
    case refused
    /// The device is gone.
    case gone
    /// Retry, after this wait if one is named.
    case retry(after: Duration?)
}

extension WebhookAnswer {
    /// 2xx without a body accepts all devices; with `{"outcomes":[{"outcome":"accepted"},…]}` each has its own.
    public init(_ response: OutboundResponse, devices: Int) {
        guard 200..<300 ~= response.status else {
            self = .rejected(
                status: response.status, retryAfter: response.headers.retryAfter(),
                words: Outbound.words(in: response.body))
            return
        }
        guard !response.body.isEmpty else {
            self = .verdicts(Array(repeating: .accepted, count: devices))
            return
        }
        let written = try? JSONDecoder().decode(Written.self, from: Data(response.body))
        let verdicts = (written?.outcomes ?? []).compactMap(\.verdict)
        self = written != nil && verdicts.count == devices ? .verdicts(verdicts) : .unreadable
    }

    private struct Written: Decodable {
        let outcomes: [Item]

        struct Item: Decodable {
            let outcome: String
            let retryAfter: Int64?

            /// nil for an unknown verdict.
            var verdict: WebhookVerdict? {
                switch outcome {
                case "accepted": .accepted
                case "refused": .refused
                case "gone": .gone
                case "retry": .retry(after: retryAfter.map { .seconds(min(max($0, 0), RetryAfter.longest)) })
                default: nil
                }
            }
        }
    }
}
