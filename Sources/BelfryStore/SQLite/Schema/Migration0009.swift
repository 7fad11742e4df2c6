/// A platform may be of any kind that the program knows.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0009 {
    static let identifier = "0009 kinds of platform"

    /// - `platform.kind`: the kinds are listed in `PlatformKind` alone, so that a further one needs no migration. SQLite
    ///   drops no CHECK, so the table is made again; ids go on where they were. Source: sqlite.org, "Making Other Kinds Of
    ///   Table Schema Changes".
    static let sql = """
        CREATE TABLE platform_next (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uuid BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
            application_id INTEGER NOT NULL REFERENCES application (id),
            kind TEXT NOT NULL CHECK (kind <> ''),
            mode TEXT NOT NULL CHECK (mode IN ('development', 'production')),
            name TEXT NOT NULL,
            secret_hash BLOB NOT NULL,
            credentials BLOB NOT NULL,
            credentials_version INTEGER NOT NULL CHECK (credentials_version >= 1),
            parked_cause TEXT CHECK (parked_cause IN ('credentials', 'deaths')),
            parked_detail TEXT,
            parked_since_ms INTEGER,
            created_at_ms INTEGER NOT NULL,
            is_retired INTEGER NOT NULL DEFAULT 0 CHECK (is_retired IN (0, 1)),
            CHECK ((parked_cause IS NULL) = (parked_detail IS NULL)),
            CHECK ((parked_cause IS NULL) = (parked_since_ms IS NULL))
        ) STRICT;
        INSERT INTO platform_next (
            id, uuid, application_id, kind, mode, name, secret_hash, credentials, credentials_version, parked_cause,
            parked_detail, parked_since_ms, created_at_ms, is_retired)
        SELECT
            id, uuid, application_id, kind, mode, name, secret_hash, credentials, credentials_version, parked_cause,
            parked_detail, parked_since_ms, created_at_ms, is_retired
          FROM platform;
        DELETE FROM sqlite_sequence WHERE name = 'platform_next';
        INSERT INTO sqlite_sequence (name, seq) SELECT 'platform_next', seq FROM sqlite_sequence WHERE name = 'platform';
        DROP TABLE platform;
        ALTER TABLE platform_next RENAME TO platform;
        CREATE INDEX platform_application ON platform (application_id);
        """
}
