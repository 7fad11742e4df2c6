import HTTP2Client
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
            case .success(let answer): WNSAnswer(answer)
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
