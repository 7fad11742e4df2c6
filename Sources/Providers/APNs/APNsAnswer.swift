import FoundationEssentials
public import HTTP2Client

/// The result of one notification.
public enum APNsAnswer: Sendable, Hashable {
    /// APNs accepted it. It may still never reach the device.
    ///
    /// `uniqueID` is only given by the sandbox, for the Push Notifications console.
    case accepted(id: APNsID?, uniqueID: String?)
    /// APNs answered, and did not accept it.
    case rejected(APNsRejection)
    /// APNs certainly did not process it: it may be sent again without a duplicate.
    case unprocessed(HTTP2Fault)
    /// It was written and no answer came. Sending it again may notify the device twice.
    case unknown(HTTP2Fault)
    /// TLS failed because a certificate was not accepted. Not processed; an operator must act.
    case credentialsRefused(HTTP2Fault)
}

/// An answer of APNs other than 200.
public struct APNsRejection: Sendable, Hashable {
    public let status: Int
    public let reason: APNsReason
    /// The time since which APNs knows that the token is dead for the topic, in milliseconds since 1970. Comes with 410.
    public let timestamp: Int64?
    /// Seconds, should the answer name them. Not documented by Apple.
    public let retryAfter: Int?
    public let id: APNsID?
}

extension APNsAnswer {
    /// Reads an answer of any bytes and never fails: what is not understood is left out and the status decides.
    public init(
        status: Int, body: Span<UInt8>, id: APNsID? = nil, uniqueID: String? = nil, retryAfter: Int? = nil
    ) {
        guard status != 200 else {
            self = .accepted(id: id, uniqueID: uniqueID)
            return
        }
        let body = APNsAnswerBody(body)
        self = .rejected(
            APNsRejection(
                status: status, reason: body.reason ?? APNsReason(status: status), timestamp: body.timestamp,
                retryAfter: retryAfter, id: id))
    }

    init(_ answer: HTTP2Answer) {
        switch answer {
        case .response(let response):
            let id = response.value(at: Self.idPlace).flatMap { APNsID(text: $0) }
            let uniqueID = response.value(at: Self.uniqueIDPlace).map { String(decoding: $0, as: UTF8.self) }
            let retryAfter = response.value(at: Self.retryAfterPlace).flatMap {
                RetryAfter.duration(String(decoding: $0, as: UTF8.self), now: Int64(Date().timeIntervalSince1970))
            }.map { Int($0.components.seconds) }
            self.init(
                status: response.status, body: response.body.span, id: id, uniqueID: uniqueID, retryAfter: retryAfter)
        case .unprocessed(let fault):
            self = fault.code == .tlsRefused ? .credentialsRefused(fault) : .unprocessed(fault)
        case .unknown(let fault):
            self = .unknown(fault)
        }
    }

    /// The headers the connection keeps, in the order of the places.
    static let keptHeaders = ["apns-id", "apns-unique-id", "retry-after"]
    private static let idPlace = 0
    private static let uniqueIDPlace = 1
    private static let retryAfterPlace = 2
}

/// Why APNs rejected a request, in its own term. New terms may come; an unknown one is kept as it was.
///
/// Source: Apple, "Handling notification responses from APNs".
public struct APNsReason: Sendable, Hashable, CustomStringConvertible {
    public let code: String

    public init(_ code: String) { self.code = code }

    public var description: String { code }

    public static let badCollapseID = Self("BadCollapseId")
    public static let badDeviceToken = Self("BadDeviceToken")
    public static let badExpirationDate = Self("BadExpirationDate")
    public static let badMessageID = Self("BadMessageId")
    public static let badPriority = Self("BadPriority")
    public static let badTopic = Self("BadTopic")
    public static let deviceTokenNotForTopic = Self("DeviceTokenNotForTopic")
    public static let duplicateHeaders = Self("DuplicateHeaders")
    public static let idleTimeout = Self("IdleTimeout")
    public static let invalidPushType = Self("InvalidPushType")
    public static let missingDeviceToken = Self("MissingDeviceToken")
    public static let missingTopic = Self("MissingTopic")
    public static let payloadEmpty = Self("PayloadEmpty")
    public static let topicDisallowed = Self("TopicDisallowed")
    public static let badCertificate = Self("BadCertificate")
    public static let badCertificateEnvironment = Self("BadCertificateEnvironment")
    public static let expiredProviderToken = Self("ExpiredProviderToken")
    public static let forbidden = Self("Forbidden")
    public static let invalidProviderToken = Self("InvalidProviderToken")
    public static let missingProviderToken = Self("MissingProviderToken")
    public static let unrelatedKeyIDInToken = Self("UnrelatedKeyIdInToken")
    public static let badEnvironmentKeyIDInToken = Self("BadEnvironmentKeyIdInToken")
    public static let badPath = Self("BadPath")
    public static let methodNotAllowed = Self("MethodNotAllowed")
    public static let expiredToken = Self("ExpiredToken")
    public static let unregistered = Self("Unregistered")
    public static let payloadTooLarge = Self("PayloadTooLarge")
    public static let tooManyProviderTokenUpdates = Self("TooManyProviderTokenUpdates")
    public static let tooManyRequests = Self("TooManyRequests")
    public static let internalServerError = Self("InternalServerError")
    public static let serviceUnavailable = Self("ServiceUnavailable")
    public static let shutdown = Self("Shutdown")
    // Of broadcast channels. Source: Apple, "Handling error responses from Apple Push Notification service".
    public static let featureNotEnabled = Self("FeatureNotEnabled")
    public static let missingChannelID = Self("MissingChannelId")
    public static let badChannelID = Self("BadChannelId")
    public static let channelNotRegistered = Self("ChannelNotRegistered")
    public static let badRequestParameters = Self("BadRequestParams")
    public static let badRequestPayload = Self("BadRequestPayload")
    public static let missingPushType = Self("MissingPushType")
    public static let cannotCreateChannelConfig = Self("CannotCreateChannelConfig")
    public static let topicMismatch = Self("TopicMismatch")
    /// Not APNs' own: for a status without a reason whose meaning is not known.
    public static let unstated = Self("Unstated")

