import BelfryCore

extension SQLStore {
    package func detail(of device: Key<Device>, on platform: Key<Platform>) async throws -> DeviceDetail? {
        try await readCommitted { db in
            try db.prepared(DeviceDetailStatements.one).first(platform, device) { row in
                DeviceDetail(badge: row.integer(0), spelling: row.textIfAny(1))
            }
        }
    }

    package func setDetail(
        of device: Key<Device>, on platform: Key<Platform>, badge: Int64?, spelling: String?
    ) async throws {
        try await write { session in
            try session.prepared(DeviceDetailStatements.set).send(platform, device, badge, spelling)
        }
    }
}

enum DeviceDetailStatements {
    static let one: SQLText = """
        SELECT badge, spelling /* device_details.one */ FROM device_detail WHERE platform_id = $1 AND device_id = $2
        """

    static let set: SQLText = """
        INSERT INTO device_detail /* device_details.set */ (platform_id, device_id, badge, spelling)
        VALUES ($1, $2, coalesce($3, 0), $4)
            ON CONFLICT (platform_id, device_id) DO UPDATE
           SET badge = coalesce($3, device_detail.badge),
               spelling = coalesce($4, device_detail.spelling)
        """
}
