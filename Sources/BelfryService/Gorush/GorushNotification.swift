import FoundationEssentials

/// A notification of a request to gorush's API: one content for many tokens.
///
/// Source: appleboy/gorush, `notify/notification.go`, `notification_apns.go` and `notification_fcm.go`; fields that only Firebase's SDK knows are
/// ignored, as docs/Gateways.md lists.
struct GorushNotification: Sendable {
    private let fields: JSONObject
    let tokens: [String]
    let device: Device

    /// The numbers of platforms. Source: gorush, `core.go`.
    enum Device: Int64, Sendable {
        case ios = 1
        case android, huawei

        var name: String { "\(self)" }
    }

    /// Source: gorush, `core.max_notification`.
    static let countMax = 100
    /// The limit on the tokens of a notification. Source: gorush, CheckMessage, for those of Firebase.
    static let tokensMax = Batch.devicesMax
    /// The limit on the tokens of a request, which is ours.
    static let allTokensMax = 1_000
    static let bytesMax = 1 << 20

    /// The notifications of a request. Throws the words of the original where there is none.
    static func list(json bytes: [UInt8]) throws(InvalidInput) -> [GorushNotification] {
        var all: [GorushNotification]?
        var tokens = 0
        try JSONReader.document(bytes) { reader, name throws(InvalidInput) in
            guard name == "notifications" else { return try reader.skip() }
            var found: [GorushNotification] = []
            try reader.array(name) { reader, index throws(InvalidInput) in
                guard index < countMax else {
                    throw InvalidInput(field: name, "has more than \(countMax) notifications, which is the limit")
                }
                let notification = try GorushNotification(
                    reader.value(name, bytesMax: PushLimits.contentWrittenBytesMax + tokensMax * 1_024),
                    "\(name)[\(index)]")
                tokens += notification.tokens.count
                guard tokens <= allTokensMax else {
                    throw InvalidInput(
                        field: name, "have more than \(allTokensMax) tokens, which is the limit of a request")
                }
                found.append(notification)
            }
            all = found
        }
        guard let all else { throw InvalidInput(field: "notifications", "is missing") }
        guard !all.isEmpty else { throw InvalidInput(field: "notifications", "is empty") }
        return all
    }

    private init(_ value: JSONValue, _ field: String) throws(InvalidInput) {
        fields = try value.demandObject(field)
        guard let device = fields["platform"]?.wholeNumber.flatMap(Device.init) else {
            throw InvalidInput(field: "\(field).platform", "has to be 1 (iOS), 2 (Android) or 3 (Huawei)")
        }
        self.device = device
        var tokens: [String] = []
        if let given = fields["tokens"], !given.isNull { tokens = try given.strings("\(field).tokens") }
        if let to = fields["to"]?.stringValue, !to.isEmpty, !to.hasPrefix("/topics/") { tokens.append(to) }
        guard tokens.count <= Self.tokensMax else {
            throw InvalidInput(
                field: "\(field).tokens", "has \(tokens.count) tokens, the limit is \(Self.tokensMax)")
        }
        self.tokens = tokens
    }

    var id: String? { text("notif_id") }
    var message: String { text("message") ?? "" }
    /// Whether nothing is to be sent.
    var isTrial: Bool { isSet("dry_run") }

    /// The topic or condition of Firebase's that it is for beside its tokens.
    var firebaseTopic: String? { device == .android ? topic : nil }
    /// Whether it is for a topic of Huawei's, whose subscribers nobody here knows.
    var isForHuaweiTopic: Bool { device == .huawei && topic != nil }

    private var topic: String? {
        if let condition = text("condition") { return condition }
        if let to = text("to"), to.hasPrefix("/topics/") { return to }
        return text("topic").map { $0.hasPrefix("/topics/") ? $0 : "/topics/\($0)" }
    }

