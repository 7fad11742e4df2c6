/// Lets open endpoints be of kinds that came later: the table no longer lists them. SQLite cannot take a check away, so the table is made anew
/// there, with the views that read it.
///
/// A program of the release before skips rows of kinds that it does not know.
enum EndpointKindMigration: SchemaMigration {
    static let identifier = "0024 kinds of open endpoints (additive)"

    static func run(in db: some SQLConnection) throws { try db.run(script: script) }

    private static let script: SQLText = """
        \(sqlite: """
            DROP VIEW genero_tokens;
            DROP VIEW genero_token_of_application;
            CREATE TABLE open_endpoint_anew (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                application_id INTEGER NOT NULL REFERENCES application (id),
                kind text NOT NULL CHECK (length(kind) > 0),
                key_hash BLOB NOT NULL UNIQUE,
                allowed text NOT NULL,
                options text NOT NULL,
                created_at_ms INTEGER NOT NULL,
                is_plain INTEGER NOT NULL DEFAULT 0 CHECK (is_plain IN (0, 1))
            ) STRICT;
            INSERT INTO open_endpoint_anew
            SELECT id, application_id, kind, key_hash, allowed, options, created_at_ms, is_plain FROM open_endpoint;
            DELETE FROM sqlite_sequence WHERE name = 'open_endpoint_anew';
            INSERT INTO sqlite_sequence (name, seq)
            SELECT 'open_endpoint_anew', seq FROM sqlite_sequence WHERE name = 'open_endpoint';
            DROP TABLE open_endpoint;
            ALTER TABLE open_endpoint_anew RENAME TO open_endpoint;
            CREATE INDEX open_endpoint_application ON open_endpoint (application_id);
            CREATE INDEX open_endpoint_kind ON open_endpoint (kind);
            CREATE INDEX open_endpoint_plain ON open_endpoint (kind) WHERE is_plain;
            \(Schema.generoViews.sqlite)
            """, postgres: "ALTER TABLE open_endpoint DROP CONSTRAINT open_endpoint_kind_check")
        """
}
