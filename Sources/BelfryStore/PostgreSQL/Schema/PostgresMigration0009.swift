/// Damage is noted.
enum PostgresMigration0009 {
    static let migration = Migration(identifier: "0009 damaged pages", sql: sql)

    /// - `damaged_page`: pages that a claim could not read. Of those that were mended or written off, whose page is closed,
    ///   the note says nothing any more; it goes with the page.
    private static let sql = """
        CREATE TABLE damaged_page (
            page_id bigint PRIMARY KEY REFERENCES page (id) ON DELETE CASCADE,
            push_id bigint NOT NULL,
            found_at_ms bigint NOT NULL
        );
        CREATE INDEX damaged_page_push ON damaged_page (push_id);
        """
}
