import NIOHTTP1
public import Outbound

/// The result of one notification.
public enum WNSAnswer: Sendable, Hashable {
    /// WNS accepted it. It may still never be shown: invalid XML is dropped on the device.
    case received
    /// WNS accepted and discarded it: the device is offline and it was not to be stored, or the user wants none.
    case dropped
    /// WNS discarded it, because the app sends this device too much.
    case channelThrottled(retryAfter: Duration?)
    /// WNS answered with a status other than 200.
    case rejected(WNSRejection)
    /// There is no access token. Nothing was sent.
    case unauthorized(AccessTokenError)
    /// Certainly not sent.
    case unprocessed(OutboundFault)
    /// It may have been sent, and no answer came.
    case unknown(OutboundFault)
}

public struct WNSRejection: Sendable, Hashable {
    public let status: Int
    /// `X-WNS-Error-Description`, in visible ASCII.
    public let description: String?
    /// The wait that the answer asks for.
    public let retryAfter: Duration?
}

extension WNSAnswer {
    /// The headers that an answer is read from.
    static let headers = ["x-wns-status", "x-wns-error-description", "retry-after"]

    init(_ answer: OutboundAnswer) {
        switch answer {
        case .response(let response): self.init(response)
        case .unprocessed(let fault): self = .unprocessed(fault)
        case .unknown(let fault): self = .unknown(fault)
        }
    }

    /// Reads an answer, whose result is in the headers: a discarded notification gets 200 as well. Source: Microsoft,
    /// "Push notification service request and response headers", `X-WNS-Status`.
    public init(_ response: OutboundResponse) {
        guard response.status == 200 else {
            let description = response.headers.first(name: "x-wns-error-description")
            self = .rejected(
                WNSRejection(
                    status: response.status, description: description.map { Outbound.plain($0.utf8) },
                    retryAfter: response.headers.retryAfter()))
            return
        }
        switch response.headers.first(name: "x-wns-status")?.lowercased() {
        case "dropped": self = .dropped
        case "channelthrottled": self = .channelThrottled(retryAfter: response.headers.retryAfter())
        default: self = .received
        }
    }
}
