import NIOCore
import NIOHTTP1
public import NIOSSL
public import Outbound

/// Sends notifications to Windows Phone 7 and 8. Microsoft has shut the service down; this is for services compatible
/// with it.
///
/// Source: Microsoft, "Sending push notifications for Windows Phone".
public struct MPNSClient: Sendable {
    public struct Configuration: Sendable {
        /// The number of concurrent requests.
        public var width = 32
        public var requestDeadline = Duration.seconds(10)
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
        _ message: MPNSMessage, to channels: [MPNSChannel], within deadline: Duration
    ) async -> [MPNSAnswer] {
        let headers = message.headers
        let body = ByteBuffer(bytes: message.body)
        return await Outbound.fanOut(
            channels, width: configuration.width, within: deadline,
            untried: .unprocessed(.notBegun)
        ) { channel in
            let request = OutboundRequest(url: channel.uri, headers: headers, body: body, tls: configuration.tls)
            return MPNSAnswer(await outbound.post(request, deadline: configuration.requestDeadline))
        }
    }
}

extension MPNSMessage {
    var headers: HTTPHeaders {
        var headers: HTTPHeaders = ["content-type": "text/xml", "x-notificationclass": "\(notificationClass)"]
        if let target { headers.add(name: "x-windowsphone-target", value: target) }
        return headers
    }
}
