/// Who serves.
enum PostgresMigration0008 {
    static let migration = Migration(identifier: "0008 nodes", sql: sql)

    /// - `node`: see `Node`. Its own row is all that a node writes here.
    private static let sql = """
        CREATE TABLE node (
            uuid uuid NOT NULL PRIMARY KEY,
            host text NOT NULL,
            version text NOT NULL,
            since_ms bigint NOT NULL,
            last_seen_at_ms bigint NOT NULL,
            page_count bigint NOT NULL CHECK (page_count >= 0),
            is_draining boolean NOT NULL
        );
        """
}
