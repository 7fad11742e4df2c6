import NIOCore
import NIOHTTP1
public import NIOSSL
public import Outbound

/// Sends messages over `gcm/send`, for gateways that still speak it: GCM and FCM's legacy HTTP protocol.
///
/// Google shut its own down in 2024. A request goes to 1,000 devices, and its answer has a result for each.
public struct GCMClient: Sendable {
    public struct Configuration: Sendable {
        public var url = "https://fcm.googleapis.com/fcm/send"
        /// Instead of the HTTP client's own, for simulators.
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
        _ message: GCMMessage, to tokens: [[UInt8]], within deadline: Duration
    ) async -> [GCMAnswer] {
        let parts = Outbound.parts(of: tokens, count: Self.devicesMax)
        let answers = await Outbound.fanOut(
            parts, width: 1, within: deadline, untried: OutboundAnswer.unprocessed(.notBegun)
        ) { part in
            await outbound.post(request(message, part), deadline: deadline)
        }
        return zip(answers, parts).flatMap { GCMAnswer.answers($0, count: $1.count) }
    }

    private func request(_ message: GCMMessage, _ tokens: ArraySlice<[UInt8]>) -> OutboundRequest {
        OutboundRequest(
            url: configuration.url, headers: ["authorization": "key=\(key)", "content-type": "application/json"],
            body: ByteBuffer(bytes: message.body(for: tokens)), tls: configuration.tls,
            answerBytesMax: Self.answerBytesMax)
    }
}

extension GCMMessage {
    func body(for tokens: some Collection<[UInt8]>) -> [UInt8] {
        Array(#"{"registration_ids":"#.utf8) + JSONText.array(tokens) + (members.isEmpty ? [] : Array(",".utf8))
            + members + Array("}".utf8)
    }
}
