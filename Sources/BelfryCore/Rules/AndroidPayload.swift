package import FoundationEssentials

/// The payload of a push for Android: a flat map of strings, whichever service carries it.
///
/// Source: PCF Push API, "Custom fields for Android pushes"; Firebase, "About FCM messages": 4,096 bytes, reserved keys.
package struct AndroidPayload: Sendable, Hashable {
    package let data: [String: String]
    /// A message that waits for its device is replaced by a later one with the same key.
    package let collapseKey: String?
    /// All keys and values together.
    package let dataBytes: Int

    /// The limit on all keys and values together.
    package static func bytesMax(for kind: PlatformKind) -> Int { kind == .amazon ? 6_144 : 4_096 }
    /// Of a waiting message's key. Source: Amazon, `consolidationKey`.
    private static let amazonKeyBytesMax = 64
    /// What FCM counts of a notification besides its text: the keys `body` and `tag`, and the tag, which is the push's UUID.
    private static let notificationBytes = 4 + 3 + 36
    /// What stands around the data in a request of Push Kit, which counts it, at its longest: all but the tokens.
    private static let huaweiFrameBytes = 120

    /// Messages for the SDK and not for its user. Source: PCF Push client SDKs, which ignore these keys when there is a
    /// text for the user.
    private static let silentKeys: Set = [
        HeartbeatPush.sentAtKey, "pivotal.push.geofence_update_available", "pivotal.push.geofence_update_json",
    ]

    /// - Parameters:
    ///   - receiptID: nil leaves it out; client SDKs look for it.
    ///   - sentAt: when the message leaves, for devices that measure latency by heartbeats.
    /// - Throws: `InvalidInput` when a key is reserved, or the whole exceeds 4,096 bytes.
    package init(
        _ content: Push.Content, kind: PlatformKind, receiptID: UUID?, sentAt: Instant
    ) throws(InvalidInput) {
        let (field, members) = try content.androidMembers(of: kind)
        var data: [String: String] = [:]
        for (key, value) in members where key != "collapse_key" && !value.isNull {
            guard !Self.isReserved(key, on: kind) else {
                throw InvalidInput(field: "\(field).\(key)", "is reserved: the server or the provider writes it")
            }
            data[key] = value.flat
        }
        if data["message"] == nil { data["message"] = content.body }
        if data[HeartbeatPush.sentAtKey] != nil { data[HeartbeatPush.sentToDeviceAtKey] = String(sentAt.milliseconds) }
        data["receiptId"] = receiptID?.lowercased
        self.data = data
        collapseKey = members["collapse_key"].flatMap { $0.isNull ? nil : $0.flat }
        dataBytes = data.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        let limit = Self.bytesMax(for: kind)
        let bytes = kind == .huawei ? Self.huaweiBytes(of: data) : dataBytes
        guard bytes <= limit else {
            throw InvalidInput(
                field: "message", "makes an \(kind.rawValue) payload of \(bytes) bytes, the limit is \(limit)")
        }
        if kind == .amazon, let key = collapseKey, key.utf8.count > Self.amazonKeyBytesMax {
            throw InvalidInput(
                field: "\(field).collapse_key",
                "is \(key.utf8.count) bytes, ADM takes \(Self.amazonKeyBytesMax)")
        }
    }

    /// Push Kit counts the request, in which the data are an object in JSON, written as a string.
    private static func huaweiBytes(of data: [String: String]) -> Int {
        let object = JSONValue.object(data.mapValues { .string($0) }).encoded
        return object.reduce(object.count + huaweiFrameBytes) {
            $0 + ($1 == UInt8(ascii: "\"") || $1 == UInt8(ascii: "\\") ? 1 : 0)
        }
    }

    /// Whether there is nothing to show: data for the app alone.
    package var isSilent: Bool { data["message"] == nil || !Self.silentKeys.isDisjoint(with: data.keys) }

    /// Whether it is for a device that dozes too: what is shown, and data whose sender says `"priority": "high"`.
    package var isHighPriority: Bool { !isSilent || data["priority"] == "high" }

    /// The text that the system itself shows, where the service can; nil for a silent push, and where it would not fit
    /// beside the data, which the app then shows.
    package var notificationText: String? {
        guard !isSilent, let message = data["message"] else { return nil }
        let bytes = dataBytes + Self.notificationBytes + message.utf8.count
        return bytes <= Self.bytesMax(for: .androidFCM) ? message : nil
    }

    private static func isReserved(_ key: String, on kind: PlatformKind) -> Bool {
        if key == "receiptId" { return true }
        guard kind == .android || kind == .androidFCM else { return false }
        return key == "from" || key == "message_type" || key.hasPrefix("google.") || key.hasPrefix("gcm.")
    }
}

extension Push.Content {
    /// The sender's part for the type, or else for Android; and its path.
    fileprivate func androidMembers(
        of kind: PlatformKind
    ) throws(InvalidInput) -> (field: String, members: [String: JSONValue]) {
        let own =
            switch kind {
            case .androidFCM: ["android-fcm", "androidFcm"]
            case .androidBaidu, .huawei, .amazon: [kind.rawValue]
            default: [String]()
            }
        for key in own + ["android"] {
            guard let value = custom[key], !value.isNull else { continue }
            guard case .object(let members) = value else {
                throw InvalidInput(field: "message.custom.\(key)", "has to be an object, it is \(value.typeName)")
            }
            return ("message.custom.\(key)", members)
        }
        return ("message.custom.android", [:])
    }
}
