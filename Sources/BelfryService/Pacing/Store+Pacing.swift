extension Store {
    package func pace(_ requests: [PacingRequest]) async throws -> [[Key<Device>: PacingVerdict]] {
        guard let application = requests.first?.applicationKey else { return [] }
        let devices = try await pacedDevices(Set(requests.flatMap(\.devices)).sorted(), of: application)
        let now = clock.now
        let found = requests.map { request in
            let devices = request.devices.compactMap { devices[$0] }
            return (request, devices, request.quiet(devices, at: now))
        }
        guard requests.contains(where: { !$0.pacing.caps.isEmpty }) else { return found.map(\.2) }
        return try await write { session in
            // Nodes that count for the same application wait for one another.
            try session.lock(application)
            var uses = try session.uses(of: Set(devices.values.map(\.holder)), application)
            let verdicts = found.map { request, devices, quiet in
                request.verdicts(on: devices, quiet, counting: &uses, at: session.now)
            }
            try session.write(uses.added, application)
            return verdicts
        }
    }

    private func pacedDevices(
        _ keys: [Key<Device>], of application: Key<Application>
    ) async throws -> [Key<Device>: PacedDevice] {
        try await readCommitted { [damagedRows] db in
            var devices: [Key<Device>: PacedDevice] = [:]
            try db.prepared(PacingStatements.devices).each(SQLKeys(keys), application) { row in
                let key = Key<Device>(row.integer(0))
                let quietHours = try damagedRows.readable("user of device \(key)") { try row.quietHours(3) } ?? nil
                devices[key] = PacedDevice(
                    key: key, userID: row.textIfAny(1),
                    timeZones: [row.textIfAny(2), row.textIfAny(4)].compactMap(\.self), quietHours: quietHours)
            }
            return devices
        }
    }
}

extension SQLRow {
    /// The text of one attribute of a user.
    fileprivate func quietHours(_ column: Int32) throws -> String? {
        guard !isNull(column) else { return nil }
        var found: String?
        try JSONReader.document(blob(column)) { reader, name throws(InvalidInput) in
            guard name == QuietHours.attribute else { return try reader.skip() }
            found = try reader.value(name).stringValue
        }
        return found
    }
}

extension WriteSession {
    fileprivate func uses(of holders: Set<Int64>, _ application: Key<Application>) throws -> CapUses {
        var uses = CapUses()
        let start = now + (.zero - FrequencyCap.Period.week.duration)
        try prepared(PacingStatements.uses).each(application, SQLKeys(holders.sorted()), start) { row in
            uses.note(
                CapUses.Use(
                    push: Key(row.integer(1)), kind: row.textIfAny(2), at: Instant(milliseconds: row.integer(3))),
                of: row.integer(0))
        }
        return uses
    }

    fileprivate func write(
        _ added: [(holder: Int64, use: CapUses.Use)], _ application: Key<Application>
    ) throws {
        guard !added.isEmpty else { return }
        try prepared(PacingStatements.note).sendEach(
            added.map { _ in application }, added.map(\.holder), added.map(\.use.push), added.map(\.use.kind),
            added.map(\.use.at))
    }
}

enum PacingStatements {
    /// Looks each device up by its key, and its user in `app_user_public`. The device knows best where it is, if its zone is known.
    static let devices: SQLText = """
        SELECT device.id, custom_user_id, device_detail.time_zone, attributes, app_user.time_zone /* pacing.devices */
          FROM device
          LEFT JOIN app_user ON app_user.application_id = $2 AND app_user.public_id = device.custom_user_id
          LEFT JOIN device_detail
            ON device_detail.platform_id = device.platform_id AND device_detail.device_id = device.id
         WHERE device.id \(among: "$1")
        """

    /// Scans the primary key.
    static let uses: SQLText = """
        SELECT holder, push_id, kind, at_ms /* pacing.uses */ FROM cap_use
         WHERE application_id = $1 AND holder \(among: "$2") AND at_ms > $3
        """

    static let note: SQLText = """
        INSERT INTO cap_use /* pacing.note */ (application_id, holder, push_id, kind, at_ms)
        \(sqlite: "VALUES ($1, $2, $3, $4, $5)", postgres: "SELECT * FROM unnest($1, $2, $3, $4, $5)")
            ON CONFLICT DO NOTHING
        """
}

/// The rules of applications, and the pushes that their caps count.
enum PacingMigration: SchemaMigration {
    static let identifier = "0016 delivery rules (additive)"
    static let tables = [
        StoreTable(
            "cap_use", rows: .derived("device"), key: "application_id, holder, push_id", of: .application,
            expiry: .init(.caps, "at_ms"))
    ]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                -- See `DeliveryRules`; NULL for none.
                ALTER TABLE application ADD COLUMN delivery_rules text;

                -- The pushes of a week that went to users, or to devices without one; see `CapUses`. `holder`: `PacedDevice.holder`.
                CREATE TABLE cap_use (
                    application_id \(.bigint) NOT NULL REFERENCES application (id) ON DELETE CASCADE,
                    holder \(.bigint) NOT NULL,
                    push_id \(.bigint) NOT NULL,
                    kind text,
                    at_ms \(.bigint) NOT NULL,
                    PRIMARY KEY (application_id, holder, push_id)
                ) \(.byKey);
                CREATE INDEX cap_use_at ON cap_use (at_ms);
                """)
    }
}
