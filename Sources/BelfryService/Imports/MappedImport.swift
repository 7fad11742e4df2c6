/// A row whose columns or members a mapping names. Others are ignored.
struct MappedImport: ImportRowParser {
    let mapping: ImportMapping

    var columns: Set<String> { Set(ImportMapping.Field.allCases.map(mapping.column)) }

    var columnNames: [String: String] {
        [
            "token": mapping.column(.token), "registration_token": mapping.column(.token),
            "custom_user_id": mapping.column(.user), "topics": mapping.column(.topics),
            "device_alias": mapping.column(.alias), "device_model": mapping.column(.model),
            "device_manufacturer": mapping.column(.manufacturer), "os": mapping.column(.os),
            "os_version": mapping.column(.osVersion),
        ]
    }

    func row(_ bytes: [UInt8]) throws(InvalidInput) -> ImportRow {
        let value = try JSONValue(json: bytes, field: "row")
        guard case .object(let members) = value else { throw InvalidInput(field: "row", "is no JSON object") }
        return try row { members[mapping.column($0)] }
    }

    func row(fields: [String: String]) throws(InvalidInput) -> ImportRow {
        try row { field in
            let text = fields[mapping.column(field)]
            return ([.user, .topics].contains(field) ? text : text.given).map { .string($0) }
        }
    }

    private func row(_ value: (ImportMapping.Field) -> JSONValue?) throws(InvalidInput) -> ImportRow {
        func text(_ field: ImportMapping.Field) -> String? {
            value(field).flatMap { $0.isNull ? nil : $0.importedText }.given
        }
        var row = ImportRow()
        row.token = text(.token) ?? ""
        row.id = text(.uuid)
        // The likeliest first, where a row may be of several.
        for type in text(.type)?.split(separator: "|") ?? [] {
            row.kinds.append(try PlatformKind(String(type), field: mapping.column(.type)))
        }
        if let mode = text(.mode) {
            guard let known = Platform.Mode(rawValue: mode) else {
                throw InvalidInput(
                    field: mapping.column(.mode), "is '\(mode)', it has to be development or production")
            }
            row.mode = known
        }
        row.about = Device.About(
            os: text(.os), osVersion: text(.osVersion), model: text(.model), manufacturer: text(.manufacturer),
            alias: text(.alias))
        row.customUserID = value(.user).map { $0.isNull ? "" : $0.importedText }
        row.topics = try value(.topics).map(topics)
        row.addedTopics = try value(.addedTopics).map(topics) ?? []
        row.note(language: text(.language), timeZone: text(.timeZone))
        row.note(badge: try text(.badge).map(badge))
        let attributes = value(.attributes)
        row.note(
            appVersion: text(.appVersion), country: text(.country),
            attributes: attributes?.stringValue.flatMap { try? JSONValue(json: $0.utf8, field: "") } ?? attributes)
        row.detail.encryptionKeys = try value(.encryptionKeys).flatMap { (keys) throws(InvalidInput) in
            try EncryptionKeys(imported: keys, field: mapping.column(.encryptionKeys))
        }
        if let active = value(.active) { row.isActive = try isActive(active) }
        if let time = text(.lastSeen) {
            guard let read = ImportTime.read(time) else {
                throw InvalidInput(
                    field: mapping.column(.lastSeen),
                    "is '\(time.prefix(64))', which is no time since 1970 such as 2026-01-31T08:30:00Z")
            }
            row.lastSeenAt = read
        }
        return row
    }

    /// A list, also as the JSON of one, or a text with commas, semicolons or bars between the names.
    private func topics(_ value: JSONValue) throws(InvalidInput) -> [String] {
        if case .array(let elements) = value {
            return elements.map { $0["text"]?.stringValue ?? $0.importedText }
        }
        let text = (value.stringValue ?? "").asName
        guard text.hasPrefix("[") else {
            return text.split { ",;|".contains($0) }.map { String($0).asName }.filter { !$0.isEmpty }
        }
        guard let list = try? JSONValue(json: text.utf8, field: ""), case .array = list else {
            throw InvalidInput(
                field: mapping.column(.topics), #"begins with '[' and is no JSON such as ["news", "sports"]"#)
        }
        return try topics(list)
    }

    private func badge(_ text: String) throws(InvalidInput) -> Int64 {
        guard let badge = Int64(text), 0...BadgeChange.keptMax ~= badge else {
            throw InvalidInput(
                field: mapping.column(.badge),
                "is '\(text.prefix(64))', it has to be a whole number from 0 to \(BadgeChange.keptMax)")
        }
        return badge
    }

    private func isActive(_ value: JSONValue) throws(InvalidInput) -> Bool {
        switch value.stringValue?.lowercased() {
        case "1", "t", "yes": true
        case "0", "f", "no": false
        default: try PCFImport.isActive(value)
        }
    }
}

extension ImportRow {
    /// The row as `MappedImport` reads it by the standard names.
    package var json: JSONValue {
        let mapping = ImportMapping.standard
        var members: JSONObject = [
            mapping.column(.token): .string(token), mapping.column(.active): .bool(isActive),
        ]
        let texts: [(ImportMapping.Field, String?)] = [
            (.uuid, id), (.type, kinds.isEmpty ? nil : kinds.map(\.rawValue).joined(separator: "|")),
            (.mode, mode?.rawValue), (.user, customUserID), (.os, about.os), (.osVersion, about.osVersion),
            (.model, about.model), (.manufacturer, about.manufacturer), (.alias, about.alias),
            (.lastSeen, lastSeenAt?.text), (.language, detail.language), (.timeZone, detail.timeZone),
            (.appVersion, profile.appVersion), (.country, profile.country),
        ]
        for (field, text) in texts { if let text { members[mapping.column(field)] = .string(text) } }
        members[mapping.column(.badge)] = detail.badge.map(JSONValue.integer)
        members[mapping.column(.encryptionKeys)] = detail.encryptionKeys?.json
        members[mapping.column(.topics)] = topics.map { JSONValue.strings($0) }
        if !addedTopics.isEmpty { members[mapping.column(.addedTopics)] = .strings(addedTopics) }
        if !profile.attributes.isEmpty { members[mapping.column(.attributes)] = .object(profile.attributesJSON) }
        return .object(members)
    }
}
