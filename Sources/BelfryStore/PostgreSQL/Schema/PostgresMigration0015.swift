/// What receipts tell.
enum PostgresMigration0015 {
    static let migration = Migration(identifier: "0015 receipts", sql: sql)

    /// - `connection_fault`: why the provider of a platform could not be connected to when that last failed.
    /// - `push.platforms`: the kinds of platform that the target named, with commas between them; NULL for every kind.
    private static let sql = """
        CREATE TABLE connection_fault (
            platform_id bigint PRIMARY KEY REFERENCES platform ON DELETE CASCADE,
            kind text NOT NULL,
            detail text NOT NULL,
            at_ms bigint NOT NULL
        );

        ALTER TABLE push ADD COLUMN platforms text;
        """
}
