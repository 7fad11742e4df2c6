import NIOCore
import NIOHTTP1
public import NIOSSL
public import Outbound

/// Sends notifications to Windows devices with one app's credentials.
///
/// Source: Microsoft, "Push notification service request and response headers".
public struct WNSClient: Sendable {
    public struct Configuration: Sendable {
        /// The number of concurrent requests.
        public var width = 32
        public var requestDeadline = Duration.seconds(10)
        /// In place of the HTTP client's own, for simulators.
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
        _ message: WNSMessage, to channels: [WNSChannel], within deadline: Duration
    ) async -> [WNSAnswer] {
        let headers = message.headers
        let body = ByteBuffer(bytes: message.body)
        return await Outbound.fanOut(
            channels, width: configuration.width, within: deadline,
            untried: .unprocessed(.notBegun)
        ) { channel in
            let request = OutboundRequest(url: channel.uri, headers: headers, body: body, tls: configuration.tls)
            do throws(AccessTokenError) {
                return WNSAnswer(
                    try await outbound.post(request, with: token, deadline: configuration.requestDeadline))
            } catch {
                return .unauthorized(error)
            }
        }
    }

    /// Requests an access token, which is all that can be tested without a device.
    public func authorize() async throws(AccessTokenError) { _ = try await token.current() }
}

extension WNSMessage {
    var headers: HTTPHeaders {
        var headers: HTTPHeaders = [
            "content-type": kind == .raw ? "application/octet-stream" : "text/xml",
            "x-wns-type": "wns/\(kind.rawValue)",
            "x-wns-requestforstatus": "true",
        ]
        if let isCached { headers.add(name: "x-wns-cache-policy", value: isCached ? "cache" : "no-cache") }
        if let ttl { headers.add(name: "x-wns-ttl", value: "\(ttl)") }
        if let tag { headers.add(name: "x-wns-tag", value: tag) }
        if let priority { headers.add(name: "x-wns-priority", value: "\(priority.rawValue)") }
        return headers
    }
}
