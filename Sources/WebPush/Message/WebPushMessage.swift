/// The part of a push that is the same for all browsers.
public struct WebPushMessage: Sendable, Hashable {
    /// The decrypted payload for the service worker.
    public let payload: [UInt8]
    /// Seconds for which the push service stores it; 0 for one attempt.
    public let ttl: Int
    public let urgency: WebPushUrgency
    /// A waiting message is replaced by a later one of the same topic.
    public let topic: String?

    /// The header of the coding, the delimiter and the tag. Source: RFC 8291 §4.
    static let overheadBytes = 16 + 4 + 1 + 65 + 1 + 16
    /// The most bytes of a payload, so that its message has the 4,096 bytes that every service has to take. Source: RFC 8030 §7.2.
    public static let payloadBytesMax = 4_096 - overheadBytes
    /// Source: RFC 8030 §5.4.
    public static let topicBytesMax = 32

    public init(
        payload: [UInt8], ttl: Int, urgency: WebPushUrgency = .normal, topic: String? = nil
    ) throws(WebPushError) {
        guard payload.count <= Self.payloadBytesMax else {
            throw WebPushError("payload is \(payload.count) bytes, Web Push takes \(Self.payloadBytesMax)")
        }
        guard ttl >= 0 else { throw WebPushError("ttl is \(ttl), it counts seconds from 0") }
        if let topic { try Self.check(topic: topic) }
        self.payload = payload
        self.ttl = min(ttl, Int(Int32.max))
        self.urgency = urgency
        self.topic = topic
    }

    private static func check(topic: String) throws(WebPushError) {
        let isPlain = topic.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
        guard 1...topicBytesMax ~= topic.utf8.count, isPlain else {
            throw WebPushError("topic has to be 1 to \(topicBytesMax) letters, digits, - and _")
        }
    }
}

/// How much of a device's power a message is worth. Source: RFC 8030 §5.3.
public enum WebPushUrgency: String, Sendable, Hashable, CaseIterable {
    case veryLow = "very-low"
    case low
    case normal
    case high
}

/// Why something cannot be sent, detected beforehand.
public struct WebPushError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
