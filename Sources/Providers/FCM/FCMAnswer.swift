import FoundationEssentials
public import HTTP2Client
public import Outbound
import Synchronization

/// The result of one message.
public enum FCMAnswer: Sendable, Hashable {
    /// FCM accepted it. It may still never reach the device.
    case accepted(FCMReceipt)
    /// FCM answered, and did not accept it.
    case rejected(FCMRejection)
    /// It was not sent: the project's quota is used up for longer than the deadline. Wait for `retryAfter`.
    case held(retryAfter: Duration)
    /// It was not sent: there is no token.
    case unauthorized(AccessTokenError)
    /// FCM certainly did not process it: it may be sent again without a duplicate.
    case unprocessed(HTTP2Fault)
    /// It was written and no answer came. Sending it again may notify the device twice.
    case unknown(HTTP2Fault)
    /// TLS failed because a certificate was not accepted. Not processed; an operator must act.
    case credentialsRefused(HTTP2Fault)
}

/// An answer of 200. Stores the bytes; the name is parsed on demand.
public struct FCMReceipt: Sendable, Hashable {
    private let body: ArraySlice<UInt8>

    init(body: ArraySlice<UInt8>) { self.body = body }

    /// `projects/…/messages/…`, FCM's name of the message.
    public var name: String? {
        struct Body: Decodable { let name: String? }
        return try? JSONDecoder().decode(Body.self, from: Data(body)).name
    }
}

/// An answer of FCM other than 200.
public struct FCMRejection: Sendable, Hashable {
    public let status: Int
    public let code: FCMErrorCode
    /// FCM's own text, shortened. It may contain what the caller sent; ``words`` does not contain a token.
    public let message: String
    /// The fields that FCM rejected.
    public let fields: [String]
    /// The wait that the answer asks for.
    public let retryAfter: Duration?

    public init(
        status: Int, code: FCMErrorCode, message: String = "", fields: [String] = [], retryAfter: Duration? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.fields = fields
        self.retryAfter = retryAfter
    }

    /// FCM's sentence for people, safe for a log or a page: visible ASCII, 160 characters at most. A value that it quotes from the
    /// message is left out.
    public var words: String? {
        let end = message.firstRange(of: "), ")?.lowerBound
        return Outbound.words(end.map { String(message[...$0]) } ?? message)
    }

    /// Whether FCM reports the token as invalid. It does so too where the whole message is wrong: no reason to
    /// deactivate.
    public var isAboutToken: Bool {
        code == .invalidArgument
            && (fields.contains("message.token") || fields.contains("message.fid")
                || message.contains("not a valid FCM registration token"))
    }
}

extension FCMAnswer {
    /// Reads an answer of any bytes and never fails: what is not understood is left out and the status decides.
    public init(status: Int, body: ArraySlice<UInt8>, retryAfter: Duration? = nil) {
        guard status != 200 else {
            // A page of a proxy on the way: FCM answers with an object.
            let isOther =
                body.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }.map { $0 != UInt8(ascii: "{") } ?? false
            self =
                isOther
                ? .rejected(FCMRejection(status: 200, code: .unavailable, message: "not an answer of FCM"))
                : .accepted(FCMReceipt(body: body))
            return
        }
        let body = FCMErrorBody(body)
        self = .rejected(
            FCMRejection(
                status: status, code: body.code ?? FCMErrorCode(status: status), message: body.message,
                fields: body.fields, retryAfter: retryAfter))
    }

    init(_ answer: HTTP2Answer, now: Int64) {
        switch answer {
        case .response(let response):
            let retryAfter = response.value(at: 0).flatMap {
                RetryAfter.duration(String(decoding: $0, as: UTF8.self), now: now)
            }
            self.init(status: response.status, body: response.body, retryAfter: retryAfter)
        case .unprocessed(let fault):
            self = fault.code == .tlsRefused ? .credentialsRefused(fault) : .unprocessed(fault)
        case .unknown(let fault):
            self = .unknown(fault)
        }
    }

    /// The headers the connection keeps.
    static let keptHeaders = ["retry-after"]

    /// FCM did not accept our token. Where a third party's key is wrong it answers 401 as well, with another code.
    var isUnauthenticated: Bool {
        guard case .rejected(let rejection) = self else { return false }
        return rejection.status == 401 && rejection.code == .unauthenticated
    }
}

/// The body of an FCM error, as far as it can be understood.
///
/// The code is in one of the details, at no fixed place; without one the status of the error counts.
/// Source: Firebase, "Error codes for the HTTP v1 API"; Google APIs, `google.rpc.Status`, `google.rpc.BadRequest`.
struct FCMErrorBody: Hashable {
    static let messageCharactersMax = 300
    static let fieldsMax = 8

