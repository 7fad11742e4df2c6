/// Reports of apps about a push: a posting list has the devices that made them.
package enum PushReport: String, Sendable, Hashable, CaseIterable {
    case received, opened

    init?(_ kind: AnalyticsKind) {
        guard let report = Self.allCases.first(where: { $0.kind == kind }) else { return nil }
        self = report
    }

    var kind: AnalyticsKind {
        switch self {
        case .received: .received
        case .opened: .opened
        }
    }
}

/// Some of 64 devices whose keys follow one another, a bit each: so a report costs a broadcast a bit for each device.
struct DeviceBlock: Sendable, Hashable {
    let number: Int64
    let bits: Int64

    static func number(of device: Int64) -> Int64 { device >> 6 }

    init(_ device: Key<Device>) {
        (number, bits) = (Self.number(of: device.rawValue), 1 << (device.rawValue & 63))
    }

    init(_ row: some SQLRow) { (number, bits) = (row.integer(0), row.integer(1)) }

    var devices: [Int64] { (0..<64).filter { bits >> $0 & 1 == 1 }.map { number << 6 | $0 } }
}

extension [DeviceBlock] {
    func devices(after: Int64, limit: Int) -> [Int64] {
        [Int64](lazy.flatMap(\.devices).filter { $0 > after }.prefix(limit))
    }
}

enum ReportStatements {
    static let addToPush: SQLText = """
        INSERT INTO push_report /* reports.add_to_push */ (push_id, kind, platform_id, block, bits)
        VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (push_id, kind, platform_id, block) DO UPDATE SET bits = push_report.bits | excluded.bits
        """

    static let addToGeofence: SQLText = """
        INSERT INTO geofence_report /* reports.add_to_geofence */ (
            application_id, geofence_id, platform_id, block, bits, last_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (application_id, geofence_id, platform_id, block) DO UPDATE
           SET bits = geofence_report.bits | excluded.bits,
               last_at_ms = \(SQLText.greatest)(geofence_report.last_at_ms, excluded.last_at_ms)
        """

    /// Scans the primary key.
    static let ofPush: SQLText = """
        SELECT block, bits /* reports.of_push */ FROM push_report
         WHERE push_id = $1 AND kind = $2 AND platform_id = $3 AND block >= $4
         ORDER BY block
         LIMIT $5
        """

    /// The blocks of SQLite, which counts no bits; the number of devices of PostgreSQL. Scans the primary key.
    static let counts: SQLText = """
        SELECT kind, \(sqlite: "bits, 0", postgres: "0, CAST(sum(bit_count(CAST(bits AS bit(64)))) AS bigint)")
               /* reports.counts */
          FROM push_report
         WHERE push_id = $1 \(postgres: "GROUP BY kind")
        """

    /// Scans the primary key.
    static let ofGeofence: SQLText = """
        SELECT block, bits /* reports.of_geofence */ FROM geofence_report
         WHERE application_id = $1 AND geofence_id = $2 AND platform_id = $3 AND block >= $4
         ORDER BY block
         LIMIT $5
        """

    /// Scans the primary key.
    static let deleteExpired = SQLText.deleteSome(
        "reports.forget", from: "push_report", key: "push_id, kind, platform_id, block", where: "push_id = $1")
}

/// When devices first registered, and which of them reported that they received or opened a push, or that a geofence was triggered.
enum DeviceReportMigration: SchemaMigration {
    static let identifier = "0015 reports of devices (additive)"
    static let tables = [
        StoreTable("push_report", rows: .derived("push"), key: "push_id, kind, platform_id, block", of: .push),
        StoreTable(
            "geofence_report", rows: .derived("geofence"), key: "application_id, geofence_id, platform_id, block",
            of: .application,
            expiry: .init(.counts, "last_at_ms")),
    ]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                -- Not known of devices from before this column, and of those that came from another server.
                ALTER TABLE device ADD COLUMN created_at_ms \(.bigint);

                -- `bits` has the devices `64 * block` to `64 * block + 63`; see `DeviceBlock`. `kind`: see `AnalyticsKind`.
                CREATE TABLE push_report (
                    push_id \(.bigint) NOT NULL,
                    kind \(.bigint) NOT NULL CHECK (kind BETWEEN 1 AND 2),
                    platform_id \(.bigint) NOT NULL,
                    block \(.bigint) NOT NULL,
                    bits \(.bigint) NOT NULL,
                    PRIMARY KEY (push_id, kind, platform_id, block)
                ) \(.byKey);

                -- Goes with the counts of geofences, and may outlive what it is about, as they may.
                CREATE TABLE geofence_report (
                    application_id \(.bigint) NOT NULL REFERENCES application (id) ON DELETE CASCADE,
                    geofence_id \(.bigint) NOT NULL,
                    platform_id \(.bigint) NOT NULL,
                    block \(.bigint) NOT NULL,
                    bits \(.bigint) NOT NULL,
                    last_at_ms \(.bigint) NOT NULL,
                    PRIMARY KEY (application_id, geofence_id, platform_id, block)
                ) \(.byKey);
                CREATE INDEX geofence_report_last ON geofence_report (last_at_ms);
                """)
    }
}
