import NIOCore
import NIOHTTP1
public import NIOSSL
public import Outbound

/// Posts batches of devices to a service of one's own, which notifies them by its own means.
public struct WebhookClient: Sendable {
    public struct Configuration: Sendable {
        /// In place of the HTTP client's own, for tests.
        public var tls: TLSConfiguration?
        /// Unix seconds.
        public var now: @Sendable () -> Int64 = { Outbound.now() }

        public init() {}
    }

    private let outbound: Outbound
    private let url: String
    private let signature: WebhookSignature
    private let configuration: Configuration

    public init(
        _ outbound: Outbound, url: String, signature: WebhookSignature, configuration: Configuration = Configuration()
    ) {
        self.outbound = outbound
        self.url = url
        self.signature = signature
        self.configuration = configuration
    }

    /// Never throws and always returns by its deadline.
    public func send(_ batch: WebhookBatch, within deadline: Duration) async -> WebhookAnswer {
        var headers: HTTPHeaders = ["content-type": "application/json"]
        headers.add(contentsOf: signature.headers(of: batch.body, time: configuration.now()))
        let request = OutboundRequest(
            url: url, headers: headers, body: ByteBuffer(bytes: batch.body), tls: configuration.tls)
        return WebhookAnswer(await outbound.post(request, deadline: deadline), devices: batch.devices.count)
    }
}