    /// The reason that a status stands for, where the body gives none.
    init(status: Int) {
        self =
            switch status {
            case 403: .forbidden
            case 404: .badPath
            case 405: .methodNotAllowed
            case 413: .payloadTooLarge
            case 429: .tooManyRequests
            case 500: .internalServerError
            case 503: .serviceUnavailable
            default: .unstated
            }
    }
}

/// The body of an APNs error, `{"reason":"…","timestamp":…}`, as far as it can be understood.
///
/// Accepts any bytes: what cannot be understood is left out, and the status decides.
struct APNsAnswerBody: Hashable {
    /// A longer text is not a reason.
    static let reasonBytesMax = 128

    private(set) var reason: APNsReason?
    /// Milliseconds since 1970.
    private(set) var timestamp: Int64?

    init(_ bytes: Span<UInt8>) {
        var scanner = JSONScanner()
        guard scanner.take(UInt8(ascii: "{"), in: bytes) else { return }
        while let key = scanner.string(in: bytes), scanner.take(UInt8(ascii: ":"), in: bytes),
            let value = scanner.value(in: bytes)
        {
            if Self.equal(bytes, key, "reason") { reason = Self.reason(bytes, value) ?? reason }
            if Self.equal(bytes, key, "timestamp") { timestamp = Self.number(bytes, value.content) ?? timestamp }
            guard scanner.take(UInt8(ascii: ","), in: bytes) else { return }
        }
    }

    private static func equal(_ bytes: Span<UInt8>, _ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count where bytes[range.lowerBound + offset] != text.utf8Start[offset] {
            return false
        }
        return true
    }

    private static func reason(_ bytes: Span<UInt8>, _ value: JSONScanner.Value) -> APNsReason? {
        guard value.isString, 1...reasonBytesMax ~= value.content.count else { return nil }
        var text = [UInt8]()
        for index in value.content {
            // Reasons are plain words. Anything else must not reach a log or a page unchanged.
            guard 0x21...0x7E ~= bytes[index] else { return nil }
            text.append(bytes[index])
        }
        return APNsReason(String(decoding: text, as: UTF8.self))
    }

    /// The digits at the start of a number or a string; nil if there are none or too many.
    private static func number(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int64? {
        var value: Int64?
        for index in range {
            guard 0x30...0x39 ~= bytes[index] else { break }
            let (shifted, overflowed) = (value ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, exceeded) = shifted.addingReportingOverflow(Int64(bytes[index] - 0x30))
            guard !overflowed, !exceeded else { return nil }
            value = sum
        }
        return value
    }
}

/// Scans JSON without building it. Never reads beyond its bytes, never recurses, reads each byte once.
private struct JSONScanner {
    struct Value {
        let content: Range<Int>
        let isString: Bool
    }

    private var position = 0

    /// Takes `byte` if it comes next, after white space.
    mutating func take(_ byte: UInt8, in bytes: Span<UInt8>) -> Bool {
        skipSpace(in: bytes)
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    /// The content of a string, escapes as they are.
    mutating func string(in bytes: Span<UInt8>) -> Range<Int>? {
        guard take(UInt8(ascii: "\""), in: bytes) else { return nil }
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return start..<position - 1
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        return nil
    }

    /// Any value: a string's content, or the text of anything else.
    mutating func value(in bytes: Span<UInt8>) -> Value? {
        skipSpace(in: bytes)
        guard position < bytes.count else { return nil }
        if bytes[position] == UInt8(ascii: "\"") { return string(in: bytes).map { Value(content: $0, isString: true) } }
        let start = position
        return skip(in: bytes) ? Value(content: start..<position, isString: false) : nil
    }

    /// Steps to the end of a number, a word, an object or an array.
    private mutating func skip(in bytes: Span<UInt8>) -> Bool {
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                guard string(in: bytes) != nil else { return false }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return true }
                depth -= 1
                position += 1
            case UInt8(ascii: ",") where depth == 0:
                return true
            default:
                position += 1
            }
        }
        return depth == 0
    }

    private mutating func skipSpace(in bytes: Span<UInt8>) {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }
}