    private(set) var code: FCMErrorCode?
    private(set) var message = ""
    private(set) var fields: [String] = []

    init(_ bytes: ArraySlice<UInt8>) {
        guard let envelope = try? JSONDecoder().decode(Envelope.self, from: Data(bytes)), let error = envelope.error
        else {
            message = Outbound.words(in: bytes) ?? ""
            return
        }
        let own = error.details.lazy.compactMap(\.errorCode).first
        code = (own ?? error.status).flatMap(Self.word).map { FCMErrorCode($0) }
        message = String((error.message ?? "").prefix(Self.messageCharactersMax))
        fields = Array(error.details.flatMap(\.fields).compactMap(Self.word).prefix(Self.fieldsMax))
    }

    /// Codes and fields are plain words. Anything else must not reach a log or a page unchanged.
    private static func word(_ text: String) -> String? {
        let isPlain = 1...128 ~= text.utf8.count && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
        return isPlain ? text : nil
    }
}

/// Members of the wrong type count as not given.
private struct Envelope: Decodable {
    let error: PageError?

    private enum Key: CodingKey { case error }

    init(from decoder: any Decoder) throws {
        error = try? decoder.container(keyedBy: Key.self).decode(PageError.self, forKey: .error)
    }
}

private struct PageError: Decodable {
    let status: String?
    let message: String?
    let details: [Detail]

    private enum Key: CodingKey { case status, message, details }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        status = try? container.decode(String.self, forKey: .status)
        message = try? container.decode(String.self, forKey: .message)
        details = (try? container.decode([Detail].self, forKey: .details)) ?? []
    }
}

/// One of `FcmError`, `BadRequest`, `QuotaFailure` and others, distinguished by their members.
private struct Detail: Decodable {
    private(set) var errorCode: String?
    private(set) var fields: [String] = []

    private enum Key: CodingKey { case errorCode, fieldViolations }

    private struct Violation: Decodable {
        let field: String?

        private enum Key: CodingKey { case field }

        init(from decoder: any Decoder) throws {
            field = try? decoder.container(keyedBy: Key.self).decode(String.self, forKey: .field)
        }
    }

    init(from decoder: any Decoder) throws {
        guard let container = try? decoder.container(keyedBy: Key.self) else { return }
        errorCode = try? container.decode(String.self, forKey: .errorCode)
        fields = ((try? container.decode([Violation].self, forKey: .fieldViolations)) ?? []).compactMap(\.field)
    }
}

/// Why FCM did not accept a message, in its own term. New terms may come; an unknown one is kept as it was.
///
/// Source: Firebase, REST reference, `FcmError.ErrorCode`; Google APIs, `google.rpc.Code` for those without a code of
/// FCM.
public struct FCMErrorCode: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    public init(_ text: String) { self.text = text }

    public var description: String { text }

    public static let unspecified = Self("UNSPECIFIED_ERROR")
    public static let invalidArgument = Self("INVALID_ARGUMENT")
    public static let unregistered = Self("UNREGISTERED")
    public static let senderIDMismatch = Self("SENDER_ID_MISMATCH")
    public static let quotaExceeded = Self("QUOTA_EXCEEDED")
    public static let unavailable = Self("UNAVAILABLE")
    public static let `internal` = Self("INTERNAL")
    public static let thirdPartyAuthError = Self("THIRD_PARTY_AUTH_ERROR")
    /// The older name of `thirdPartyAuthError`.
    public static let apnsAuthError = Self("APNS_AUTH_ERROR")

    public static let unauthenticated = Self("UNAUTHENTICATED")
    public static let permissionDenied = Self("PERMISSION_DENIED")
    public static let notFound = Self("NOT_FOUND")
    public static let resourceExhausted = Self("RESOURCE_EXHAUSTED")
    /// Not FCM's own: for a status without a code whose meaning is not known.
    public static let unstated = Self("UNSTATED")

    /// The code that a status stands for, where the body gives none.
    init(status: Int) {
        self =
            switch status {
            case 400: .invalidArgument
            case 401: .unauthenticated
            case 403: .permissionDenied
            case 404: .notFound
            case 429: .resourceExhausted
            case 500: .internal
            case 502, 503, 504: .unavailable
            default: .unstated
            }
    }
}

