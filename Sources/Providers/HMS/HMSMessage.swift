import FoundationEssentials
import Outbound

/// The part of a message that is the same for all devices, encoded once.
///
/// Source: Huawei, Push Kit, "Downlink Message Sending"; Push Kit for HarmonyOS, "Scenario-based messages", v3.
public struct HMSMessage: Sendable, Hashable {
    /// The bytes before and after the tokens.
    private let head: [UInt8]
    private let tail: [UInt8]
    /// The header of v3; nil for v1 and v2.
    let pushType: Int?

    /// The limit on a request without its tokens.
    public static let bytesMax = 4_096
    /// 15 days. Source: as above, `ttl`.
    public static let secondsMax: Int64 = 1_296_000
    public static let collapseKeys: ClosedRange<Int> = -1...100

    /// Data for the app, by v1 and v2.
    ///
    /// - Parameters:
    ///   - data: the text the app gets, by custom JSON.
    ///   - shown: what the system shows; the app has the data once its user opens it.
    ///   - timeToLive: seconds; nil leaves it at a day.
    ///   - collapseKey: -1 keeps all that wait for a device, any other the last with the same key.
    ///   - isValidatedOnly: the message is checked and not delivered.
    public init(
        data: String, shown: HMSAndroidNotification? = nil, timeToLive: Int64? = nil, collapseKey: Int? = nil,
        isHighPriority: Bool = false, isValidatedOnly: Bool = false
    ) throws(HMSMessageError) {
        if let collapseKey, !Self.collapseKeys.contains(collapseKey) { throw .collapseKey(collapseKey) }
        let android = Android(
            collapse_key: collapseKey, notification: shown, ttl: timeToLive.map { "\($0)s" },
            urgency: isHighPriority ? "HIGH" : nil)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let message = try? encoder.encode(Message(android: android, data: data)) else { throw .unwritable }
        try self.init(
            before: #"{"validate_only":\#(isValidatedOnly),"message":"#, Array(message),
            between: ",", after: "}}", pushType: nil, timeToLive: timeToLive)
    }

    /// Data for the app without a notification to its user, by v3.
    public init(background data: String, timeToLive: Int64? = nil) throws(HMSMessageError) {
        try self.init(payload: JSONText.member("extraData", JSONText.quoted(data)), pushType: 6, timeToLive: timeToLive)
    }

    /// A notification that the system shows, by v3.
    public init(notification: HMSNotification, timeToLive: Int64? = nil) throws(HMSMessageError) {
        try self.init(
            payload: JSONText.member("notification", notification.json), pushType: 0, timeToLive: timeToLive)
    }

    func body(for tokens: some Collection<[UInt8]>) -> [UInt8] { head + JSONText.array(tokens) + tail }

    private init(payload member: [UInt8], pushType: Int, timeToLive: Int64?) throws(HMSMessageError) {
        let options = timeToLive.map { #""pushOptions":{"ttl":\#($0)},"# } ?? ""
        try self.init(
            before: #"{"payload":"#, JSONText.object(of: [member]), between: #"},\#(options)"target":{"#, after: "}}",
            pushType: pushType,
            timeToLive: timeToLive)
    }

    /// - Parameters:
    ///   - part: an object, which is left open behind its last member.
    private init(
        before: String, _ part: [UInt8], between: String, after: String, pushType: Int?, timeToLive: Int64?
    ) throws(HMSMessageError) {
        if let timeToLive, !(1...Self.secondsMax ~= timeToLive) { throw .timeToLive(timeToLive) }
        head = Array(before.utf8) + part.dropLast() + Array("\(between)\"token\":".utf8)
        tail = Array(after.utf8)
        self.pushType = pushType
        guard head.count + tail.count <= Self.bytesMax else { throw .tooLarge(bytes: head.count + tail.count) }
    }

    private struct Message: Encodable {
        let android: Android
        let data: String
    }

    private struct Android: Encodable {
        let collapse_key: Int?
        let notification: HMSAndroidNotification?
        let ttl: String?
        let urgency: String?
    }
}

/// The notification that HarmonyOS shows. A tap opens the app and passes it the data.
public struct HMSNotification: Sendable, Hashable {
    /// An object of JSON.
    fileprivate let json: [UInt8]

