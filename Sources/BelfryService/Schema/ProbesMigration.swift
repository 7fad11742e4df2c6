/// Parked platforms are tried again by themselves: when next, how often so far, and the push services of a web platform that are parked
/// alone. See `Parking` and `ParkedService`.
enum ProbesMigration: SchemaMigration {
    static let identifier = "0008 probes"

    static func run(in db: some SQLConnection) throws {
        for statement in statements { try db.run(script: statement) }
    }

    private static let statements: [SQLText] = [
        "ALTER TABLE platform ADD COLUMN probe_at_ms \(.bigint)",
        "ALTER TABLE platform ADD COLUMN probe_count \(.bigint) NOT NULL DEFAULT 0",
        "ALTER TABLE platform ADD COLUMN parked_services text",
        "UPDATE platform SET probe_at_ms = parked_since_ms WHERE parked_cause = 'credentials'",
    ]
}
