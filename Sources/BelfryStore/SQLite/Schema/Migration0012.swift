/// Damage is noted.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0012 {
    static let identifier = "0012 damaged pages"

    /// - `damaged_page`: pages that a claim could not read. Of those that were mended or written off, whose page is closed,
    ///   the note says nothing any more; it goes with the page.
    static let sql = """
        CREATE TABLE damaged_page (
            page_id INTEGER PRIMARY KEY REFERENCES page (id) ON DELETE CASCADE,
            push_id INTEGER NOT NULL,
            found_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX damaged_page_push ON damaged_page (push_id);
        """
}