    private func text(_ name: String) -> String? { fields[name]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } }
    private func isSet(_ name: String) -> Bool { fields[name] == .bool(true) }

    /// The platform: by the topic of the app, or the only one of its type, where need be of the mode that the sender names.
    func platform(among platforms: NamedPlatforms) throws(APIError) -> Platform? {
        if let topic = text("topic") ?? text("app_id"), let named = try platforms.named(topic) { return named }
        if device == .ios {
            let mode: Platform.Mode? = isSet("production") ? .production : isSet("development") ? .development : nil
            return platforms.only(text("push_type") == "voip" ? .apple(.voip) : .ios, mode)
        }
        return platforms.only(device == .huawei ? .huawei : .androidFCM)
    }

    private func expiry(at now: Instant) throws(InvalidInput) -> GatewayExpiry {
        if device == .ios {
            let seconds = fields["expiration"]?.wholeNumber
            guard seconds ?? 0 <= Int64(UInt32.max) else {
                throw InvalidInput(field: "expiration", "is no time in seconds")
            }
            return GatewayExpiry(seconds: seconds.map { max(0, $0) }, at: now)
        }
        var expiry = GatewayExpiry(seconds: nil, at: now)
        let text = text("huawei_ttl") ?? fields["android"]?["ttl"]?.stringValue
        let seconds =
            fields["time_to_live"]?.wholeNumber ?? text.flatMap { $0.last == "s" ? Int64($0.dropLast()) : nil }
        guard let seconds else { return expiry }
        // Source: Firebase, "Setting the lifespan of a message".
        guard 0...2_419_200 ~= seconds else {
            throw InvalidInput(field: "time_to_live", "is \(seconds) s, it has to be 0 to 2419200 (4 weeks)")
        }
        expiry.time = now + .seconds(seconds > 0 ? seconds : EndpointMessage.nowSeconds)
        return expiry
    }

    /// The message for a platform of a type.
    func message(for kind: PlatformKind, at now: Instant) throws(InvalidInput) -> TokenGateway.Message {
        let expiry = try expiry(at: now)
        var content: Push.Content
        if let use = kind.appleUse {
            content = Push.Content(apple: try apple(for: use, isStored: expiry.isStored))
        } else {
            content = try other()
        }
        content.pacing = .exempt
        content.pacing.isDeferrable = priority == "normal"
        return TokenGateway.Message(content: content, expiresAt: expiry.time)
    }

    private var priority: String? {
        (text("priority") ?? fields["android"]?["priority"]?.stringValue)?.lowercased()
    }

    // MARK: Apple

    private func apple(for use: AppleTokenUse, isStored: Bool) throws(InvalidInput) -> ApplePush {
        var kind: ApplePush.Kind?
        if let text = text("push_type") {
            guard let known = ApplePush.Kind(rawValue: text) else {
                throw .choice("push_type", text, of: ApplePush.Kind.allCases.map(\.rawValue))
            }
            kind = known
        }
        if let id = text("collapse_id"), id.utf8.count > ApplePush.collapseIDBytesMax {
            throw InvalidInput(
                field: "collapse_id", "is \(id.utf8.count) bytes, APNs takes \(ApplePush.collapseIDBytesMax)")
        }
        if let id = text("collapse_id"), !ApplePush.isPlain(id) {
            throw InvalidInput(field: "collapse_id", ApplePush.notPlain)
        }
        var payload = data.filter { $0.key != "aps" }
        payload["aps"] = .object(aps)
        let priority: ApplePush.Priority? =
            switch text("priority") {
            case "normal": .considerate
            case "high": .immediate
            default: nil
            }
        let push = ApplePush(
            verbatim: payload, for: use, kind: kind, priority: priority, collapseID: text("collapse_id"),
            isStored: isStored)
        guard push.tokenUses.contains(use) else {
            throw InvalidInput(
                field: "push_type", "is \(push.type.rawValue), which the tokens of the platform do not take")
        }
        guard priority.map({ push.type.priorities.contains($0) }) ?? true else {
            throw InvalidInput(
                field: "priority", "is \(text("priority") ?? ""), which APNs does not take for \(push.type.rawValue)")
        }
        return push
    }

    /// The app's own members.
    private var data: JSONObject {
        if case .object(let members)? = fields["data"] { members } else { [:] }
    }

    private var aps: JSONObject {
        var aps: JSONObject = [:]
        aps["alert"] = alert
        aps["badge"] = fields["badge"]?.wholeNumber.flatMap { $0 >= 0 ? .integer($0) : nil }
        aps["sound"] = sound
        for (key, name) in [
            ("category", "category"), ("thread-id", "thread-id"), ("interruption-level", "interruption_level"),
        ] {
            aps[key] = text(name).map(JSONValue.string)
        }
        if case .array(let arguments)? = fields["url-args"], !arguments.isEmpty { aps["url-args"] = .array(arguments) }
        if isSet("mutable_content") { aps["mutable-content"] = .integer(1) }
        if isSet("content_available") { aps["content-available"] = .integer(1) }
        return aps
    }

    private static let alertNames = [
        "title", "subtitle", "body", "title-loc-key", "title-loc-args", "loc-key", "loc-args", "launch-image", "action",
        "action-loc-key", "summary-arg", "summary-arg-count",
    ]

    private var alert: JSONValue? {
        var members: JSONObject = [:]
        if let title = text("title") {
            members["title"] = .string(title)
            members["body"] = text("message").map(JSONValue.string)
        }
        for name in Self.alertNames {
            guard let value = fields["alert"]?[name], !value.isNull, value != .string("") else { continue }
            members[name] = value
        }
        guard let message = text("message"), text("title") == nil else {
            return members.isEmpty ? nil : .object(members)
        }
        if members.isEmpty { return .string(message) }
        if members["body"] == nil, members["loc-key"] == nil { members["body"] = .string(message) }
        return .object(members)
    }

    private var sound: JSONValue? {
        var members: JSONObject = [:]
        switch fields["sound"] {
        case .string(let name) where !name.isEmpty:
            guard text("name") != nil || fields["volume"] != nil else { return .string(name) }
            members["name"] = .string(name)
        case .object(let given): members = given
        default: break
        }
        if let name = text("name") { members["name"] = .string(name) }
        if let volume = fields["volume"], !volume.isNull { members["volume"] = volume }
        return members.isEmpty ? nil : .object(members)
    }

    // MARK: Firebase and Huawei

    private func other() throws(InvalidInput) -> Push.Content {
        let own = [fields["android"]?["notification"], fields["huawei_notification"], fields["notification"]]
        func shown(_ names: String...) -> String? {
            for part in own {
                for name in names { if let text = part?[name]?.stringValue, !text.isEmpty { return text } }
            }
            return nil
        }
        var texts: [SharedFields.Name: String] = [:]
        texts[.title] = text("title") ?? shown("title")
        texts[.image] = text("image") ?? shown("image")
        texts[.sound] = text("sound") ?? shown("sound")
        texts[.channel] = shown("channel_id", "android_channel_id")
        texts[.category] = shown("click_action")
        texts[.collapseKey] =
            shown("tag") ?? text("collapse_key") ?? fields["android"]?["collapse_key"]?.stringValue
        var data = self.data
        if case .object(let members)? = fields["android"]?["data"] { data = data.merging(members) { $1 } }
        if let text = text("huawei_data"), case .object(let members)? = try? JSONValue(json: text.utf8) {
            data = data.merging(members) { $1 }
        }
        var content = Push.Content(
            body: text("message") ?? shown("body"), shared: SharedFields(texts, data: data),
            custom: ["android": .object(["priority": .string(priority == "high" ? "high" : "normal")])])
        if let count = (fields["android"]?["notification"]?["notification_count"] ?? fields["badge"])?.wholeNumber {
            content.badge = try BadgeChange(.integer(count), field: "badge")
        }
        try content.checkShared()
        return content
    }
}

