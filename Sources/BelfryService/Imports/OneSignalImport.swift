/// A record of OneSignal's CSV export, with its extra fields where they were asked for.
///
/// Source: documentation.onesignal.com, "Export subscriptions CSV" (columns and `extra_fields`), and `device_type` of "View players".
struct OneSignalImport: ImportRowParser {
    func row(fields: [String: String]) throws(InvalidInput) -> ImportRow {
        var row = ImportRow()
        let type = fields["device_type"] ?? ""
        guard let kinds = Self.kinds[type] else {
            throw InvalidInput(field: "device_type", "is '\(type)', which no push provider delivers to")
        }
        row.kinds = kinds
        row.id = fields["id"]
        row.token = kinds == [.web] ? Self.subscription(fields) : fields["identifier"] ?? ""
        row.about.osVersion = fields["device_os"].given
        row.about.model = fields["device_model"].given
        row.customUserID = fields["external_user_id"]
        row.topics = try fields["tags"].map(Self.topics)
        row.note(language: fields["language"].given, timeZone: (fields["timezone_id"] ?? fields["timezone"]).given)
        row.note(
            appVersion: fields["game_version"].given, country: fields["country"].given,
            attributes: fields["tags"].flatMap { try? JSONValue(json: $0.utf8, field: "tags") })
        row.note(badge: fields["badge_count"].flatMap { Int64($0) })
        row.lastSeenAt = fields["last_active"].flatMap(ImportTime.read)
        let isInvalid = ["t", "true"].contains(fields["invalid_identifier"]?.lowercased() ?? "")
        let isUnsubscribed = fields["notification_types"].flatMap { Int($0) }.map { $0 <= 0 } ?? false
        row.isActive = !isInvalid && !isUnsubscribed
        return row
    }

    let columns: Set<String> = [
        "badge_count", "country", "device_model", "device_os", "device_type", "external_user_id", "game_version", "id",
        "identifier", "invalid_identifier", "language", "last_active", "notification_types", "tags", "timezone",
        "timezone_id", "web_auth", "web_p256",
    ]
    let columnNames = [
        "token": "identifier", "registration_token": "identifier", "custom_user_id": "external_user_id",
        "topics": "tags", "os_version": "device_os",
    ]

    /// By `device_type`. Chrome apps, macOS, Alexa, e-mail and SMS are no platforms here, nor is Safari's own push.
    private static let kinds: [String: [PlatformKind]] = [
        "0": [.ios], "1": [.androidFCM, .android], "2": [.amazon], "3": [.windowsPhone], "5": [.web],
        "6": [.windows8], "8": [.web], "13": [.huawei],
    ]

    /// For browsers, `identifier` is the endpoint, and the keys are extra fields.
    private static func subscription(_ fields: [String: String]) -> String {
        ImportedSubscription.json(
            endpoint: fields["identifier"] ?? "", p256dh: fields["web_p256"] ?? "", auth: fields["web_auth"] ?? "")
    }

    /// Tags are pairs of a key and a value; topics are `key:value`.
    private static func topics(_ text: String) throws(InvalidInput) -> [String] {
        guard !text.isEmpty else { return [] }
        guard case .object(let tags) = try JSONValue(json: text.utf8, field: "tags") else {
            throw InvalidInput(field: "tags", "has to be a JSON object")
        }
        return tags.map { "\($0.key):\($0.value.importedText)" }.sorted()
    }
}

/// A Web Push subscription, put together from where other services keep its parts.
enum ImportedSubscription {
    static func json(endpoint: String, p256dh: String, auth: String) -> String {
        let keys: JSONObject = ["p256dh": .string(p256dh), "auth": .string(auth)]
        var json: [UInt8] = []
        json.append(json: .object(["endpoint": .string(endpoint), "keys": .object(keys)]))
        return String(decoding: json, as: UTF8.self)
    }
}

extension String? {
    var given: String? { flatMap { $0.isEmpty ? nil : $0 } }
}

extension JSONValue {
    var whole: Int64? { if case .integer(let number) = self { number } else { nil } }

    /// The value of a tag as a part of a topic's name.
    var importedText: String {
        if case .string(let text) = self { return text }
        var json: [UInt8] = []
        json.append(json: self)
        return String(decoding: json, as: UTF8.self)
    }
}
