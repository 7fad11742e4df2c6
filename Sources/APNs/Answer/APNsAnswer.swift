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
