import FoundationEssentials
import HTTP2Client
public import NIOSSL
public import Outbound

/// Sends messages over `gcm/send`, for gateways that still speak it: GCM and FCM's legacy HTTP protocol.
///
/// Google shut its own down in 2024. A request goes to 1,000 devices, and its answer has a result for each.
public struct GCMClient: Sendable {
    public struct Configuration: Sendable {
        public var url = "https://fcm.googleapis.com/fcm/send"
        /// Instead of the standard, for simulators.
        public var tls: TLSConfiguration?

        public init() {}
    }

    private let outbound: Outbound
    private let key: String
    private let configuration: Configuration

    /// Source: Firebase, "Firebase Cloud Messaging HTTP protocol" (legacy).
    public static let devicesMax = 1_000
    /// A result may name a message and a new token, 300 bytes at the most.
    private static let answerBytesMax = 1_048_576

    /// - Parameter key: the server key, in visible ASCII.
    public init(_ outbound: Outbound, key: String, configuration: Configuration = Configuration()) {
        self.outbound = outbound
        self.key = key
        self.configuration = configuration
    }

    /// Sends to all devices, 1,000 at a time, and returns their answers in order. Never throws, and returns by its
    /// deadline, which is for all of it.
    public func send(
        _ message: GCMMessage, to tokens: [[UInt8]], urgent: Bool = false, within deadline: Duration
    ) async -> [GCMAnswer] {
        let parts = Outbound.parts(of: tokens, count: Self.devicesMax)
        let headers = [
            HTTP2Header("authorization", "key=\(key)"), HTTP2Header("content-type", "application/json"),
        ]
        var batch = OutboundBatch(
            OutboundBatch.Shape(
                headers: headers, body: .own, answerBytesMax: Self.answerBytesMax, tls: configuration.tls))
        for part in parts { batch.append(url: configuration.url, body: message.body(for: part)) }
        let answers = await outbound.post(batch, urgent: urgent, silence: deadline, within: deadline)
        return zip(answers, parts).flatMap { GCMAnswer.answers($0, count: $1.count) }
    }
}

extension GCMMessage {
    func body(for tokens: some Collection<[UInt8]>) -> [UInt8] {
        Array(#"{"registration_ids":"#.utf8) + JSONText.array(tokens) + (members.isEmpty ? [] : Array(",".utf8))
            + members + Array("}".utf8)
    }
}

/// The part of a message that is the same for all devices, encoded once.
///
/// Source: Firebase, "Firebase Cloud Messaging HTTP protocol" (legacy).
public struct GCMMessage: Sendable, Hashable {
    /// The members after the tokens, without braces; empty if there are none.
    let members: [UInt8]

    /// The limit on all keys and values.
    public static let bytesMax = 4_096
    /// Four weeks, the longest that a message is stored, and the default.
    public static let secondsMax: Int64 = 2_419_200

    /// - Parameters:
    ///   - timeToLive: seconds; 0 is now or never.
    ///   - isDryRun: the message is checked and not delivered.
    public init(
        data: [String: String], collapseKey: String? = nil, timeToLive: Int64? = nil, isHighPriority: Bool = false,
        isDryRun: Bool = false
    ) throws(GCMMessageError) {
        try self.init(
            data: data.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, collapseKey: collapseKey,
            timeToLive: timeToLive, isHighPriority: isHighPriority, isDryRun: isDryRun)
    }

