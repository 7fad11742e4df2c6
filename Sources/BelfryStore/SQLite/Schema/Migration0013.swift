/// Rests end when they were to end, whatever happens to the lease of their page.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0013 {
    static let identifier = "0013 rests"

    /// - `page.retry_at_ms`: when the last settlement wanted the first of the pending devices tried again; see `Rests`. NULL
    ///   before there was one, and once nobody waits.
    static let sql = "ALTER TABLE page ADD COLUMN retry_at_ms INTEGER"
}
