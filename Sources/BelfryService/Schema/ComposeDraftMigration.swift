/// Adds the table of pushes that people have written in Compose and not sent; see `ComposeDraft`.
enum ComposeDraftMigration: SchemaMigration {
    static let identifier = "0011 compose drafts (additive)"

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                CREATE TABLE compose_draft (
                    person_id \(.bigint) NOT NULL REFERENCES person (id),
                    application_id \(.bigint) NOT NULL,
                    -- 0 for a new push.
                    schedule_id \(.bigint) NOT NULL,
                    form text NOT NULL,
                    saved_at_ms \(.bigint) NOT NULL,
                    PRIMARY KEY (person_id, application_id, schedule_id)
                ) \(.byKey);
                CREATE INDEX compose_draft_saved ON compose_draft (saved_at_ms);
                CREATE INDEX compose_draft_application ON compose_draft (application_id);
                """)
    }
}
