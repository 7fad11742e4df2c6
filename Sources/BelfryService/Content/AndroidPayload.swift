package import FoundationEssentials

/// The payload of a push for Android: a flat map of strings, whichever service carries it.
///
/// Source: PCF Push API, "Custom fields for Android pushes"; Firebase, "About FCM messages": 4,096 bytes, reserved keys.
package struct AndroidPayload: Sendable, Hashable {
    /// All values are strings.
    package let data: JSONObject
    /// A message that waits for its device is replaced by a later one with the same key.
    package let collapseKey: String?
    /// The bytes that the limit is for: all keys and values together, or the request that they make.
    package let dataBytes: Int
    /// The category in the sender's own part for the type.
    package let ownCategory: String?
    private let shown: Notice
    private let mayWait: Bool
    private let isSentHigh: Bool

    /// The notice that the system shows when the app does not.
    package struct Notice: Sendable, Hashable {
        package var title: String?
        package var body: String?
        package var image: String?
        package var sound: String?
        package var channel: String?
        package var category: String?
        package var link: String?
        /// Notifications with the same replace one another.
        package var collapseKey: String?
        /// The number on the app's icon.
        package var badge: BadgeChange?
    }

    /// The limit on all keys and values together.
    package static func bytesMax(for kind: PlatformKind) -> Int { kind.androidForm.bytesMax }

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
        let form = kind.androidForm
        let (field, members) = try content.androidMembers(of: form)
        let shared = content.shared
        var data = JSONObject(
            try Self.texts(shared.data, "message.data", in: form)
                + Self.texts(members.filter { $0.key != "collapse_key" }, field, in: form))
        shared.fill(&data)
        var shown = Notice(content, members)
        let ownKey = members.own("collapse_key") ?? shared.collapseKey
        collapseKey = content.follows?.key(on: kind) ?? ownKey
        if let followed = content.follows {
            shown.collapseKey = collapseKey
            if !followed.isRetraction { data[FollowedPush.replaceKey] = .string(followed.id(on: kind)) }
        }
        self.shown = shown
        mayWait = content.pacing.isPassive || content.pacing.isDeferrable
        if data.own("message") == nil, let body = content.body { data["message"] = .string(body) }
        if data[HeartbeatPush.sentAtKey] != nil {
            data[HeartbeatPush.sentToDeviceAtKey] = .string(String(sentAt.milliseconds))
        }
        data["receiptId"] = receiptID.map { .string($0.lowercased) }
        self.data = data
        ownCategory = members.own("category")
        isSentHigh = AndroidPart.isHigh(members["priority"])
        dataBytes =
            form.countedFrameBytes.map { $0 + Self.bytesAsString(data) }
            ?? data.texts.reduce(0) { $0 + $1.key.utf8.count + $1.text.utf8.count }
        guard dataBytes <= form.bytesMax else {
            throw .tooLarge("an \(kind.rawValue)", bytes: dataBytes, limit: form.bytesMax)
        }
        if let limit = form.collapseKeyLimit, let key = collapseKey, key.utf8.count > limit.bytes {
            throw InvalidInput(
                field: "\(field).collapse_key", "is \(key.utf8.count) bytes, \(limit.service) takes \(limit.bytes)")
        }
    }

    /// The data as a JSON object, written as a string.
    private static func bytesAsString(_ data: JSONObject) -> Int {
        let object = JSONValue.object(data).encoded
        return object.reduce(object.count) {
            $0 + ($1 == UInt8(ascii: "\"") || $1 == UInt8(ascii: "\\") ? 1 : 0)
        }
    }

    /// Whether there is nothing to show: data for the app alone.
    package var isSilent: Bool {
        shown.title == nil && shown.body == nil || !Self.silentKeys.isDisjoint(with: data.keys)
    }

    /// Whether it wakes a dozing device: pushes that show something, and data whose sender says `"priority": "high"`.
    package var isHighPriority: Bool { !mayWait && (!isSilent || isSentHigh) }

    /// The notice that the system itself shows, where the service can; nil for a silent push. Where it does not fit beside the data,
    /// which each service counts in its own way, the app shows it.
    package var notice: Notice? { isSilent ? nil : shown }

    /// The text of the notice.
    package var notificationText: String? { notice?.body }

    private static func texts(
        _ members: JSONObject, _ field: String, in form: AndroidForm
    ) throws(InvalidInput) -> [JSONObject.Member] {
        try members.texts.map { (key, text) throws(InvalidInput) in
            guard !isReserved(key, in: form) else {
                throw InvalidInput(field: "\(field).\(key)", "is reserved: the server or the provider writes it")
            }
            return (key, .string(text))
        }
    }

    private static func isReserved(_ key: String, in form: AndroidForm) -> Bool {
        key == "receiptId" || form.hasGoogleKeys && isOfGoogle(key)
    }

    /// Whether FCM refuses it as a key of data. Source: Firebase, REST reference, `data`.
    static func isOfGoogle(_ key: String) -> Bool {
        key == "from" || key == "message_type" || key.hasPrefix("google.") || key.hasPrefix("gcm.")
    }
}

extension AndroidPayload.Notice {
    /// Reads the notice: fields for the type go before fields for all. Where the sender wrote no field for all, the app reads all but
    /// the text, as PCF's does.
    fileprivate init(_ content: Push.Content, _ members: JSONObject) {
        body = members.own("message") ?? content.body
        badge = content.badge
        let shared = content.shared
        guard !shared.isEmpty else { return }
        defer { if content.pacing.isPassive { sound = nil } }
        title = members.own("title") ?? shared.title
        image = members.own("image") ?? shared.image
        sound = members.own("sound") ?? shared.sound
        channel = members.own("channel") ?? shared[.channel]
        category = members.own("category") ?? shared[.category]
        link = members.own("link") ?? shared.link
        collapseKey = members.own("collapse_key") ?? shared.collapseKey
    }
}

extension SharedFields {
    /// Adds the texts that the app gets under their own names, unless data of these names or the sender's part for the type have them.
    fileprivate func fill(_ data: inout JSONObject) {
        guard !isEmpty else { return }
        for name in Name.allCases where name != .collapseKey && data.own(name.rawValue) == nil {
            if let text = self[name] { data[name.rawValue] = .string(text) }
        }
    }
}

extension JSONObject {
    /// A member as a text; nil where it is missing, null or empty, as senders write that fill in every field.
    func own(_ name: String) -> String? { self[name].flatMap { $0.isNull || $0 == .string("") ? nil : $0.flat } }
}

extension Push.Content {
    /// The sender's part for the type, or else for Android; and its path.
    fileprivate func androidMembers(
        of form: AndroidForm
    ) throws(InvalidInput) -> (field: String, members: JSONObject) {
        for key in form.parts + ["android"] {
            guard let value = custom[key], !value.isNull else { continue }
            return ("message.custom.\(key)", try value.demandObject("message.custom.\(key)"))
        }
        return ("message.custom.android", [:])
    }
}