    /// Creates a message from data in a given order. Keys may look the same and differ in their bytes.
    package init(
        data: [(key: String, text: String)], collapseKey: String?, timeToLive: Int64?, isHighPriority: Bool,
        isDryRun: Bool = false
    ) throws(GCMMessageError) {
        for (key, _) in data
        where key == "from" || key == "message_type" || key.hasPrefix("google.") || key.hasPrefix("gcm.") {
            throw .reservedKey(key)
        }
        if let timeToLive, !(0...Self.secondsMax ~= timeToLive) { throw .timeToLive(timeToLive) }
        let bytes = data.reduce(0) { $0 + $1.key.utf8.count + $1.text.utf8.count }
        guard bytes <= Self.bytesMax else { throw .tooLarge(bytes: bytes) }
        var members: [[UInt8]] = []
        if let collapseKey { members.append(JSONText.member("collapse_key", JSONText.quoted(collapseKey))) }
        if !data.isEmpty { members.append(JSONText.member("data", JSONText.object(data))) }
        if isDryRun { members.append(JSONText.member("dry_run", "true".utf8)) }
        if isHighPriority { members.append(JSONText.member("priority", #""high""#.utf8)) }
        if let timeToLive { members.append(JSONText.member("time_to_live", "\(timeToLive)".utf8)) }
        self.members = Array(members.joined(separator: [UInt8(ascii: ",")]))
    }
}

/// Why something cannot be sent, detected beforehand.
public enum GCMMessageError: Error, Sendable, Hashable, CustomStringConvertible {
    case reservedKey(String)
    case timeToLive(Int64)
    case tooLarge(bytes: Int)

    public var description: String {
        switch self {
        case .reservedKey(let key): "data key \(key) belongs to Google"
        case .timeToLive(let seconds): "time_to_live is \(seconds) s, GCM takes 0 to \(GCMMessage.secondsMax)"
        case .tooLarge(let bytes): "message is \(bytes) bytes, GCM takes \(GCMMessage.bytesMax)"
        }
    }
}

/// The result of one message to one device.
public enum GCMAnswer: Sendable, Hashable {
    /// It was accepted. It may still never reach the device.
    ///
    /// `canonical` is the device's new token: the one used will be refused some day.
    case accepted(messageID: String, canonical: String?)
    /// The result of this device is an error.
    case rejected(GCMError, retryAfter: Duration?)
    /// The whole request was refused.
    ///
    /// - Parameter words: the gateway's sentence for people, in visible ASCII.
    case refused(status: Int, retryAfter: Duration?, words: String? = nil)
    /// Certainly not processed.
    case unprocessed(OutboundFault)
    /// It was sent, and there is no answer that can be understood.
    case unknown(OutboundFault)
}

/// Why a device was not sent to. New terms may come; an unknown one is kept as it was.
///
/// Source: Firebase, "Firebase Cloud Messaging HTTP protocol" (legacy), table of error codes.
public struct GCMError: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    public init(_ text: String) { self.text = text }

    public var description: String { text }

    public static let missingRegistration = Self("MissingRegistration")
    public static let invalidRegistration = Self("InvalidRegistration")
    public static let notRegistered = Self("NotRegistered")
    public static let invalidPackageName = Self("InvalidPackageName")
    public static let mismatchSenderID = Self("MismatchSenderId")
    public static let invalidParameters = Self("InvalidParameters")
    public static let messageTooBig = Self("MessageTooBig")
    public static let invalidDataKey = Self("InvalidDataKey")
    public static let invalidTTL = Self("InvalidTtl")
    public static let unavailable = Self("Unavailable")
    public static let internalServerError = Self("InternalServerError")
    public static let deviceMessageRateExceeded = Self("DeviceMessageRateExceeded")
    public static let topicsMessageRateExceeded = Self("TopicsMessageRateExceeded")
    public static let invalidAPNsCredential = Self("InvalidApnsCredential")
    /// Not a term of the service: a result with neither a message nor an error.
    public static let unstated = Self("Unstated")
}

extension GCMAnswer {
    /// The answers of `count` devices, in their order. Accepts any bytes and never fails.
    public static func answers(_ answer: OutboundAnswer, count: Int) -> [GCMAnswer] {
        switch answer {
        case .response(let response) where response.status == 200: results(of: response, count)
        case .response(let response):
            all(
                count,
                .refused(
                    status: response.status, retryAfter: response.headers.retryAfter(),
                    words: Outbound.words(in: response.body)))
        case .unprocessed(let fault): all(count, .unprocessed(fault))
        case .unknown(let fault): all(count, .unknown(fault))
        }
    }

    private static func results(of response: OutboundResponse, _ count: Int) -> [GCMAnswer] {
        guard let envelope = try? JSONDecoder().decode(Envelope.self, from: Data(response.body)),
            envelope.results.count == count
        else {
            return all(
                count,
                .unknown(OutboundFault(.unreadable, "the answer does not hold a result for each of \(count) devices")))
        }
        let retryAfter = response.headers.retryAfter()
        return envelope.results.map { result in
            if let id = result.messageID { return .accepted(messageID: id, canonical: result.registrationID) }
            return .rejected(result.error.map { GCMError($0) } ?? .unstated, retryAfter: retryAfter)
        }
    }

    private static func all(_ count: Int, _ answer: GCMAnswer) -> [GCMAnswer] { Array(repeating: answer, count: count) }
}

private struct Envelope: Decodable {
    let results: [Result]
}

/// Members of the wrong type count as not given.
private struct Result: Decodable {
    let messageID: String?
    let registrationID: String?
    let error: String?

    private enum Key: String, CodingKey {
        case messageID = "message_id"
        case registrationID = "registration_id"
        case error
    }

    init(from decoder: any Decoder) throws {
        let container = try? decoder.container(keyedBy: Key.self)
        messageID = try? container?.decode(String.self, forKey: .messageID)
        registrationID = try? container?.decode(String.self, forKey: .registrationID)
        let error = try? container?.decode(String.self, forKey: .error)
        self.error = error.flatMap { text in
            1...128 ~= text.utf8.count && text.utf8.allSatisfy { 0x21...0x7E ~= $0 } ? text : nil
        }
    }
}