    /// The number on the app's icon, 99 at most. Source: Push Kit for HarmonyOS, "Notification badge".
    public enum Badge: Sendable, Hashable {
        case set(Int)
        case add(Int)

        fileprivate var json: String {
            switch self {
            case .set(let number): #"{"setNum":\#(number)}"#
            case .add(let number): #"{"addNum":\#(number)}"#
            }
        }
    }

    /// The one category that needs no permission of Huawei's.
    public static let standardCategory = "MARKETING"

    /// - Parameters:
    ///   - category: the kind of notification, by which Huawei shows and limits it.
    ///   - image: an https URL.
    public init(
        title: String, body: String, category: String = standardCategory, image: String? = nil, badge: Badge? = nil,
        data: [String: String] = [:]
    ) {
        self.init(
            title: title, body: body, category: category, image: image, badge: badge,
            data: data.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    /// Creates a notification from data in a given order. Keys may look the same and differ in their bytes.
    package init(
        title: String, body: String, category: String, image: String?, badge: Badge?,
        data: [(key: String, text: String)]
    ) {
        var members: [[UInt8]] = []
        if let badge { members.append(JSONText.member("badge", badge.json.utf8)) }
        members.append(JSONText.member("body", JSONText.quoted(body)))
        members.append(JSONText.member("category", JSONText.quoted(category)))
        let action = [JSONText.member("actionType", "0".utf8), JSONText.member("data", JSONText.object(data))]
        members.append(JSONText.member("clickAction", JSONText.object(of: action)))
        if let image { members.append(JSONText.member("image", JSONText.quoted(image))) }
        members.append(JSONText.member("title", JSONText.quoted(title)))
        json = JSONText.object(of: members)
    }
}

/// The notification that Android with Huawei's services shows. Source: Huawei, Push Kit, "Downlink Message Sending", Android notifications.
public struct HMSAndroidNotification: Sendable, Hashable, Encodable {
    private let title: String
    private let body: String
    private let image: String?
    private let sound: String?
    private let default_sound: Bool?
    private let tag: String?
    private let channel_id: String?
    private let click_action: ClickAction

    /// The target of a tap: a page in the browser, or the app.
    private struct ClickAction: Sendable, Hashable, Encodable {
        let type: Int
        let url: String?
    }

    /// - Parameters:
    ///   - image: an https URL.
    ///   - sound: `default`, or the name of a sound of the app, without its ending.
    ///   - tag: a notification with the same is replaced.
    ///   - page: an https URL that a tap opens in place of the app.
    public init(
        title: String, body: String, image: String? = nil, sound: String? = nil, tag: String? = nil,
        channelID: String? = nil, page: String? = nil
    ) {
        self.title = title
        self.body = body
        self.image = image
        default_sound = sound == "default" ? true : nil
        self.sound = sound.flatMap { $0 == "default" ? nil : $0.hasPrefix("/") ? $0 : "/raw/\($0)" }
        self.tag = tag
        channel_id = channelID
        click_action = page.map { ClickAction(type: 2, url: $0) } ?? ClickAction(type: 3, url: nil)
    }
}

/// Why something cannot be sent, detected beforehand.
public enum HMSMessageError: Error, Sendable, Hashable, CustomStringConvertible {
    case timeToLive(Int64)
    case collapseKey(Int)
    case tooLarge(bytes: Int)
    case unwritable

    public var description: String {
        switch self {
        case .timeToLive(let seconds): "ttl is \(seconds) s, Push Kit takes 1 to \(HMSMessage.secondsMax)"
        case .collapseKey(let key): "collapse_key is \(key), Push Kit takes -1 to 100"
        case .tooLarge(let bytes): "message is \(bytes) bytes, Push Kit takes \(HMSMessage.bytesMax)"
        case .unwritable: "message cannot be written as JSON"
        }
    }
}
