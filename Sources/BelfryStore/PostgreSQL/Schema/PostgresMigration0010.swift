/// Rests end when they were to end, whatever happens to the lease of their page.
enum PostgresMigration0010 {
    static let migration = Migration(identifier: "0010 rests", sql: sql)

    /// - `page.retry_at_ms`: when the last settlement wanted the first of the pending devices tried again; see `Rests`. NULL
    ///   before there was one, and once nobody waits.
    private static let sql = "ALTER TABLE page ADD COLUMN retry_at_ms bigint"
}
