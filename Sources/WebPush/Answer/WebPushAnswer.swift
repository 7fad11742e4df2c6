import NIOHTTP1
public import Outbound

/// The result of one message.
public enum WebPushAnswer: Sendable, Hashable {
    /// The push service accepted it. The browser may still never show it.
    case accepted
    /// Microsoft's service accepted and discarded it: the device is offline, or its user wants none. What it says of it.
    case dropped(String?)
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
    /// The service's sentence for people, where it says more than the reason; visible ASCII.
    public var words: String?
}

extension WebPushAnswer {
    init(_ answer: OutboundAnswer) {
        switch answer {
        case .response(let response): self.init(response)
        case .unprocessed(let fault): self = .unprocessed(fault)
        case .unknown(let fault): self = .unknown(fault)
        }
    }

    /// The headers that an answer is read from. Microsoft's service answers in those of WNS.
    static let headers = ["retry-after", "x-wns-status", "x-wns-deviceconnectionstatus", "x-wns-error-description"]

    /// Reads an answer of any bytes and never fails: what is not understood is left out and the status decides.
    public init(_ response: OutboundResponse) {
        guard ![200, 201, 202, 204].contains(response.status) else {
            self = Self.answer(toTaken: response)
            return
        }
        let reason = WebPushReason(body: response.body)
        let words =
            response.headers.first(name: "x-wns-error-description").flatMap { Outbound.words($0) }
            ?? Outbound.words(in: response.body)
        self = .rejected(
            WebPushRejection(
                status: response.status, reason: reason, retryAfter: response.headers.retryAfter(),
                words: words.flatMap { reason == .word($0) ? nil : $0 }))
    }

    /// Source: Microsoft, "Push notification service request and response headers", `X-WNS-Status`.
    private static func answer(toTaken response: OutboundResponse) -> WebPushAnswer {
        switch response.headers.first(name: "x-wns-status")?.lowercased() {
        case "dropped":
            .dropped(
                response.headers.first(name: "x-wns-deviceconnectionstatus").flatMap {
                    Outbound.words("the device is \($0)")
                })
        case "channelthrottled":
            .rejected(
                WebPushRejection(
                    status: 429, reason: .word("channelthrottled"), retryAfter: response.headers.retryAfter()))
        default: .accepted
        }
    }
}
