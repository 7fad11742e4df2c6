/// The lists of devices that other services hand out.
package enum ImportFormat: String, Sendable, Hashable, CaseIterable {
    case pcf, onesignal, sns, pinpoint, parse, airship, azure, csv, jsonl

    /// Whether a mapping names the columns.
    package var isMapped: Bool { self == .csv || self == .jsonl }

    package init(_ name: String, field: String) throws(InvalidInput) {
        guard let format = Self(rawValue: name) else {
            let known = Self.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidInput(field: field, "is '\(name)', it has to be one of \(known)")
        }
        self = format
    }
}

/// Maps fields to columns or members of a row: `token=registration_token,uuid=device_uuid`.
package struct ImportMapping: Sendable, Hashable {
    package enum Field: String, Sendable, Hashable, CaseIterable {
        case token, uuid, type, mode, topics, user, os, model, manufacturer, alias, active, language, badge, country,
            attributes
        case osVersion = "os_version"
        case lastSeen = "last_seen"
        case timeZone = "time_zone"
        case addedTopics = "added_topics"
        case appVersion = "app_version"
        case encryptionKeys = "encryption_keys"
    }

    private var columns: [Field: String]

    /// The standard names of columns, which are PCF's.
    package static let standard = ImportMapping(columns: [
        .token: "registration_token", .uuid: "device_uuid", .type: "type", .mode: "mode", .topics: "tags",
        .user: "custom_user_id", .os: "os", .osVersion: "os_version", .model: "device_model",
        .manufacturer: "device_manufacturer", .alias: "device_alias", .active: "active", .lastSeen: "last_seen",
        .language: "language", .timeZone: "time_zone", .badge: "badge",
        .appVersion: "app_version", .country: "country", .attributes: "attributes",
        .encryptionKeys: "encryption_keys", .addedTopics: "added_tags",
    ])

    private init(columns: [Field: String]) { self.columns = columns }

    /// Reads a mapping. Fields that the text does not name keep their standard names.
    package init(_ text: String) throws(InvalidInput) {
        self = .standard
        for pair in text.split(separator: ",") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let field = Field(rawValue: String(parts[0])) else {
                let known = Field.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidInput(
                    field: "map", "has '\(pair)', it has to be field=column, where field is one of \(known)")
            }
            columns[field] = String(parts[1])
        }
    }

    package func column(_ field: Field) -> String { columns[field] ?? field.rawValue }
}
