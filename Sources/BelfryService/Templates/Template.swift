import FoundationEssentials

/// A message that was saved under a name, for pushes and schedules: `"template": "welcome"`.
package typealias Template = Versioned<Push.Content>

extension Template {
    package var content: Push.Content { contents }

    package static func checked(name: String, field: String = "name") throws(InvalidInput) -> String {
        let name = try name.asName(field: field, bytesMax: nameBytesMax)
        guard !name.contains("@") else {
            throw InvalidInput(field: field, "has an @, which stands before the number of a version")
        }
        return name
    }
}

extension Push.Content: VersionedContents {
    package static let statements = VersionedStatements("template", of: "message")
    package static var savedMax: Int { 200 }

    package var versionText: String { storedText }

    package init(versionText: String) throws {
        self = try StoreError.reading("a template") { try Push.Content(stored: Array(versionText.utf8)) }
    }
}

/// A template in a list, without its message.
package struct TemplateEntry: Sendable, Hashable {
    package let name: String
    package let version: Int64
    package let createdAt: Instant
    package let updatedAt: Instant
}

/// The name of a template, alone or with one of its versions: `welcome`, `welcome@3`.
package struct TemplateReference: Sendable, Hashable {
    package let name: String
    /// nil for the present one.
    package let version: Int64?
    /// The campaign whose winning variant is meant, in the place of a template.
    private(set) var campaign: Key<Campaign>?

    /// The winning variant of a campaign.
    init(winnerOf campaign: Key<Campaign>) { (name, version, self.campaign) = ("", nil, campaign) }

    /// Reads the stored form.
    init(stored text: String) throws(InvalidInput) {
        if text.hasPrefix("@"), let campaign = Int64(text.dropFirst()) {
            self.init(winnerOf: Key(campaign))
        } else {
            try self.init(text, field: "template")
        }
    }

    package init(_ text: String, field: String) throws(InvalidInput) {
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        name = try Template.checked(name: String(parts.first ?? ""), field: field)
        guard parts.count > 1 else {
            version = nil
            return
        }
        guard let number = Int64(parts[1]), number > 0 else {
            throw InvalidInput(field: field, "is '\(text.prefix(64))', a version is written \(name)@3")
        }
        version = number
    }

    package var text: String { campaign.map { "@\($0.rawValue)" } ?? version.map { "\(name)@\($0)" } ?? name }
}

extension Push.Content {
    /// The message of a template, with this one's fields in the place of its own.
    ///
    /// A text of this one replaces that of the template together with its translations. Values and parts for platforms are replaced
    /// one by one.
    func over(_ template: Push.Content) throws(InvalidInput) -> Push.Content {
        guard encrypted == nil else {
            throw InvalidInput(field: "message.encrypted", "goes with badge alone: a template has other fields")
        }
        var merged = template
        merged.template = nil
        merged.pacing = pacing
        merged.follows = follows
        if let body { merged.body = body }
        merged.shared = shared.over(template.shared)
        // A platform's part in either form goes before that of the template in the other.
        func isGiven(_ part: String) -> Bool { custom[part].map { !$0.isNull } ?? false }
        var others = template.custom
        if apple != nil { others["ios"] = nil }
        if web != nil { others["web"] = nil }
        merged.custom = others.merging(custom) { $1 }
        merged.apple = apple ?? (isGiven("ios") ? nil : template.apple)
        merged.web = web ?? (isGiven("web") ? nil : template.web)
        merged.badge = badge ?? template.badge
        merged.isTemplate = isTemplate || template.isTemplate
        merged.language = language ?? template.language
        let texts =
            (body == nil ? [] : ["body"]) + SharedFields.Name.allCases.filter { shared[$0] != nil }.map(\.rawValue)
        merged.translations = translations.over(template.translations, without: texts)
        merged.values = template.values.merging(values) { $1 }
        // A value of the template may have lost its placeholder.
        let used = Set(try merged.valuesOfPlaceholders())
        merged.values = merged.values.filter { used.contains($0.key) || values[$0.key] != nil }
        try merged.checkMessage()
        return merged
    }

    /// The names of the values in its texts.
    package func valuesOfPlaceholders() throws(InvalidInput) -> [String] {
        try placeholders().flatMap(\.withThoseOfTranslations).compactMap { placeholder in
            if case .value(let name, _) = placeholder.source { name } else { nil }
        }
    }
}

// MARK: The table

extension Store {
    /// All of an application, by their names.
    package func templates(of application: Key<Application>) async throws -> [TemplateEntry] {
        try await readCommitted { db in
            try db.prepared(TemplateStatements.list).all(application, Template.countMax) { row in
                TemplateEntry(
                    name: row.text(0), version: row.integer(1), createdAt: Instant(milliseconds: row.integer(2)),
                    updatedAt: Instant(milliseconds: row.integer(3)))
            }
        }
    }

    package func template(named name: String, of application: Key<Application>) async throws -> Template? {
        try await versioned(name, of: application)
    }

    package func templateContent(
        _ reference: TemplateReference, of application: Key<Application>
    ) async throws -> Push.Content? {
        if let campaign = reference.campaign { return try await winningContent(of: campaign, application) }
        guard let template = try await template(named: reference.name, of: application) else { return nil }
        guard let version = reference.version, version != template.version else { return template.content }
        return try await versions(of: template.key).first { $0.version == version }?.contents
    }
}

enum TemplateStatements {
    /// Scans `template_name`.
    static let list: SQLText = """
        SELECT name, version, created_at_ms, updated_at_ms /* templates.list */ FROM template
         WHERE application_id = $1
         ORDER BY name
         LIMIT $2
        """
}

/// Saved messages and their earlier versions.
enum TemplateMigration: SchemaMigration {
    static let identifier = "0014 templates (additive)"
    static let tables = [
        StoreTable("template", rows: .perRow("application", Template.countMax), of: .application),
        StoreTable(
            "template_version", rows: .perRow("template", Template.versionsMax), key: "template_id, version",
            of: .row(of: "template", by: "template_id")),
    ]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                -- `message` is the stored form of a push's content; see `Push.Content`.
                CREATE TABLE template (
                    id \(.key),
                    application_id \(.bigint) NOT NULL REFERENCES application (id) ON DELETE CASCADE,
                    name text \(postgres: "COLLATE \"C\"") NOT NULL,
                    message text NOT NULL,
                    version \(.bigint) NOT NULL CHECK (version > 0),
                    created_at_ms \(.bigint) NOT NULL,
                    updated_at_ms \(.bigint) NOT NULL
                ) \(.byID);
                CREATE UNIQUE INDEX template_name ON template (application_id, name);

                CREATE TABLE template_version (
                    template_id \(.bigint) NOT NULL REFERENCES template (id) ON DELETE CASCADE,
                    version \(.bigint) NOT NULL,
                    message text NOT NULL,
                    replaced_at_ms \(.bigint) NOT NULL,
                    PRIMARY KEY (template_id, version)
                ) \(.byKey);
                """)
    }
}
