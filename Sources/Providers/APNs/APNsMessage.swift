import HTTP2Client

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

/// The purpose of a push. It decides the topic's suffix, the accepted priorities and the size limit of a payload.
///
/// Source: Apple, "Sending notification requests to APNs", `apns-push-type`; widgets and controls from WidgetKit.
public enum APNsPushType: String, Sendable, Hashable, CaseIterable {
    case alert
    case background
    case voip
    case complication
    case fileProvider = "fileprovider"
    case mdm
    case location
    case liveActivity = "liveactivity"
    case pushToTalk = "pushtotalk"
    case widgets
    case controls

    /// The suffix of the topic after the bundle id.
    public var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileProvider: ".pushkit.fileprovider"
        case .location: ".location-query"
        case .liveActivity: ".push-type.liveactivity"
        case .pushToTalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// The accepted priorities, the default first.
    public var priorities: [APNsPriority] {
        switch self {
        case .background: [.considerate]
        case .liveActivity, .location: [.immediate, .considerate]
        case .pushToTalk: [.immediate]
        default: [.immediate, .considerate, .low]
        }
    }

    public var payloadBytesMax: Int { self == .voip ? 5_120 : 4_096 }
}

/// How eagerly a push is delivered. Source: Apple, "Sending notification requests to APNs", `apns-priority`.
public enum APNsPriority: Int, Sendable, Hashable, CaseIterable {
    /// At once.
    case immediate = 10
    /// Considering the device's power.
    case considerate = 5
    /// Prioritizes power; never wakes the device.
    case low = 1
}

/// The id of one notification to one device: a UUID, as 128 bits.
public struct APNsID: Sendable, Hashable, CustomStringConvertible {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads the 16 bytes of a UUID; nil for any other count.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        func half(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(high: half(bytes[..<8]), low: half(bytes[8...]))
    }

    /// Reads the text of a UUID, 8-4-4-4-12 in either case; nil for anything else.
    public init?(text: some Sequence<UInt8>) {
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        var position = 0
        for byte in text {
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard position < 36, let digit = Self.value(ofHex: byte) else { return nil }
                halves.high = halves.high << 4 | halves.low >> 60
                halves.low = halves.low << 4 | digit
            }
            position += 1
        }
        guard position == 36 else { return nil }
        self.init(high: halves.high, low: halves.low)
    }

    /// Canonical and lowercase.
    public var description: String {
        func hex(_ value: UInt64, _ digits: Int) -> String {
            let text = String(value, radix: 16)
            return String(repeating: "0", count: digits - text.count) + text
        }
        return [
            hex(high >> 32, 8), hex(high >> 16 & 0xFFFF, 4), hex(high & 0xFFFF, 4), hex(low >> 48, 4),
            hex(low & 0xFFFF_FFFF_FFFF, 12),
        ].joined(separator: "-")
    }

    private static func value(ofHex byte: UInt8) -> UInt64? {
        switch byte {
        case 0x30...0x39: UInt64(byte - 0x30)
        case 0x41...0x46: UInt64(byte - 0x37)
        case 0x61...0x66: UInt64(byte - 0x57)
        default: nil
        }
    }
}

/// One message and the devices it goes to.
public struct APNsBatch: Sendable {
    public let message: APNsMessage
    public let devices: [APNsDevice]

    public init(message: APNsMessage, devices: [APNsDevice]) {
        self.message = message
        self.devices = devices
    }
}

public struct APNsDevice: Sendable, Hashable {
    /// The length of a token. Apple warns that it varies; today 32, for Live Activities up to 100.
    public static let tokenBytes = 1...100

    public let token: [UInt8]
    /// Sent as `apns-id`; nil lets APNs create one.
    public let id: APNsID?
    /// Replaces the payload of the message.
    public let payload: APNsPayload?

    /// - Parameter token: the raw bytes the device registered.
    public init(token: [UInt8], id: APNsID? = nil, payload: APNsPayload? = nil) throws(APNsMessageError) {
        guard Self.tokenBytes.contains(token.count) else { throw .deviceToken(bytes: token.count) }
        self.token = token
        self.id = id
        self.payload = payload
    }
}

