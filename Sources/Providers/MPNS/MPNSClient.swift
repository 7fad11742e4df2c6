import HTTP2Client
import NIOHTTP1
public import NIOSSL
public import Outbound

/// Sends notifications to Windows Phone 7 and 8. Microsoft has shut the service down; this is for services compatible
/// with it.
///
/// Source: Microsoft, "Sending push notifications for Windows Phone".
public struct MPNSClient: Sendable {
    public struct Configuration: Sendable {
        /// With the certificate of an authenticated web service, which has no daily limit; see
        /// `Outbound.tls(trustRoots:certificate:key:)`.
        public var tls: TLSConfiguration?

        public init() {}
    }

    private let outbound: Outbound
    private let configuration: Configuration

    public init(_ outbound: Outbound, configuration: Configuration = Configuration()) {
        self.outbound = outbound
        self.configuration = configuration
    }

    /// Answers in the order of the channels. Never throws and always returns by its deadline.
    public func send(
        _ message: MPNSMessage, to channels: [MPNSChannel], urgent: Bool = false, within deadline: Duration
    ) async -> [MPNSAnswer] {
        var batch = OutboundBatch(
            OutboundBatch.Shape(
                headers: message.headers, body: .shared(message.body), keptHeaders: MPNSVerdict.headers,
                tls: configuration.tls))
        for channel in channels { batch.append(url: channel.uri) }
        let answers = await outbound.post(batch, urgent: urgent, within: deadline)
        return answers.map { answer in answer.result { MPNSAnswer.answered(MPNSVerdict($0)) } }
    }
}

extension MPNSMessage {
    var headers: [HTTP2Header] {
        var headers = [
            HTTP2Header("content-type", "text/xml"), HTTP2Header("x-notificationclass", "\(notificationClass)"),
        ]
        if let target { headers.append(HTTP2Header("x-windowsphone-target", target)) }
        return headers
    }
}

/// The address of one phone, as the phone gave it to the app.
public struct MPNSChannel: Sendable, Hashable {
    public let uri: String

    /// The suffix of all channel hosts.
    public static let domain = ".notify.live.net"

    /// - Parameter domain: the required suffix of the host; another one is for simulators.
    public init(_ uri: String, domain: String = domain) throws(MPNSError) {
        let scheme = uri.hasPrefix("https://") ? "https://" : "http://"
        guard uri.hasPrefix(scheme), uri.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw MPNSError("channel has to be an http or https URI of visible ASCII")
        }
        let authority = uri.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        // A user part or a backslash would make the host ambiguous.
        guard !authority.contains(where: { "@\\".contains($0) }) else { throw MPNSError("channel has a user part") }
        let host = authority.prefix { $0 != ":" }.lowercased()
        guard host.hasSuffix(domain) else { throw MPNSError("channel leads elsewhere than \(domain)") }
        self.uri = uri
    }
}

/// The part of a push that is the same for all phones.
public struct MPNSMessage: Sendable, Hashable {
    public let kind: Kind
    /// XML; for ``Kind/raw`` any bytes.
    public let body: [UInt8]
    public let batching: Batching

    public enum Kind: Sendable, Hashable, CaseIterable {
        case toast, tile, raw
    }

    /// How long the service may wait, to wake the phone for several at once.
    public enum Batching: Sendable, Hashable, CaseIterable {
        case immediate
        case within450Seconds
        case within900Seconds

        /// The longest wait that ends before the push does.
        ///
        /// - Parameter lifetime: the remaining seconds; nil for a push without an expiry, which is sent at once.
        public init(lifetime: Int?) {
            self =
                switch lifetime ?? 0 {
                case ..<450: .immediate
                case ..<900: .within450Seconds
                default: .within900Seconds
                }
        }
    }

    /// No longer published; the limit that libraries for MPNS observed.
    public static let bodyBytesMax = 3_072
    public static let rawBytesMax = 1_024

    public init(_ kind: Kind, body: [UInt8], batching: Batching = .immediate) throws(MPNSError) {
        guard !body.isEmpty else { throw MPNSError("body is empty") }
        let limit = kind == .raw ? Self.rawBytesMax : Self.bodyBytesMax
        guard body.count <= limit else { throw MPNSError("body is \(body.count) bytes, MPNS takes \(limit)") }
        self.kind = kind
        self.body = body
        self.batching = batching
    }

    /// `X-NotificationClass`. Source: Microsoft, "Sending push notifications for Windows Phone".
    var notificationClass: Int {
        let base =
            switch kind {
            case .tile: 1
            case .toast: 2
            case .raw: 3
            }
        return switch batching {
        case .immediate: base
        case .within450Seconds: base + 10
        case .within900Seconds: base + 20
        }
    }

    /// `X-WindowsPhone-Target`; a tile has an odd one, a raw notification none.
    var target: String? {
        switch kind {
        case .toast: "toast"
        case .tile: "token"
        case .raw: nil
        }
    }
}

/// Why something cannot be sent, detected beforehand.
public struct MPNSError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

/// The result of one notification: the status, and three headers whose combination has the meaning.
public enum MPNSAnswer: Sendable, Hashable, OutboundResult {
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
