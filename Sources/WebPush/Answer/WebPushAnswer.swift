public import Outbound

/// The result of one message.
public enum WebPushAnswer: Sendable, Hashable {
    /// The push service accepted it. The browser may still never show it.
    case accepted
    /// The service answered, and did not accept it.
    case rejected(WebPushRejection)
    /// The subscription's key is invalid; nothing was sent.
    case unusableKey
    /// Certainly not sent.
    case unprocessed(OutboundFault)
    /// It may have been sent, and no answer came.
    case unknown(OutboundFault)
}

public struct WebPushRejection: Sendable, Hashable {
    public let status: Int
    /// The service's reason, as far as its form is known.
    public let reason: WebPushReason?
    /// The wait that the answer asks for.
    public let retryAfter: Duration?
}

extension WebPushAnswer {
    init(_ answer: OutboundAnswer) {
        switch answer {
        case .response(let response): self.init(response)
        case .unprocessed(let fault): self = .unprocessed(fault)
        case .unknown(let fault): self = .unknown(fault)
        }
    }

    /// Reads an answer of any bytes and never fails: what is not understood is left out and the status decides.
    public init(_ response: OutboundResponse) {
        guard ![200, 201, 202, 204].contains(response.status) else {
            self = .accepted
            return
        }
        self = .rejected(
            WebPushRejection(
                status: response.status, reason: WebPushReason(body: response.body),
                retryAfter: response.headers.retryAfter()))
    }
}
