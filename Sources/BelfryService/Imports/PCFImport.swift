/// An item of `GET /v2/registrations`, or the answer to `GET /v1/registration/:device_uuid`.
///
/// Source: PCF Push API 1.6 to 1.9, "List registrations" and "Get a registration"; only the latter has `tags`.
struct PCFImport: ImportRowParser {
    func row(_ bytes: [UInt8]) throws(InvalidInput) -> ImportRow {
        var row = ImportRow()
        try JSONReader.document(bytes) { reader, name throws(InvalidInput) in
            switch name {
            case "registration_token": row.token = try reader.string(name) ?? ""
            case "device_uuid": row.id = try reader.string(name)
            case "os": row.about.os = try reader.string(name)
            case "os_version": row.about.osVersion = try reader.string(name)
            case "device_model": row.about.model = try reader.string(name)
            case "device_manufacturer": row.about.manufacturer = try reader.string(name)
            case "device_alias": row.about.alias = try reader.string(name)
            case "custom_user_id": row.customUserID = try reader.string(name) ?? ""
            case "active": row.isActive = try Self.isActive(try reader.value(name))
            case "tags": row.topics = try Self.tags(try reader.value(name))
            default: try reader.skip()
            }
        }
        row.kinds = row.about.os.map(Self.kinds) ?? []
        return row
    }

    /// Apps registered `android` before `android-fcm` existed.
    private static func kinds(of os: String) -> [PlatformKind] {
        switch os {
        case "android": [.android, .androidFCM]
        default: PlatformKind(rawValue: os).map { [$0] } ?? []
        }
    }

    /// Documented as a string, sent as a flag.
    static func isActive(_ value: JSONValue) throws(InvalidInput) -> Bool {
        switch value {
        case .bool(let bool): return bool
        case .null: return true
        case .string(let text) where ["", "true", "false"].contains(text.lowercased()):
            return text.lowercased() != "false"
        default: throw InvalidInput(field: "active", "has to be a boolean, it is \(value.typeName)")
        }
    }

    private static func tags(_ value: JSONValue) throws(InvalidInput) -> [String] {
        guard !value.isNull else { return [] }
        return try value.demandArray("tags").enumerated().map { (index, tag) throws(InvalidInput) in
            guard let name = tag.stringValue ?? tag["text"]?.stringValue else {
                throw InvalidInput(field: "tags[\(index)]", "has no text")
            }
            return name
        }
    }
}
