/// Who serves.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0011 {
    static let identifier = "0011 nodes"

    /// - `node`: see `Node`. Its own row is all that a node writes here.
    static let sql = """
        CREATE TABLE node (
            uuid BLOB NOT NULL PRIMARY KEY CHECK (length(uuid) = 16),
            host TEXT NOT NULL,
            version TEXT NOT NULL,
            since_ms INTEGER NOT NULL,
            last_seen_at_ms INTEGER NOT NULL,
            page_count INTEGER NOT NULL CHECK (page_count >= 0),
            is_draining INTEGER NOT NULL CHECK (is_draining IN (0, 1))
        ) STRICT, WITHOUT ROWID;
        """
}
