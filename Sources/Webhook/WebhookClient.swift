import HTTP2Client
public import NIOSSL
public import Outbound

/// Posts batches of devices to a service of one's own, which notifies them by its own means.
public struct WebhookClient: Sendable {
    public struct Configuration: Sendable {
        /// Instead of the standard, for tests.
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
    public func send(
        _ batch: WebhookBatch, urgent: Bool = false, within deadline: Duration
    ) async -> WebhookAnswer {
        var headers = [HTTP2Header("content-type", "application/json")]
        for (name, value) in signature.headers(of: batch.body, time: configuration.now()) {
            headers.append(HTTP2Header(name, value))
        }
        var request = OutboundBatch(
            OutboundBatch.Shape(
                headers: headers, body: .shared(batch.body), answerBytesMax: Self.answerBytesMax,
                tls: configuration.tls))
        request.append(url: url)
        let answers = await outbound.post(request, urgent: urgent, silence: deadline, within: deadline)
        return WebhookAnswer(answers[0], devices: batch.devices.count)
    }

    /// An answer may hold an outcome for each device.
    private static let answerBytesMax = 65_536
}
