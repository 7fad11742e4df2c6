import NIOHTTP1
public import Outbound

/// The result of one notification.
public enum WNSAnswer: Sendable, Hashable {
    /// WNS accepted it. It may still never be shown: invalid XML is dropped on the device.
    case received
    /// WNS accepted and discarded it: the device is offline and it was not to be stored, or the user wants none. What WNS says of the
    /// device's connection.
    case dropped(String?)
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
    static let headers = [
        "x-wns-status", "x-wns-notificationstatus", "x-wns-deviceconnectionstatus", "x-wns-error-description",
        "x-wns-msg-id", "retry-after",
    ]

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
            self = .rejected(
                WNSRejection(
                    status: response.status, description: Self.description(response),
                    retryAfter: response.headers.retryAfter()))
            return
        }
        let status =
            response.headers.first(name: "x-wns-status") ?? response.headers.first(name: "x-wns-notificationstatus")
        switch status?.trimmedLowercased {
        case "dropped":
            let connection = response.headers.first(name: "x-wns-deviceconnectionstatus")
            self = .dropped(
                Self.description(response) ?? connection.flatMap { Outbound.words("the device is \($0)") })
        case "channelthrottled": self = .channelThrottled(retryAfter: response.headers.retryAfter())
        default: self = .received
        }
    }

    /// WNS writes for people in a header; its body is empty as a rule.
    private static func description(_ response: OutboundResponse) -> String? {
        response.headers.first(name: "x-wns-error-description").flatMap { Outbound.words($0) }
            ?? Outbound.words(in: response.body)
    }
}

extension String {
    fileprivate var trimmedLowercased: String { split(separator: " ").joined(separator: " ").lowercased() }
}
