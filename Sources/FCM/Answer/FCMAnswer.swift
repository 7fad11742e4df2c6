import FoundationEssentials
public import HTTP2Client
public import Outbound

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
        if case .rejected(let rejection) = self {
            rejection.status == 401 && rejection.code == .unauthenticated
        } else {
            false
        }
    }
}