/// How many messages a project may send, shared by all clients that send for it.
///
/// Early messages wait: a batch is sent when the bucket has room, and none is refused for coming at once. Source:
/// Firebase, "Throttling and quotas": 600,000 a minute unless Google granted more.
public final class FCMQuota: Sendable {
    private let bucket: Mutex<QuotaBucket>
    private let now: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void

    public static let standard = 600_000

    /// - Parameters:
    ///   - now: time since any origin; it must not go back.
    ///   - sleep: waits; throws when the task is cancelled.
    public init(
        perMinute: Int = FCMQuota.standard, now: @escaping @Sendable () -> Duration = AccessToken.monotonicNow,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        bucket = Mutex(QuotaBucket(perMinute: perMinute, now: now()))
        self.now = now
        self.sleep = sleep
    }

    /// Sets this node's share of the limit; what was taken stays taken. For programs that divide a project's quota.
    public func change(perMinute: Int) { bucket.withLock { $0.change(perMinute: perMinute, at: now()) } }

    /// How many messages could be sent within a second.
    public var room: Int { bucket.withLock { $0.room(at: now()) } }

    /// Waits until as many of `count` messages may be sent as may within `deadline`. Returns their number, and the wait of the rest.
    func take(_ count: Int, within deadline: Duration) async -> (taken: Int, rest: Duration) {
        let step = bucket.withLock { $0.take(count, at: now(), within: deadline) }
        if step.taken > 0, step.wait > .zero { try? await sleep(step.wait) }
        return (step.taken, bucket.withLock { $0.wait(for: 1, at: now()) })
    }

    /// FCM reported that the quota is used up: nothing is sent before `wait` is over.
    func pause(for wait: Duration) { bucket.withLock { $0.pause(until: now() + wait) } }
}

/// A token bucket that lends: what is taken beyond its content becomes a debt that the taker waits for.
struct QuotaBucket {
    struct Step: Equatable {
        let taken: Int
        /// The wait before it is sent.
        let wait: Duration
    }

    private var perSecond: Double
    /// A second's worth: FCM counts by the minute, and recommends an even flow.
    private var capacity: Double { max(1, perSecond) }
    private var content: Double
    private var filledAt: Duration
    private var pausedUntil = Duration.zero

    init(perMinute: Int, now: Duration) {
        precondition(perMinute > 0, "a quota is above 0")
        perSecond = Double(perMinute) / 60
        content = max(1, perSecond)
        filledAt = now
    }

    mutating func change(perMinute: Int, at now: Duration) {
        precondition(perMinute > 0, "a quota is above 0")
        fill(at: now)
        perSecond = Double(perMinute) / 60
        content = min(content, capacity)
    }

    /// Takes as many of `count` as may be sent within the deadline.
    mutating func take(_ count: Int, at now: Duration, within deadline: Duration) -> Step {
        fill(at: now)
        let most: Double = pausedUntil - now > deadline ? 0 : content + deadline / .seconds(1) * perSecond
        let taken = min(count, max(0, Int(most)))
        let wait = self.wait(for: taken, at: now)
        content -= Double(taken)
        return Step(taken: taken, wait: wait)
    }

    mutating func wait(for count: Int, at now: Duration) -> Duration {
        fill(at: now)
        let debt = max(0, Double(count) - content)
        return max(.seconds(debt / perSecond), pausedUntil - now)
    }

    mutating func pause(until end: Duration) { pausedUntil = max(pausedUntil, end) }

    mutating func room(at now: Duration) -> Int {
        fill(at: now)
        return now < pausedUntil ? 0 : max(0, Int((content + perSecond).rounded(.down)))
    }

    private mutating func fill(at now: Duration) {
        guard now > filledAt else { return }
        content = min(capacity, content + (now - filledAt) / .seconds(1) * perSecond)
        filledAt = now
    }
}

/// Decides the pause that answers about the project's quota require.
enum FCMBackOff {
    /// The pause where FCM names none. Source: Firebase, "Best practices when sending FCM messages at scale".
    static let standard = Duration.seconds(60)

    /// How long nothing should be sent, or nil. One device may have reached its own limit, which does not concern the
    /// others: the project's is reached where most of a batch is throttled.
    static func pause(after answers: [FCMAnswer]) -> Duration? {
        let waits = answers.compactMap(\.askedTimeout)
        guard waits.count > 1, waits.count * 2 > answers.count else { return nil }
        return waits.max()
    }
}

extension FCMAnswer {
    fileprivate var askedTimeout: Duration? {
        guard case .rejected(let rejection) = self, rejection.status == 429 else { return nil }
        return rejection.retryAfter ?? FCMBackOff.standard
    }
}
