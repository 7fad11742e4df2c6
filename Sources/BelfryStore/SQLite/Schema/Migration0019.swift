/// What receipts tell.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0019 {
    static let identifier = "0019 receipts"

    /// - `connection_fault`: why the provider of a platform could not be connected to when that last failed.
    /// - `push.platforms`: the kinds of platform that the target named, with commas between them; NULL for every kind.
    static let sql = """
        CREATE TABLE connection_fault (
            platform_id INTEGER PRIMARY KEY REFERENCES platform ON DELETE CASCADE,
            kind TEXT NOT NULL,
            detail TEXT NOT NULL,
            at_ms INTEGER NOT NULL
        ) STRICT;

        ALTER TABLE push ADD COLUMN platforms TEXT;
        """
}
