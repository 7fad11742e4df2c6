import FoundationEssentials
import Outbound

/// How a message goes to Apple devices whose app uses Firebase's SDK. FCM hands it to APNs with the key that the project has.
///
/// Source: Firebase, REST reference, the part for APNs; Apple, "Sending notification requests to APNs".
public struct FCMApple: Sendable, Hashable {
    public enum PushType: String, Sendable, Hashable {
        case alert, background
    }

    public var pushType: PushType?
    /// 10, 5 or 1.
    public var priority: Int?
    /// Seconds since 1970; 0 is now or never.
    public var expiration: Int64?
    /// 64 bytes at most.
    public var collapseID: String?
    /// A JSON object with `aps`, as APNs takes it.
    public var payload: [UInt8]
    /// A URL; the app shows the image by a service extension, for which `aps` has `mutable-content`.
    public var image: String?

    public static let collapseIDBytesMax = 64

    public init(
        payload: [UInt8], pushType: PushType? = nil, priority: Int? = nil, expiration: Int64? = nil,
        collapseID: String? = nil, image: String? = nil
    ) {
        self.payload = payload
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.image = image
    }

    func check() throws(FCMMessageError) {
        if let collapseID, collapseID.utf8.count > Self.collapseIDBytesMax {
            throw .fieldTooLong("apns-collapse-id", bytes: collapseID.utf8.count, max: Self.collapseIDBytesMax)
        }
        guard payload.count <= FCMMessage.bytesMax else {
            throw .fieldTooLong("apns.payload", bytes: payload.count, max: FCMMessage.bytesMax)
        }
    }

    /// The bytes that count against the limit.
    var bytes: Int { payload.count }

    var json: [UInt8] {
        let headers = [
            ("apns-collapse-id", collapseID), ("apns-expiration", expiration.map { "\($0)" }),
            ("apns-priority", priority.map { "\($0)" }), ("apns-push-type", pushType?.rawValue),
        ]
        return otherSystem(headers, options: ("image", image), body: ("payload", payload))
    }
}

/// How a message goes to browsers whose site uses Firebase's SDK.
///
/// Source: Firebase, REST reference, the part for Web Push; RFC 8030 §5.2 to §5.4 for the headers.
public struct FCMWeb: Sendable, Hashable {
    public enum Urgency: String, Sendable, Hashable {
        case veryLow = "very-low"
        case low, normal, high
    }

    /// Seconds; 0 is now or never.
    public var timeToLive: Int64?
    public var urgency: Urgency?
    /// A message that waits is replaced by a later one with the same topic: 32 characters of base64url at most.
    public var topic: String?
    /// A JSON object: the options of a web notification, with its `title`. nil for data alone.
    public var notification: [UInt8]?
    /// The page that a click opens.
    public var link: String?

    public static let topicBytesMax = 32

    public init(
        notification: [UInt8]? = nil, timeToLive: Int64? = nil, urgency: Urgency? = nil, topic: String? = nil,
        link: String? = nil
    ) {
        self.notification = notification
        self.timeToLive = timeToLive
        self.urgency = urgency
        self.topic = topic
        self.link = link
    }

    func check() throws(FCMMessageError) {
        if let timeToLive, !(0...FCMMessage.secondsMax ~= timeToLive) { throw .timeToLive(timeToLive) }
        if let topic, topic.utf8.count > Self.topicBytesMax {
            throw .fieldTooLong("webpush.headers.Topic", bytes: topic.utf8.count, max: Self.topicBytesMax)
        }
        if let link, URL(string: link)?.scheme?.lowercased() != "https" || URL(string: link)?.host() == nil {
            throw .link
        }
        guard bytes <= FCMMessage.bytesMax else {
            throw .fieldTooLong("webpush.notification", bytes: bytes, max: FCMMessage.bytesMax)
        }
    }

    /// The bytes that count against the limit.
    var bytes: Int { notification?.count ?? 0 }

    var json: [UInt8] {
        let headers = [("TTL", timeToLive.map { "\($0)" }), ("Topic", topic), ("Urgency", urgency?.rawValue)]
        return otherSystem(headers, options: ("link", link), body: ("notification", notification))
    }
}

/// The part of a message for one system: its headers, an option of FCM and what is JSON already.
private func otherSystem(
    _ headers: [(key: String, text: String?)], options: (key: String, text: String?),
    body: (key: String, json: [UInt8]?)
) -> [UInt8] {
    func object(_ members: [(key: String, text: String?)]) -> [UInt8]? {
        let set = members.compactMap { key, text in text.map { (key: key, text: $0) } }
        return set.isEmpty ? nil : JSONText.object(set)
    }
    let members = [("fcm_options", object([options])), ("headers", object(headers)), (body.key, body.json)]
    return JSONText.object(
        of: members.compactMap { key, json in json.map { JSONText.quoted(key) + [UInt8(ascii: ":")] + $0 } })
}
