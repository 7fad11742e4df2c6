extension SQLStore {
    package func detail(of device: Key<Device>, on platform: Key<Platform>) async throws -> DeviceDetail? {
        try await readCommitted { db in
            try db.prepared(DeviceDetailStatements.one).first(platform, device) { row in
                DeviceDetail(
                    badge: row.integer(0), spelling: row.textIfAny(1), language: row.textIfAny(2),
                    timeZone: row.textIfAny(3))
            }
        }
    }

    package func setDetail(
        of device: Key<Device>, on platform: Key<Platform>, _ change: DeviceDetail.Change
    ) async throws {
        try await write { session in
            try session.prepared(DeviceDetailStatements.set).send(
                platform, device, change.badge, change.spelling, change.language, change.timeZone)
        }
    }
}

extension SQLStore {
    package func generoTokens(
        of application: Key<Application>, after id: Int64, limit: Int
    ) async throws -> [GeneroToken] {
        try await search(for: application, isShort: true) { db, _ in
            try db.prepared(DeviceDetailStatements.generoTokens).all(application, id, limit) { row in
                GeneroToken(
                    id: row.integer(0), type: row.text(1), token: row.text(2), badge: row.integer(3), user: row.text(4),
                    registeredAt: row.text(5))
            }
        }
    }
}

enum DeviceDetailStatements {
    static let generoTokens: SQLText = """
        SELECT id, notification_type, registration_token, badge_number, app_user, reg_date /* genero.tokens */
          FROM genero_token_of_application
         WHERE application_id = $1 AND id > $2
         ORDER BY id
         LIMIT $3
        """

    static let one: SQLText = """
        SELECT badge, spelling, language, time_zone /* device_details.one */ FROM device_detail WHERE platform_id = $1 AND device_id = $2
        """

    static let set: SQLText = """
        INSERT INTO device_detail /* device_details.set */ (
            platform_id, device_id, badge, spelling, language, time_zone)
        VALUES ($1, $2, coalesce($3, 0), $4, $5, $6)
            ON CONFLICT (platform_id, device_id) DO UPDATE
           SET badge = coalesce($3, device_detail.badge),
               spelling = coalesce($4, device_detail.spelling),
               language = coalesce($5, device_detail.language),
               time_zone = coalesce($6, device_detail.time_zone)
        """
}
