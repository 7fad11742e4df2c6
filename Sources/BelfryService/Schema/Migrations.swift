/// Says which mediators the path without a key leads to: those there were, where they are of one tenant; of several an operator has to
/// say it anew.
enum PlainEndpointMigration: SchemaMigration {
    static let identifier = "0004 plain endpoints"

    static func run(in db: some SQLConnection) throws {
        for statement in [addColumn, keep, addIndex] { try db.run(script: statement) }
    }

    private static let addColumn: SQLText = "ALTER TABLE open_endpoint ADD COLUMN \(flag: "is_plain", false)"

    private static let keep: SQLText = """
        UPDATE open_endpoint SET is_plain = true
         WHERE kind = 'acrobits-mediator' AND allowed <> ''
           AND (SELECT count(DISTINCT tenant_id)
                  FROM open_endpoint AS mediator JOIN application ON application.id = mediator.application_id
                 WHERE mediator.kind = 'acrobits-mediator') = 1
        """

    private static let addIndex: SQLText = "CREATE INDEX open_endpoint_plain ON open_endpoint (kind) WHERE is_plain"
}

/// Adds the facts of a platform's credentials that pages show; null until the credentials have been read. See `CredentialFacts`.
enum CredentialFactsMigration: SchemaMigration {
    static let identifier = "0002 credential facts"

    static func run(in db: some SQLConnection) throws {
        try db.prepared(addFacts).run()
    }

    private static let addFacts: SQLText = "ALTER TABLE platform ADD COLUMN facts text /* schema.credential_facts */"
}

/// Whether an application's back ends may send PCF's API what nothing reads; see `Application.ignoresUnknownFields`.
enum UnknownFieldsMigration: SchemaMigration {
    static let identifier = "0007 unknown fields"

    static func run(in db: some SQLConnection) throws {
        try db.run(script: "ALTER TABLE application ADD COLUMN \(flag: "ignores_unknown_fields", false)")
    }
}

/// Parked platforms are tried again by themselves: when next, how often so far, and the push services of a web platform that are parked
/// alone. See `Parking` and `ParkedService`.
enum ProbesMigration: SchemaMigration {
    static let identifier = "0008 probes"

    static func run(in db: some SQLConnection) throws {
        for statement in statements { try db.run(script: statement) }
    }

    private static let statements: [SQLText] = [
        "ALTER TABLE platform ADD COLUMN probe_at_ms \(.bigint)",
        "ALTER TABLE platform ADD COLUMN probe_count \(.bigint) NOT NULL DEFAULT 0",
        "ALTER TABLE platform ADD COLUMN parked_services text",
        "UPDATE platform SET probe_at_ms = parked_since_ms WHERE parked_cause = 'credentials'",
    ]
}
