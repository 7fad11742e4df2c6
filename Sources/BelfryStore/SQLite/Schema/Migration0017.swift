/// Quotas.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0017 {
    static let identifier = "0017 quotas"

    /// - `application_use`: how many bytes of content an application has stored; see `ContentUse`.
    /// - `idempotency.caller_kind`, `caller_id`: the `Principal` whose record it is. NULL in records from before, which count
    ///   for nobody and are gone after a day.
    static let sql = """
        CREATE TABLE application_use (
            application_id INTEGER PRIMARY KEY,
            content_bytes INTEGER NOT NULL CHECK (content_bytes >= 0)
        ) STRICT;

        ALTER TABLE idempotency ADD COLUMN caller_kind INTEGER CHECK (caller_kind > 0);
        ALTER TABLE idempotency ADD COLUMN caller_id INTEGER CHECK ((caller_id IS NULL) = (caller_kind IS NULL));
        CREATE INDEX idempotency_caller ON idempotency (caller_kind, caller_id, created_at_ms);
        """
}
