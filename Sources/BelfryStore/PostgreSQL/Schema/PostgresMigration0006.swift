/// Requests that carried an `Idempotency-Key`, and what was answered.
enum PostgresMigration0006 {
    static let migration = Migration(identifier: "0006 idempotency", sql: sql)

    /// - `name`: a hash of the caller and its key. `request`: a hash of what was asked.
    /// - `held_until_ms`: while there is no answer, how long the request may still be in hand.
    /// - `content`: headers and body of the answer, sealed.
    private static let sql = """
        CREATE TABLE idempotency (
            name bytea NOT NULL PRIMARY KEY CHECK (length(name) = 32),
            request bytea NOT NULL CHECK (length(request) = 32),
            seed uuid NOT NULL,
            created_at_ms bigint NOT NULL,
            held_until_ms bigint,
            status bigint CHECK (status BETWEEN 100 AND 599),
            content bytea,
            CHECK ((status IS NULL) = (content IS NULL)),
            CHECK ((status IS NULL) = (held_until_ms IS NOT NULL))
        );
        CREATE INDEX idempotency_created ON idempotency (created_at_ms);
        """
}
