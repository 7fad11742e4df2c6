/// A message of Push Kit, validated by its rules. Source: developer.huawei.com, "Sending messages" for `v1` and `v3`.
struct HMSMessage {
    static let tokensMax = 1000
    static let bytesMax = 4096

    private let json: JSON
    private let isNewest: Bool

    /// - Parameter isNewest: whether it was posted to `v3`.
    init?(_ bytes: [UInt8], isNewest: Bool) {
        guard let json = JSON(bytes), json.members != nil else { return nil }
        self.json = json
        self.isNewest = isNewest
    }

    var tokens: [String] { (isNewest ? json["target"]?["token"] : json["message"]?["token"])?.strings ?? [] }

    /// The topic or the condition of a message without tokens.
    var audience: String? {
        json["message"]?["topic"]?.string.map { "/topics/\($0)" } ?? json["message"]?["condition"]?.string
    }

    var isValidateOnly: Bool {
        (isNewest ? json["pushOptions"]?["validateOnly"] : json["validate_only"])?.bool ?? false
    }

    func complaint(pushType: String?, bytes: Int) -> HMSCode? {
        let problem = isNewest ? complaintOfNewest(pushType) : complaintOfOlder()
        if let problem { return problem }
        if tokens.isEmpty && audience == nil || tokens.count > Self.tokensMax { return .tokenLimit }
        // Quotes and commas belong to the tokens.
        let tokenBytes = tokens.reduce(0) { $0 + $1.utf8.count + 3 }
        return bytes - tokenBytes > Self.bytesMax ? .tooLarge : nil
    }

    private func complaintOfOlder() -> HMSCode? {
        guard let message = json["message"], message.members != nil else { return .structure }
        if let (_, _) = Self.shape.complaint(about: message) { return .parameters }
        if let key = message["android"]?["collapse_key"]?.integer, !(-1...100).contains(key) { return .collapseKey }
        if let ttl = message["android"]?["ttl"]?.string, JSONShape.seconds(ttl) ?? 0 <= 0 { return .ttl }
        return complaint(aboutShown: message)
    }

    /// A notification has a title and a text, for Android by itself or for all, and says what a tap does.
    private func complaint(aboutShown message: JSON) -> HMSCode? {
        let (shown, own) = (message["notification"], message["android"]?["notification"])
        guard shown != nil || own != nil else { return nil }
        for name in ["title", "body"] where own?[name]?.string == nil && shown?[name]?.string == nil {
            return .parameters
        }
        for image in [shown?["image"], own?["image"]] {
            if let image, image.string?.hasPrefix("https://") != true { return .parameters }
        }
        let action = own?["click_action"]
        switch action?["type"]?.integer {
        case 1: return action?["intent"]?.string == nil && action?["action"]?.string == nil ? .parameters : nil
        case 2: return action?["url"]?.string?.hasPrefix("https://") == true ? nil : .parameters
        case 3: return nil
        default: return .parameters
        }
    }

    /// Source: the header `push-type`: 0 alert, 1 form, 2 text to speech, 6 background, 7 live view, 10 VoIP, 11 MDM.
    private func complaintOfNewest(_ pushType: String?) -> HMSCode? {
        guard let pushType, ["0", "1", "2", "6", "7", "10", "11"].contains(pushType) else { return .parameters }
        guard let payload = json["payload"], payload.members?.isEmpty == false else { return .structure }
        guard pushType == "0" else { return nil }
        let notification = payload["notification"]
        guard let notification, Self.alert.complaint(about: notification) == nil else { return .parameters }
        let isWhole = ["category", "title", "body"].allSatisfy { notification[$0]?.string != nil }
        let image = notification["image"]
        guard isWhole, notification["clickAction"]?["actionType"] != nil,
            image == nil || image?.string?.hasPrefix("https://") == true
        else { return .parameters }
        return nil
    }

    /// Source: developer.huawei.com, "Scenario-based messages", `Notification`.
    private static let alert = JSONShape.object([
        "category": .string, "title": .string, "body": .string, "image": .string, "style": .integer,
        "inboxContent": .strings, "notifyId": .integer, "appMessageId": .string, "profileId": .string,
        "badge": .object(["addNum": .integer, "setNum": .integer]), "sound": .string, "soundDuration": .integer,
        "foregroundShow": .bool,
        "clickAction": .object([
            "actionType": .integer, "action": .string, "uri": .string, "data": .anything,
        ]),
    ])

    /// Source: developer.huawei.com, "Sending messages", Android notifications.
    private static let androidNotification = JSONShape.object([
        "title": .string, "body": .string, "icon": .string, "color": .string, "sound": .string, "default_sound": .bool,
        "tag": .string, "channel_id": .string, "image": .string, "notify_id": .integer, "notify_summary": .string,
        "importance": .string, "style": .integer, "big_title": .string, "big_body": .string, "auto_cancel": .bool,
        "foreground_show": .bool, "when": .string, "ticker": .string, "visibility": .string, "group": .string,
        "click_action": .object([
            "type": .integer, "intent": .string, "url": .string, "action": .string, "rich_resource": .string,
        ]),
        "badge": .object(["add_num": .integer, "set_num": .integer, "class": .string]),
    ])

    private static let shape = JSONShape.object([
        "data": .string, "token": .strings, "topic": .string, "condition": .string,
        "notification": .object(["title": .string, "body": .string, "image": .string]),
        "apns": .anything, "webpush": .anything,
        "android": .object([
            "collapse_key": .integer, "urgency": .oneOf(["HIGH", "NORMAL"]), "category": .string, "ttl": .duration,
            "bi_tag": .string, "receipt_id": .string, "fast_app_target": .integer, "data": .string,
            "notification": androidNotification, "target_user_type": .integer,
        ]),
    ])
}
