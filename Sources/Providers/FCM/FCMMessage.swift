import FoundationEssentials
import HTTP2Client
import Outbound

/// The part of a message that is the same for all devices, encoded once. A value has been validated against FCM's
/// formal rules.
///
/// Source: Firebase, REST reference, `projects.messages`; "About FCM messages" for sizes and reserved keys.
public struct FCMMessage: Sendable, Hashable {
    /// The JSON after the token.
    package let tail: [UInt8]
    /// All keys and values that a device gets, of the data and of the notification.
    package let dataBytes: Int

    /// The limit on all keys and values that a device gets.
    public static let bytesMax = 4_096
    /// The limit where a message goes to a topic or condition.
    public static let audienceBytesMax = 2_048
    /// Four weeks, the longest that FCM stores a message, and its default without a ttl.
    public static let secondsMax: Int64 = 2_419_200

    /// - Parameters:
    ///   - data: the data for the app. The names `from`, `message_type` and those that begin with `google` or `gcm` belong
    ///     to Google.
    ///   - isValidatedOnly: FCM validates the message and does not deliver it.
    public init(
        notification: FCMNotification? = nil, data: [String: String] = [:], android: FCMAndroid = FCMAndroid(),
        apple: FCMApple? = nil, web: FCMWeb? = nil, isValidatedOnly: Bool = false
    ) throws(FCMMessageError) {
        try self.init(
            notification: notification, data: data.sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
            android: android, apple: apple, web: web, isValidatedOnly: isValidatedOnly)
    }

