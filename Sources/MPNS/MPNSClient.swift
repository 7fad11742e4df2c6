import HTTP2Client
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
        return await outbound.post(batch, urgent: urgent, within: deadline).map { MPNSAnswer($0) }
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
