/// Quotas.
enum PostgresMigration0014 {
    static let migration = Migration(identifier: "0014 quotas", sql: sql)

    /// - `application_use`: how many devices an application has, and how many bytes of content are stored of it; see
    ///   `SharedUse`. What is counted in other tables is not counted here.
    /// - `idempotency.caller_kind`, `caller_id`: the `Principal` whose record it is. NULL in records from before, which count
    ///   for nobody and are gone after a day.
    private static let sql = """
        CREATE TABLE application_use (
            application_id bigint PRIMARY KEY,
            device_count bigint NOT NULL DEFAULT 0 CHECK (device_count >= 0),
            content_bytes bigint NOT NULL DEFAULT 0 CHECK (content_bytes >= 0)
        ) WITH (fillfactor = 50);
        \(SharedUseStatements.countAll);

        ALTER TABLE idempotency ADD COLUMN caller_kind bigint CHECK (caller_kind > 0);
        ALTER TABLE idempotency ADD COLUMN caller_id bigint;
        ALTER TABLE idempotency ADD CHECK ((caller_id IS NULL) = (caller_kind IS NULL));
        CREATE INDEX idempotency_caller ON idempotency (caller_kind, caller_id, created_at_ms);
        """
}
