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
        return nil
    }

    /// Source: the header `push-type`: 0 alert, 1 form, 2 text to speech, 6 background, 7 live view, 10 VoIP, 11 MDM.
    private func complaintOfNewest(_ pushType: String?) -> HMSCode? {
        guard let pushType, ["0", "1", "2", "6", "7", "10", "11"].contains(pushType) else { return .parameters }
        guard let payload = json["payload"], payload.members?.isEmpty == false else { return .structure }
        guard pushType == "0" else { return nil }
        let notification = payload["notification"]
        let isWhole = notification?["title"]?.string != nil && notification?["body"]?.string != nil
        return isWhole ? nil : .parameters
    }

    private static let shape = JSONShape.object([
        "data": .string, "token": .strings, "topic": .string, "condition": .string,
        "notification": .object(["title": .string, "body": .string, "image": .string]),
        "apns": .anything, "webpush": .anything,
        "android": .object([
            "collapse_key": .integer, "urgency": .oneOf(["HIGH", "NORMAL"]), "category": .string, "ttl": .duration,
            "bi_tag": .string, "receipt_id": .string, "fast_app_target": .integer, "data": .string,
            "notification": .anything, "target_user_type": .integer,
        ]),
    ])
}
