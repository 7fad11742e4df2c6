import HTTP2Client
import NIOHTTP1
public import NIOSSL
public import Outbound

/// Sends notifications to Windows devices with one app's credentials.
///
/// Source: Microsoft, "Push notification service request and response headers".
public struct WNSClient: Sendable {
    public struct Configuration: Sendable {
        /// Instead of the standard, for simulators.
        public var tls: TLSConfiguration?

        public init() {}
    }

    private let outbound: Outbound
    private let token: AccessToken
    private let configuration: Configuration

    public init(_ outbound: Outbound, credentials: WNSCredentials, configuration: Configuration = Configuration()) {
        self.outbound = outbound
        token = AccessToken {
            await outbound.grant(
                from: credentials.url,
                form: [
                    "grant_type": "client_credentials", "client_id": credentials.clientID,
                    "client_secret": credentials.secret, "scope": credentials.scope,
                ], tls: configuration.tls)
        }
        self.configuration = configuration
    }

    /// Answers in the order of the channels. Never throws and always returns by its deadline.
    public func send(
        _ message: WNSMessage, to channels: [WNSChannel], urgent: Bool = false, within deadline: Duration
    ) async -> [WNSAnswer] {
        var batch = OutboundBatch(
            OutboundBatch.Shape(
                headers: message.headers, body: .shared(message.body), keptHeaders: WNSAnswer.headers,
                tls: configuration.tls))
        for channel in channels { batch.append(url: channel.uri) }
        return await outbound.post(batch, with: token, urgent: urgent, within: deadline).map { result in
            switch result {
            case .success(let answer): answer.result { WNSAnswer($0) }
            case .failure(let error): .unauthorized(error)
            }
        }
    }

    /// Requests an access token, which is all that can be tested without a device.
    public func authorize() async throws(AccessTokenError) { _ = try await token.current() }
}

extension WNSMessage {
    var headers: [HTTP2Header] {
        var headers = [
            HTTP2Header("content-type", kind == .raw ? "application/octet-stream" : "text/xml"),
            HTTP2Header("x-wns-type", "wns/\(kind.rawValue)"),
            HTTP2Header("x-wns-requestforstatus", "true"),
        ]
        if let isCached { headers.append(HTTP2Header("x-wns-cache-policy", isCached ? "cache" : "no-cache")) }
        if let ttl { headers.append(HTTP2Header("x-wns-ttl", "\(ttl)")) }
        if let tag { headers.append(HTTP2Header("x-wns-tag", tag)) }
        if let priority { headers.append(HTTP2Header("x-wns-priority", "\(priority.rawValue)")) }
        return headers
    }
}

/// How an app authenticates to WNS. Source: Microsoft, "Push notification service request and response headers",
/// "Access token request parameters"; Windows App SDK, "Quickstart: Push notifications".
public struct WNSCredentials: Sendable, Hashable {
    let url: String
    let clientID: String
    let secret: String
    let scope: String

    /// An app of the Store: its package SID, `ms-app://…`, and the secret that the Partner Center shows.
    ///
    /// - Parameter url: of the token service; nil for Microsoft's.
    public static func store(packageSID: String, secret: String, url: String? = nil) -> WNSCredentials {
        WNSCredentials(
            url: url ?? "https://login.live.com/accesstoken.srf", clientID: packageSID, secret: secret,
            scope: "notify.windows.com")
    }

    /// An app registered in Entra ID: the directory's id, the app's and a client secret.
    ///
    /// - Parameter url: of the token service; nil for Microsoft's.
    public static func entra(tenant: String, clientID: String, secret: String, url: String? = nil) -> WNSCredentials {
        WNSCredentials(
            url: url ?? "https://login.microsoftonline.com/\(tenant)/oauth2/v2.0/token", clientID: clientID,
            secret: secret, scope: "https://wns.windows.com/.default")
    }
}

/// The address of one device, as Windows gave it to the app. Stored byte for byte: the service does not know an altered
/// one.
public struct WNSChannel: Sendable, Hashable {
    public let uri: String

    /// Channel URIs have this suffix; to any other host we would reveal our access token. Source: Microsoft, "Windows
    /// Push Notification Services (WNS) overview".
    public static let domain = ".notify.windows.com"

    /// - Parameter domain: the required suffix of the host; another one is for simulators.
    public init(_ uri: String, domain: String = domain) throws(WNSError) {
        guard uri.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), uri.hasPrefix("https://") else {
            throw WNSError("channel has to be an https URI of visible ASCII")
        }
        let authority = uri.dropFirst(8).prefix { !"/?#".contains($0) }
        // A user part or a backslash would make the host ambiguous.
        guard !authority.contains(where: { "@\\".contains($0) }) else { throw WNSError("channel has a user part") }
        let host = authority.prefix { $0 != ":" }.lowercased()
        guard host.hasSuffix(domain) else { throw WNSError("channel leads elsewhere than \(domain)") }
        self.uri = uri
    }
}

/// The part of a push that is the same for all devices.
public struct WNSMessage: Sendable, Hashable {
    public let kind: Kind
    /// XML; for ``Kind/raw`` any bytes.
    public let body: [UInt8]
    /// Seconds for which it is useful; nil for as long as the service stores it.
    public let ttl: Int?
    /// Whether the service stores it for an offline device; nil for the default of the kind.
    public let isCached: Bool?
    /// A tile is replaced by a later one with the same tag.
    public let tag: String?
    public let priority: Priority?

    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case toast, tile, badge, raw
    }

    public enum Priority: Int, Sendable, Hashable, CaseIterable {
        case high = 1
        case medium = 2
        case low = 3
        case veryLow = 4
    }

    public static let bodyBytesMax = 5_000
    public static let tagBytesMax = 16

    public init(
        _ kind: Kind, body: [UInt8], ttl: Int? = nil, isCached: Bool? = nil, tag: String? = nil,
        priority: Priority? = nil
    ) throws(WNSError) {
        guard !body.isEmpty else { throw WNSError("body is empty") }
        guard body.count <= Self.bodyBytesMax else {
            throw WNSError("body is \(body.count) bytes, WNS takes \(Self.bodyBytesMax)")
        }
        if let ttl, ttl < 0 { throw WNSError("ttl is \(ttl), it counts seconds from 0") }
        if let tag { try Self.check(tag: tag) }
        self.kind = kind
        self.body = body
        self.ttl = ttl
        self.isCached = isCached
        self.tag = tag
        self.priority = priority
    }

    private static func check(tag: String) throws(WNSError) {
        guard 1...tagBytesMax ~= tag.utf8.count, tag.utf8.allSatisfy(\.isAlphanumeric) else {
            throw WNSError("tag has to be 1 to \(tagBytesMax) letters and digits")
        }
    }
}

/// Why something cannot be sent, detected beforehand.
public struct WNSError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

/// The result of one notification.
public enum WNSAnswer: Sendable, Hashable, OutboundResult {
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
