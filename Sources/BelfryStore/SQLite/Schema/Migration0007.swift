/// Requests that carried an `Idempotency-Key`, and what was answered.
enum Migration0007 {
    static let identifier = "0007 idempotency"

    /// - `name`: a hash of the caller and its key. `request`: a hash of what was asked.
    /// - `held_until_ms`: while there is no answer, how long the request may still be in hand.
    /// - `content`: headers and body of the answer, sealed.
    static let sql = """
        CREATE TABLE idempotency (
            name BLOB NOT NULL PRIMARY KEY CHECK (length(name) = 32),
            request BLOB NOT NULL CHECK (length(request) = 32),
            seed BLOB NOT NULL CHECK (length(seed) = 16),
            created_at_ms INTEGER NOT NULL,
            held_until_ms INTEGER,
            status INTEGER CHECK (status BETWEEN 100 AND 599),
            content BLOB,
            CHECK ((status IS NULL) = (content IS NULL)),
            CHECK ((status IS NULL) = (held_until_ms IS NOT NULL))
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX idempotency_created ON idempotency (created_at_ms);
        """
}