    /// Creates a message from data in a given order. Keys may look the same and differ in their bytes.
    package init(
        notification: FCMNotification? = nil, data: [(key: String, text: String)], android: FCMAndroid,
        apple: FCMApple? = nil, web: FCMWeb? = nil, isValidatedOnly: Bool = false
    ) throws(FCMMessageError) {
        for (key, _) in data where Self.isReserved(key) { throw .reservedKey(key) }
        if let seconds = android.timeToLive, !(0...Self.secondsMax ~= seconds) { throw .timeToLive(seconds) }
        try apple?.check()
        try web?.check()
        let shown =
            (notification?.bytes ?? 0) + android.notificationBytes + (apple?.bytes ?? 0) + (web?.bytes ?? 0)
        let bytes = data.reduce(shown) { $0 + $1.key.utf8.count + $1.text.utf8.count }
        guard bytes <= Self.bytesMax else { throw .tooLarge(bytes: bytes) }
        dataBytes = bytes
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var tail: [UInt8] = []
        do {
            if !android.isEmpty { tail += Array(#","android":"#.utf8) + (try encoder.encode(android)) }
            if let apple { tail += Array(#","apns":"#.utf8) + apple.json }
            if !data.isEmpty { tail += Array(#","data":"#.utf8) + JSONText.object(data) }
            if let notification { tail += Array(#","notification":"#.utf8) + (try encoder.encode(notification)) }
            if let web { tail += Array(#","webpush":"#.utf8) + web.json }
        } catch { throw .unwritable }
        self.tail = tail + Array((isValidatedOnly ? #"},"validate_only":true}"# : "}}").utf8)
    }

    private static func isReserved(_ key: String) -> Bool {
        key == "from" || key == "message_type" || key.hasPrefix("google.") || key.hasPrefix("gcm.")
    }
}

/// The notification that the system shows when the app does not.
public struct FCMNotification: Sendable, Hashable, Encodable {
    public var title: String?
    public var body: String?
    /// A URL.
    public var image: String?

    public init(title: String? = nil, body: String? = nil, image: String? = nil) {
        self.title = title
        self.body = body
        self.image = image
    }

    /// Keys and values, all of which count against the limit.
    var bytes: Int { countedBytes([("title", title), ("body", body), ("image", image)]) }
}

/// How a message goes to Android devices.
public struct FCMAndroid: Sendable, Hashable {
    public enum Priority: String, Sendable, Hashable, Encodable {
        case normal = "NORMAL"
        case high = "HIGH"
    }

    /// A message that waits for its device is replaced by a later one with the same key; a device has four keys at
    /// most.
    public var collapseKey: String?
    public var priority: Priority?
    /// Seconds; 0 is now or never, nil leaves it at four weeks.
    public var timeToLive: Int64?
    /// The package the token has to belong to.
    public var restrictedPackageName: String?
    /// A notification with the same tag replaces this one on the device.
    public var tag: String?
    public var channelID: String?
    /// `default`, or the name of a resource of the app; on Android 8 and later the channel has the sound.
    public var sound: String?
    /// The action of the activity that a tap opens; the app's first one without it, and nothing where the app has none for it.
    public var clickAction: String?
    /// How many items the notification stands for, which launchers show on the app's icon.
    public var notificationCount: Int?
    /// The placeholder for the count of each device.
    package var countMark: String?

    public init(
        collapseKey: String? = nil, priority: Priority? = nil, timeToLive: Int64? = nil,
        restrictedPackageName: String? = nil, tag: String? = nil, channelID: String? = nil, sound: String? = nil,
        clickAction: String? = nil, notificationCount: Int? = nil
    ) {
        self.collapseKey = collapseKey
        self.priority = priority
        self.timeToLive = timeToLive
        self.restrictedPackageName = restrictedPackageName
        self.tag = tag
        self.channelID = channelID
        self.sound = sound
        self.clickAction = clickAction
        self.notificationCount = notificationCount
    }

    var isEmpty: Bool { self == FCMAndroid() }

    /// The bytes that go into the notification; the rest does not count against the limit.
    var notificationBytes: Int {
        let texts = [("tag", tag), ("channel_id", channelID), ("sound", sound), ("click_action", clickAction)]
        let hasCount = notificationCount != nil || countMark != nil
        return countedBytes(texts) + (hasCount ? Self.countBytes : 0) + (countMark?.utf8.count ?? 0)
    }

    /// `notification_count`, and a number of any length.
    private static let countBytes = 18 + 10
}

/// The bytes of the keys and values that are there.
private func countedBytes(_ members: [(key: String, value: String?)]) -> Int {
    members.reduce(0) { sum, member in sum + (member.value.map { $0.utf8.count + member.key.utf8.count } ?? 0) }
}

extension FCMAndroid: Encodable {
    private enum Key: String, CodingKey {
        case collapseKey = "collapse_key"
        case priority
        case ttl
        case restrictedPackageName = "restricted_package_name"
        case notification
    }

    private struct Notification: Encodable {
        let tag: String?
        let channel_id: String?
        let sound: String?
        let click_action: String?
        let notification_count: Count?
    }

    private enum Count: Encodable {
        case number(Int)
        case mark(String)

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .number(let number): try container.encode(number)
            case .mark(let mark): try container.encode(mark)
            }
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(collapseKey, forKey: .collapseKey)
        try container.encodeIfPresent(priority, forKey: .priority)
        try container.encodeIfPresent(timeToLive.map { "\($0)s" }, forKey: .ttl)
        try container.encodeIfPresent(restrictedPackageName, forKey: .restrictedPackageName)
        let count = countMark.map { .mark($0) } ?? notificationCount.map { Count.number($0) }
        if tag != nil || channelID != nil || sound != nil || clickAction != nil || count != nil {
            let notification = Notification(
                tag: tag, channel_id: channelID, sound: sound, click_action: clickAction, notification_count: count)
            try container.encode(notification, forKey: .notification)
        }
    }
}

/// Why something cannot be sent, detected beforehand.
public enum FCMMessageError: Error, Sendable, Hashable, CustomStringConvertible {
    case reservedKey(String)
    case timeToLive(Int64)
    case tooLarge(bytes: Int)
    case fieldTooLong(String, bytes: Int, max: Int)
    case link
    case unwritable

    public var description: String {
        switch self {
        case .reservedKey(let key): "data key \(key) belongs to Google"
        case .timeToLive(let seconds): "ttl is \(seconds) s, FCM takes 0 to \(FCMMessage.secondsMax)"
        case .tooLarge(let bytes): "message is \(bytes) bytes, FCM takes \(FCMMessage.bytesMax)"
        case .fieldTooLong(let field, let bytes, let max): "\(field) is \(bytes) bytes, FCM takes \(max)"
        case .link: "webpush.fcm_options.link has to be an https URL"
        case .unwritable: "message cannot be written as JSON"
        }
    }
}

/// One message and the devices it goes to.
public struct FCMBatch: Sendable {
    public let message: FCMMessage
    /// Registration tokens or Firebase Installation IDs, as the apps gave them.
    public let tokens: [[UInt8]]
    /// The JSON after each token, where it differs by device.
    let tails: [[UInt8]]?
    /// Where it goes to audiences, the JSON before each token.
    private(set) var heads: [[UInt8]]?

    /// A message to the subscribers of topics. Source: Firebase, "Topic messaging", for the smaller limit.
    public init(message: FCMMessage, audiences: [FCMAudience]) throws(FCMMessageError) {
        guard message.dataBytes <= FCMMessage.audienceBytesMax else {
            throw .fieldTooLong("message to a topic", bytes: message.dataBytes, max: FCMMessage.audienceBytesMax)
        }
        let members = audiences.map(\.member)
        self.init(message: message, tokens: members.map(\.value), tails: nil)
        heads = members.map(\.head)
    }

    public init(message: FCMMessage, tokens: [[UInt8]]) {
        self.init(message: message, tokens: tokens, tails: nil)
    }

    /// - Parameter tails: one for each token, in the form of the message's own.
    package init(message: FCMMessage, tokens: [[UInt8]], tails: [[UInt8]]?) {
        self.message = message
        self.tokens = tokens
        self.tails = tails
    }
}

extension [UInt8] {
    /// Whether this is a Firebase Installation ID: 17 bytes in base64url, the first of which begins with the bits 0111.
    /// Tokens are longer.
    ///
    /// Source: the random FID generators of the Firebase Installations SDKs; firebase-admin-go#765 for `message.fid`.
    var isFCMInstallationID: Bool {
        guard count == 22, let first, UInt8(ascii: "c")...UInt8(ascii: "f") ~= first else { return false }
        return allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }
}

/// Batches of different messages as the requests of one HTTP/2 batch.
struct FCMBurst {
    private let messages: [FCMMessage]
    private let requests: [Request]

    private struct Request {
        let message: Int
        let token: [UInt8]
        /// nil for that of a device.
        let head: [UInt8]?
        /// nil for that of the message.
        let tail: [UInt8]?
    }
}

extension FCMBurst {
    init(_ batches: [FCMBatch]) {
        messages = batches.map(\.message)
        requests = batches.enumerated().flatMap { message, batch in
            batch.tokens.enumerated().map {
                Request(message: message, token: $1, head: batch.heads?[$0], tail: batch.tails?[$0])
            }
        }
    }

    var count: Int { requests.count }

    /// Makes requests that share all but their bodies.
    func requests(project: String) -> HTTP2Batch {
        var batch = HTTP2Batch(headers: [HTTP2Header("content-type", "application/json")], body: .own)
        let path = "/v1/projects/\(project)/messages:send"
        if let first = requests.first {
            let message = messages[first.message]
            let bodyBytes = Self.tokenHead.count + first.token.count + 2 + message.tail.count
            batch.reserve(requests: requests.count, bytesPerRequest: path.utf8.count + bodyBytes)
        }
        for request in requests {
            batch.append { fields in
                fields.write(path)
                fields.end()
                let isInstallation = request.head == nil && request.token.isFCMInstallationID
                fields.write(request.head ?? (isInstallation ? Self.installationHead : Self.tokenHead))
                fields.write(JSONText.quoted(request.token))
                fields.write(request.tail ?? messages[request.message].tail)
                fields.end()
            }
        }
        return batch
    }

    /// The JSON before an address of either kind.
    private static let tokenHead = Array(#"{"message":{"token":"#.utf8)
    private static let installationHead = Array(#"{"message":{"fid":"#.utf8)

    /// The requests at these places, to be sent again.
    func picking(_ indices: [Int]) -> FCMBurst {
        FCMBurst(messages: messages, requests: indices.map { requests[$0] })
    }
}
