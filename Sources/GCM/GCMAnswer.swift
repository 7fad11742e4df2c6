import FoundationEssentials
public import Outbound

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
