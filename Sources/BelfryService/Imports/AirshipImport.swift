/// A channel of Airship, as `GET /api/channels` lists it.
///
/// Source: docs.airship.com, API reference, "Channel listing" and "Channel object"; "Default attributes" for `ua_…`, and the
/// device information of events for the other names of `device_attributes`.
struct AirshipImport: ImportRowParser {
    func row(_ bytes: [UInt8]) throws(InvalidInput) -> ImportRow {
        let channel = try JSONValue(json: bytes, field: "row")
        guard case .object = channel else { throw InvalidInput(field: "row", "is no JSON object") }
        var row = ImportRow()
        let type = channel["device_type"]?.stringValue ?? ""
        guard let kinds = Self.kinds[type] else {
            throw InvalidInput(field: "device_type", "is '\(type)', which no push provider delivers to")
        }
        row.kinds = kinds
        let address = channel["push_address"]?.stringValue ?? ""
        row.token = address
        if kinds == [.web] {
            let keys = channel["web"]?["subscription"]
            row.token = ImportedSubscription.json(
                endpoint: address, p256dh: keys?["p256dh"]?.stringValue ?? "", auth: keys?["auth"]?.stringValue ?? "")
        }
        row.id = channel["channel_id"]?.stringValue
        row.about.alias = channel["alias"]?.stringValue
        row.customUserID = channel["named_user_id"].map { $0.stringValue ?? "" }
        row.topics = try Self.topics(of: channel)
        let device = [channel["device_attributes"], channel["attributes"]].compactMap(\.self)
        func attribute(_ names: String...) -> String? {
            for name in names {
                for values in device {
                    // Airship writes "Unknown" for a country and a language that it does not know.
                    if let text = values[name]?.stringValue.given, text != "Unknown" { return text }
                }
            }
            return nil
        }
        row.note(
            language: attribute("ua_language", "locale_language_code"),
            timeZone: channel["ios"]?["tz"]?.stringValue ?? attribute("ua_local_tz", "iana_timezone"))
        row.note(
            appVersion: attribute("ua_app_version", "app_version"),
            country: attribute("ua_country", "locale_country_code"), attributes: channel["attributes"])
        row.note(badge: channel["ios"]?["badge"]?.whole)
        row.lastSeenAt =
            (channel["last_registration"]?.stringValue ?? channel["created"]?.stringValue).flatMap(ImportTime.read)
        row.isActive = channel["installed"] != .bool(false) && channel["opt_in"] != .bool(false)
        return row
    }

    private static let kinds: [String: [PlatformKind]] = [
        "ios": [.ios], "android": [.androidFCM, .android], "amazon": [.amazon], "web": [.web],
    ]

    /// Tags of the device stand alone, those of a group are `group:tag`.
    private static func topics(of channel: JSONValue) throws(InvalidInput) -> [String]? {
        guard channel["tags"] != nil || channel["tag_groups"] != nil else { return nil }
        var topics = try texts(channel["tags"], "tags")
        guard case .object(let groups)? = channel["tag_groups"] else { return topics }
        for (group, tags) in groups.sorted(by: { $0.key < $1.key }) where group != "device" {
            topics += try texts(tags, "tag_groups.\(group)").map { "\(group):\($0)" }
        }
        return topics
    }

    private static func texts(_ value: JSONValue?, _ field: String) throws(InvalidInput) -> [String] {
        guard let value, !value.isNull else { return [] }
        return try value.strings(field)
    }
}
