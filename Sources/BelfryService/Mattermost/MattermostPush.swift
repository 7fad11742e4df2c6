/// A notification of a Mattermost server for one device.
///
/// Source: mattermost, `model/push_notification.go`; mattermost-push-proxy, `apple_notification_server.go` and `android_notification_server.go`, whose
/// payloads the apps expect.
struct MattermostPush: Sendable {
    private var texts: [String: String] = [:]
    private var badge: Int64?
    private var isThreaded = false
    private var isIDLoaded = false

    /// Source: mattermost-push-proxy, `server.go`.
    private static let messageBytesMax = 2_047
    private static let channelNameBytesMax = 64

    init(json bytes: [UInt8]) throws(InvalidInput) {
        try JSONReader.document(bytes) { reader, name throws(InvalidInput) in
            switch name {
            case "badge": badge = try reader.integer(name)
            case "is_crt_enabled": isThreaded = try reader.bool(name) ?? false
            case "is_id_loaded": isIDLoaded = try reader.bool(name) ?? false
            case let name where Self.names.contains(name):
                if let text = try reader.string(name), !text.isEmpty { texts[name] = text }
            default: try reader.skip()
            }
        }
        guard let server = texts["server_id"] else { throw InvalidInput(field: "server_id", "is missing") }
        guard texts["device_id"] != nil else {
            throw InvalidInput(field: "device_id", "is missing, server_id is \(server.prefix(64))")
        }
        texts["message"] = texts["message"]?.cut(toBytes: Self.messageBytesMax)
        texts["channel_name"] = texts["channel_name"]?.cut(toBytes: Self.channelNameBytesMax)
    }

    private static let names: Set = [
        "ack_id", "platform", "server_id", "device_id", "post_id", "category", "message", "team_id", "channel_id",
        "root_id", "channel_name", "type", "sub_type", "sender_id", "sender_name", "override_username",
        "override_icon_url", "from_webhook", "version", "signature",
    ]

    var deviceID: String { texts["device_id"] ?? "" }

    /// The platform for the app's name of it, such as `apple_rn-v2`. Its version says nothing here.
    func platform(among platforms: NamedPlatforms) throws(APIError) -> Platform? {
        let name = texts["platform"] ?? ""
        let base = name.firstRange(of: "-v").map { String(name[..<$0.lowerBound]) } ?? name
        for name in [name, base] { if let named = try platforms.named(name) { return named } }
        if base.hasPrefix("apple_voip") { return platforms.only(.apple(.voip)) }
        if base.hasPrefix("apple") { return platforms.only(.ios) }
        return base.hasPrefix("android") ? platforms.only(.androidFCM) : nil
    }

    private var type: String { texts["type"] ?? "" }
    /// Whether it shows a text: a message, or the end of a session.
    private var isShown: Bool { isIDLoaded || type == "message" || type == "session" }
    private var signature: JSONValue { .string(texts["signature"] ?? "NO_SIGNATURE") }

    func content(for kind: PlatformKind) -> Push.Content {
        var content: Push.Content
        if let use = kind.appleUse {
            let payload = use == .voip ? call : apple
            content = Push.Content(
                apple: ApplePush(verbatim: payload, for: use, isConsiderate: false, isStored: use != .voip))
        } else {
            content = Push.Content(
                shared: SharedFields(data: android), custom: ["android": .object(["priority": .string("high")])])
        }
        content.pacing = .exempt
        return content
    }

    /// The texts that are given, under their own names.
    private func given(_ names: String...) -> JSONObject {
        JSONObject(names.compactMap { name in texts[name].map { (name, .string($0)) } })
    }

    // MARK: Apple

    private var apple: JSONObject {
        var aps: JSONObject = [:]
        if let badge, badge >= 0 { aps["badge"] = .integer(badge) }
        if type == "clear" || type == "test" || isIDLoaded || type == "message" {
            aps["content-available"] = .integer(1)
        }
        var payload = given(
            "ack_id", "channel_id", "team_id", "sender_id", "sender_name", "post_id", "root_id", "override_username",
            "override_icon_url", "from_webhook")
        if isShown {
            aps["category"] = texts["category"].map(JSONValue.string)
            aps["sound"] = .string("default")
            aps["mutable-content"] = .integer(1)
            aps["alert"] = alert
            payload["version"] = texts["version"].map(JSONValue.string)
            if isIDLoaded {
                payload["id_loaded"] = .bool(true)
            } else {
                payload["channel_name"] = texts["channel_name"].map(JSONValue.string)
            }
        }
        if let channel = texts["channel_id"] {
            aps["thread-id"] = .string(isThreaded ? texts["root_id"] ?? channel : channel)
        }
        payload["type"] = .string(type)
        payload["sub_type"] = .string(texts["sub_type"] ?? "")
        payload["server_id"] = texts["server_id"].map(JSONValue.string)
        payload["is_crt_enabled"] = .bool(isThreaded)
        payload["signature"] = signature
        payload["aps"] = .object(aps)
        return payload
    }

    private var alert: JSONValue {
        let message = JSONValue.string(texts["message"] ?? "")
        if isIDLoaded { return .object(["body": message]) }
        guard texts["version"] == "v2", let channel = texts["channel_name"] else { return message }
        return .object(["title": .string(channel), "body": message])
    }

    /// A call, for a token of PushKit.
    private var call: JSONObject {
        var payload = given(
            "channel_id", "server_id", "post_id", "sender_id", "sender_name", "channel_name", "ack_id")
        payload["aps"] = .object(["content-available": .integer(1)])
        payload["type"] = .string(type)
        payload["sub_type"] = .string(texts["sub_type"] ?? "")
        payload["thread_id"] = .string(texts["root_id"] ?? "")
        payload["id_loaded"] = .bool(isIDLoaded)
        payload["signature"] = signature
        return payload
    }

    // MARK: Android

    /// All texts; some are there without a value too.
    private var android: JSONObject {
        func all(_ names: String...) -> [JSONObject.Member] { names.map { ($0, .string(texts[$0] ?? "")) } }
        var data = JSONObject(all("ack_id", "type", "sub_type", "version", "channel_id", "server_id", "category"))
        data["is_crt_enabled"] = .string(String(isThreaded))
        if let badge, badge >= 0 { data["badge"] = .string(String(badge)) }
        data["root_id"] = texts["root_id"].map(JSONValue.string)
        data["signature"] = signature
        guard isShown else { return data }
        var shown = JSONObject(all("team_id", "sender_id", "message", "post_id"))
        if isIDLoaded {
            shown["id_loaded"] = .string("true")
            shown["sender_name"] = .string("Someone")
        } else {
            shown = shown.merging(
                JSONObject(
                    all("sender_name", "channel_name", "override_username", "override_icon_url", "from_webhook"))
            ) { $1 }
        }
        return data.merging(shown) { $1 }
    }
}

/// A device's word that a notification has arrived, which the server passes on.
struct MattermostAcknowledgement: Sendable {
    /// Throws where a field is missing. Source: mattermost-push-proxy, `handleAckNotification`.
    init(json bytes: [UInt8]) throws(InvalidInput) {
        var given: Set<String> = []
        try JSONReader.document(bytes) { reader, name throws(InvalidInput) in
            guard Self.names.contains(name) else { return try reader.skip() }
            if try reader.string(name)?.isEmpty == false { given.insert(name) }
        }
        for name in Self.names where !given.contains(name) { throw InvalidInput(field: name, "is missing") }
    }

    private static let names = ["id", "platform", "type"]
}
