import HTTP2Client
public import NIOSSL
public import Outbound

/// Sends messages over `gcm/send`, for gateways that still speak it: GCM and FCM's legacy HTTP protocol.
///
/// Google shut its own down in 2024. A request goes to 1,000 devices, and its answer has a result for each.
public struct GCMClient: Sendable {
    public struct Configuration: Sendable {
        public var url = "https://fcm.googleapis.com/fcm/send"
        /// Instead of the standard, for simulators.
        public var tls: TLSConfiguration?

        public init() {}
    }

    private let outbound: Outbound
    private let key: String
    private let configuration: Configuration

    /// Source: Firebase, "Firebase Cloud Messaging HTTP protocol" (legacy).
    public static let devicesMax = 1_000
    /// A result may name a message and a new token, 300 bytes at the most.
    private static let answerBytesMax = 1_048_576

    /// - Parameter key: the server key, in visible ASCII.
    public init(_ outbound: Outbound, key: String, configuration: Configuration = Configuration()) {
        self.outbound = outbound
        self.key = key
        self.configuration = configuration
    }

    /// Sends to all devices, 1,000 at a time, and returns their answers in order. Never throws, and returns by its
    /// deadline, which is for all of it.
    public func send(
        _ message: GCMMessage, to tokens: [[UInt8]], urgent: Bool = false, within deadline: Duration
    ) async -> [GCMAnswer] {
        let parts = Outbound.parts(of: tokens, count: Self.devicesMax)
        let headers = [
            HTTP2Header("authorization", "key=\(key)"), HTTP2Header("content-type", "application/json"),
        ]
        var batch = OutboundBatch(
            OutboundBatch.Shape(
                headers: headers, body: .own, answerBytesMax: Self.answerBytesMax, tls: configuration.tls))
        for part in parts { batch.append(url: configuration.url, body: message.body(for: part)) }
        let answers = await outbound.post(batch, urgent: urgent, silence: deadline, within: deadline)
        return zip(answers, parts).flatMap { GCMAnswer.answers($0, count: $1.count) }
    }
}

extension GCMMessage {
    func body(for tokens: some Collection<[UInt8]>) -> [UInt8] {
        Array(#"{"registration_ids":"#.utf8) + JSONText.array(tokens) + (members.isEmpty ? [] : Array(",".utf8))
            + members + Array("}".utf8)
    }
}