/// An entry of the answer's `logs`: a token that was not notified. Source: gorush, `logx/log.go`.
struct GorushLog: Sendable {
    let notification: GorushNotification
    let token: String
    let error: String

    /// Each of many tokens repeats these texts.
    private static let textBytesMax = 256

    var json: JSONValue {
        var members: JSONObject = [:]
        if let id = notification.id { members["notif_id"] = .string(id.cut(toBytes: Self.textBytesMax)) }
        members["type"] = .string("failed-push")
        members["platform"] = .string(notification.device.name)
        members["token"] = .string(token)
        members["message"] = .string(notification.message.cut(toBytes: Self.textBytesMax))
        members["error"] = .string(error.cut(toBytes: Self.textBytesMax))
        return .object(members)
    }
}

extension Answer {
    /// The words of the provider's answer, as gorush passes them on; nil where nothing failed. Source: Apple, "Handling notification responses from
    /// APNs"; Firebase, "Error codes for the HTTP v1 API".
    func gorushError(on device: GorushNotification.Device) -> String? {
        switch (self, device) {
        case (.pending, _), (.accepted, _), (.unknown, _): nil
        case (.gone, .ios): "Unregistered"
        case (.refused(.badToken), .ios): "BadDeviceToken"
        case (.refused(.tokenOfAnotherApplication), .ios): "DeviceTokenNotForTopic"
        case (.refused(.payloadTooLarge), .ios): "PayloadTooLarge"
        case (.gone, _): "Requested entity was not found."
        case (.refused(.badToken), _): "The registration token is not a valid FCM registration token"
        case (.refused(.tokenOfAnotherApplication), _): "SenderId mismatch"
        default: name
        }
    }
}
