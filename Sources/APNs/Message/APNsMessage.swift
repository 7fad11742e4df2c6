/// The part of a push that is the same for all devices. A value has been validated against APNs' formal rules.
public struct APNsMessage: Sendable, Hashable {
    public let topic: String
    public let pushType: APNsPushType
    public let priority: APNsPriority
    /// Unix seconds until which APNs may store the push; 0 for one attempt, nil for APNs' own policy.
    public let expiration: Int64?
    public let collapseID: String?
    public let payload: APNsPayload

    /// The most bytes of a collapse id. Source: Apple, `apns-collapse-id`.
    public static let collapseIDBytesMax = 64

    /// - Parameters:
    ///   - topic: the bundle id, or the whole topic: the suffix the push type asks for is added where it lacks. For
    ///     `mdm` the UID of the MDM certificate.
    ///   - priority: nil for the default of the push type.
    ///   - expiration: Unix seconds; 0 for one attempt, nil for APNs' own policy of at most 30 days.
    ///   - payload: JSON, sent as it is.
    public init(
        topic: String, pushType: APNsPushType = .alert, priority: APNsPriority? = nil, expiration: Int64? = nil,
        collapseID: String? = nil, payload: [UInt8]
    ) throws(APNsMessageError) {
        guard !topic.isEmpty, topic.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { throw .topic(topic) }
        guard pushType != .mdm || topic.hasPrefix("com.apple.mgmt.") else { throw .topicNotForMDM(topic) }
        self.topic = topic.hasSuffix(pushType.topicSuffix) ? topic : topic + pushType.topicSuffix
        self.pushType = pushType
        self.priority = priority ?? pushType.priorities[0]
        guard pushType.priorities.contains(self.priority) else { throw .priority(self.priority, for: pushType) }
        if let expiration, expiration < 0 { throw .expiration(expiration) }
        self.expiration = expiration
        if let collapseID { try Self.check(collapseID: collapseID) }
        self.collapseID = collapseID
        self.payload = try APNsPayload(payload, for: pushType)
    }

    /// A header value must not contain control bytes, nor spaces at its ends. Source: RFC 9110 §5.5.
    private static func check(collapseID: String) throws(APNsMessageError) {
        let bytes = collapseID.utf8
        guard bytes.count <= collapseIDBytesMax else { throw .collapseIDTooLong(bytes: bytes.count) }
        guard !bytes.isEmpty, bytes.first != 0x20, bytes.last != 0x20, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { throw .collapseIDMalformed }
    }
}

/// Bytes that fit into a push of one type.
public struct APNsPayload: Sendable, Hashable {
    public let bytes: [UInt8]

    public init(_ bytes: [UInt8], for type: APNsPushType) throws(APNsMessageError) {
        guard !bytes.isEmpty else { throw .payloadEmpty }
        guard bytes.count <= type.payloadBytesMax else {
            throw .payloadTooLarge(bytes: bytes.count, limit: type.payloadBytesMax)
        }
        self.bytes = bytes
    }
}

/// Why something cannot be sent, detected beforehand.
public enum APNsMessageError: Error, Sendable, Hashable, CustomStringConvertible {
    case topic(String)
    case topicNotForMDM(String)
    case priority(APNsPriority, for: APNsPushType)
    case expiration(Int64)
    case collapseIDTooLong(bytes: Int)
    case collapseIDMalformed
    case payloadEmpty
    case payloadTooLarge(bytes: Int, limit: Int)
    case deviceToken(bytes: Int)
    case channelID

    public var description: String {
        switch self {
        case .topic: "topic is empty or holds other than visible ASCII"
        case .topicNotForMDM(let topic): "topic is \(topic), push type mdm takes one that begins with com.apple.mgmt."
        case .priority(let priority, let type):
            "priority is \(priority.rawValue), push type \(type.rawValue) takes "
                + type.priorities.map { "\($0.rawValue)" }.joined(separator: ", ")
        case .expiration(let seconds): "expiration is \(seconds), it counts seconds since 1970 from 0"
        case .collapseIDTooLong(let bytes):
            "collapse id is \(bytes) bytes, APNs takes \(APNsMessage.collapseIDBytesMax)"
        case .collapseIDMalformed: "collapse id is empty, begins or ends with a space, or holds control characters"
        case .payloadEmpty: "payload is empty"
        case .payloadTooLarge(let bytes, let limit): "payload is \(bytes) bytes, APNs takes \(limit)"
        case .channelID: "channel id is empty, over \(APNsChannelID.bytesMax) bytes, or holds other than visible ASCII"
        case .deviceToken(let bytes):
            "device token is \(bytes) bytes, \(APNsDevice.tokenBytes.lowerBound) to \(APNsDevice.tokenBytes.upperBound) are taken"
        }
    }
}