extension APNsBatch {
    /// The batch as requests. Repeated headers may be indexed by the header compressor, differing ones must not be, or
    /// they would evict the rest from the table. Source: Apple, "Sending notification requests to APNs", HPACK.
    var requests: HTTP2Batch {
        let isPersonal = devices.contains { $0.payload != nil }
        var batch = HTTP2Batch(
            headers: message.headers, varying: ["apns-id"],
            body: isPersonal ? .own : .shared(message.payload.bytes))
        let pathBytes = "/3/device/".utf8.count + 2 * (devices.first?.token.count ?? 0)
        batch.reserve(requests: devices.count, bytesPerRequest: pathBytes + 36)
        for device in devices {
            batch.append { fields in
                fields.write("/3/device/")
                fields.write(hex: device.token)
                fields.end()
                if let id = device.id { fields.write(uuid: id.high, id.low) }
                fields.end()
                guard isPersonal else { return }
                fields.write(device.payload?.bytes ?? message.payload.bytes)
                fields.end()
            }
        }
        return batch
    }

    /// Returns a batch with this message for the devices at `indices`.
    func picking(_ indices: [Int]) -> APNsBatch {
        APNsBatch(message: message, devices: indices.map { devices[$0] })
    }
}

extension APNsMessage {
    /// The headers that messages of one kind share.
    var kindHeaders: [HTTP2Header] {
        [
            HTTP2Header("apns-topic", topic),
            HTTP2Header("apns-push-type", pushType.rawValue),
            HTTP2Header("apns-priority", "\(priority.rawValue)"),
        ]
    }

    /// The headers all devices share.
    var headers: [HTTP2Header] {
        var headers = kindHeaders
        if let expiration { headers.append(HTTP2Header("apns-expiration", "\(expiration)", indexing: .never)) }
        if let collapseID { headers.append(HTTP2Header("apns-collapse-id", collapseID, indexing: .never)) }
        return headers
    }
}

/// Batches of different messages as the requests of one HTTP/2 batch: what their messages share are its headers, the rest
/// varies from request to request.
struct APNsBurst {
    private let batches: [APNsBatch]
    /// The place of each device, in order.
    private let places: [Place]

    private struct Place {
        let batch: Int
        let device: Int
    }

    /// - Parameter batches: at least one, and all of one kind; see ``kinds(of:)``.
    init(_ batches: [APNsBatch]) {
        self.batches = batches
        places = batches.indices.flatMap { batch in
            batches[batch].devices.indices.map { Place(batch: batch, device: $0) }
        }
    }

    /// The indices of batches that can share a burst: those whose topic, push type and priority are the same.
    static func kinds(of batches: [APNsBatch]) -> [[Int]] {
        let kinds = Dictionary(grouping: batches.indices) { Kind(batches[$0].message) }
        return kinds.values.sorted { $0[0] < $1[0] }
    }

    private struct Kind: Hashable {
        let topic: String
        let pushType: APNsPushType
        let priority: APNsPriority

        init(_ message: APNsMessage) {
            (topic, pushType, priority) = (message.topic, message.pushType, message.priority)
        }
    }

    var requests: HTTP2Batch { requests(of: places) }

    /// The requests of the devices at these places among all, to be sent again.
    func picking(_ indices: [Int]) -> HTTP2Batch { requests(of: indices.map { places[$0] }) }

    private func requests(of places: [Place]) -> HTTP2Batch {
        var requests = HTTP2Batch(
            headers: batches[0].message.kindHeaders, varying: ["apns-id", "apns-expiration", "apns-collapse-id"],
            body: .own)
        let bytes = batches[0].message.payload.bytes.count + 4 * (batches[0].devices.first?.token.count ?? 0) + 128
        requests.reserve(requests: places.count, bytesPerRequest: bytes)
        for place in places {
            let message = batches[place.batch].message
            let device = batches[place.batch].devices[place.device]
            requests.append { fields in
                fields.write("/3/device/")
                fields.write(hex: device.token)
                fields.end()
                if let id = device.id { fields.write(uuid: id.high, id.low) }
                fields.end()
                if let expiration = message.expiration { fields.write("\(expiration)") }
                fields.end()
                if let collapseID = message.collapseID { fields.write(collapseID) }
                fields.end()
                fields.write(device.payload?.bytes ?? message.payload.bytes)
                fields.end()
            }
        }
        return requests
    }
}
