/// A row whose columns or members a mapping names. What stands in none that is named is passed over.
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
        try row { fields[mapping.column($0)].given.map { .string($0) } }
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
        row.customUserID = text(.user)
        row.topics = topics(value(.topics))
        row.note(language: text(.language), timeZone: text(.timeZone))
        row.note(badge: text(.badge).flatMap { Int64($0) })
        if let active = value(.active) { row.isActive = try isActive(active) }
        if let time = text(.lastSeen) {
            guard let read = ImportTime.read(time) else {
                throw InvalidInput(field: mapping.column(.lastSeen), "is no time such as 2026-01-31T08:30:00Z")
            }
            row.lastSeenAt = read
        }
        return row
    }

    /// A list, or a text with commas, semicolons or bars between the names.
    private func topics(_ value: JSONValue?) -> [String] {
        guard case .array(let elements)? = value else {
            let text = value?.stringValue ?? ""
            return text.split { ",;|".contains($0) }.map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }
        }
        return elements.map { $0["text"]?.stringValue ?? $0.importedText }
    }

    private func isActive(_ value: JSONValue) throws(InvalidInput) -> Bool {
        switch value.stringValue?.lowercased() {
        case "1", "t", "yes": true
        case "0", "f", "no": false
        default: try PCFImport.isActive(value)
        }
    }
}
