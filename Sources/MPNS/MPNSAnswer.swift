import NIOHTTP1
public import Outbound

/// The result of one notification: the status, and three headers whose combination has the meaning.
public enum MPNSAnswer: Sendable, Hashable {
    case answered(MPNSVerdict)
    /// Certainly not sent.
    case unprocessed(OutboundFault)
    /// It may have been sent, and no answer came.
    case unknown(OutboundFault)
}

public struct MPNSVerdict: Sendable, Hashable {
    public let status: Int
    /// nil for none, or an unknown term.
    public let notification: NotificationStatus?
    public let connection: ConnectionStatus?
    public let subscription: SubscriptionStatus?
    /// The wait that the answer asks for.
    public let retryAfter: Duration?

    /// The values of the three headers, as MPNS spells them; nil when there are none.
    public var words: String? {
        let words = [notification?.rawValue, connection?.rawValue, subscription?.rawValue].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    /// `X-NotificationStatus`.
    public enum NotificationStatus: String, Sendable, Hashable, CaseIterable {
        case received, queueFull = "queuefull", suppressed, dropped
    }

    /// `X-DeviceConnectionStatus`.
    public enum ConnectionStatus: String, Sendable, Hashable, CaseIterable {
        case connected, tempDisconnected = "tempdisconnected", disconnected, inactive
    }

    /// `X-SubscriptionStatus`.
    public enum SubscriptionStatus: String, Sendable, Hashable, CaseIterable {
        case active, expired
    }

    public init(
        status: Int, notification: NotificationStatus? = nil, connection: ConnectionStatus? = nil,
        subscription: SubscriptionStatus? = nil, retryAfter: Duration? = nil
    ) {
        self.status = status
        self.notification = notification
        self.connection = connection
        self.subscription = subscription
        self.retryAfter = retryAfter
    }
}

extension MPNSAnswer {
    init(_ answer: OutboundAnswer) {
        switch answer {
        case .response(let response): self = .answered(MPNSVerdict(response))
        case .unprocessed(let fault): self = .unprocessed(fault)
        case .unknown(let fault): self = .unknown(fault)
        }
    }
}

extension MPNSVerdict {
    /// The headers that an answer is read from.
    static let headers = ["x-notificationstatus", "x-deviceconnectionstatus", "x-subscriptionstatus", "retry-after"]

    /// Source: Microsoft, "Push Notification Service response codes for Windows Phone". Words are compared without regard
    /// to case: the service writes `InActive` as well as `Inactive`.
    public init(_ response: OutboundResponse) {
        func word(_ name: String) -> String { response.headers.first(name: name)?.lowercased() ?? "" }
        self.init(
            status: response.status, notification: NotificationStatus(rawValue: word("x-notificationstatus")),
            connection: ConnectionStatus(rawValue: word("x-deviceconnectionstatus")),
            subscription: SubscriptionStatus(rawValue: word("x-subscriptionstatus")),
            retryAfter: response.headers.retryAfter())
    }
}
