/// An object of the class `_Installation` of Parse Server, as its export and its REST API write it.
///
/// Source: docs.parseplatform.org, REST API guide, "Push Notifications", "Installations".
struct ParseImport: ImportRowParser {
    func row(_ bytes: [UInt8]) throws(InvalidInput) -> ImportRow {
        var row = ImportRow()
        var (type, service) = ("", "")
        var (language, zone): (String?, String?)
        try JSONReader.document(bytes) { reader, name throws(InvalidInput) in
            switch name {
            case "deviceType": type = try reader.string(name) ?? ""
            case "pushType": service = try reader.string(name) ?? ""
            case "deviceToken": row.token = try reader.string(name) ?? ""
            case "installationId": row.id = try reader.string(name)
            case "channels": row.topics = try reader.strings(name)?.filter { !$0.isEmpty } ?? []
            case "user": row.customUserID = try reader.value(name)["objectId"]?.stringValue ?? ""
            case "localeIdentifier": language = try reader.string(name)
            case "timeZone": zone = try reader.string(name)
            case "badge": row.note(badge: try reader.value(name).whole)
            case "updatedAt": row.lastSeenAt = Self.time(try reader.value(name))
            default: try reader.skip()
            }
        }
        guard let kinds = Self.kinds(of: type, service) else {
            throw InvalidInput(field: "deviceType", "is '\(type)', which no push provider delivers to")
        }
        row.kinds = kinds
        row.about.os = type
        row.note(language: language, timeZone: zone)
        return row
    }

    private static func kinds(of type: String, _ service: String) -> [PlatformKind]? {
        switch type {
        case "ios": [.ios]
        case "android": [.androidFCM, .android]
        case "winrt": [.windows8]
        case "winphone": [.windowsPhone]
        default: nil
        }
    }

    /// A text, or `{"__type": "Date", "iso": "…"}`.
    private static func time(_ value: JSONValue) -> Instant? {
        (value.stringValue ?? value["iso"]?.stringValue).flatMap(ImportTime.read)
    }
}
