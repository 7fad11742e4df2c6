import FoundationEssentials

extension SQLStore {
    package func set(_ appID: AcrobitsAppID) async throws {
        try await write { session in
            try session.prepared(AcrobitsStatements.setAppID).send(
                appID.name, appID.applicationKey, appID.platformKey, appID.payload?.text)
        }
    }

    package func acrobitsAppIDs(of application: Key<Application>) async throws -> [AcrobitsAppID] {
        try await read { [damagedRows] db in
            try db.prepared(AcrobitsStatements.appIDsOfApplication).all(application) { row in
                try damagedRows.readable("acrobits app id \(row.text(0))") { try AcrobitsAppID(row) }
            }.compactMap(\.self)
        }
    }

    package func acrobitsAppIDs(named name: String) async throws -> [AcrobitsAppID] {
        try await read { [damagedRows] db in
            try db.prepared(AcrobitsStatements.appIDsNamed).all(name) { row in
                try damagedRows.readable("acrobits app id \(row.text(0))") { try AcrobitsAppID(row) }
            }.compactMap(\.self)
        }
    }

    package func deleteAcrobitsAppID(_ name: String, of application: Key<Application>) async throws -> Bool {
        try await write { try $0.prepared(AcrobitsStatements.deleteAppID).run(name, application) > 0 }
    }

    package func note(_ new: AcrobitsRegistration) async throws {
        try await write { session in
            try session.prepared(AcrobitsStatements.note).send(
                new.applicationKey, new.selector, new.appID, new.token, new.platformKey, new.device, new.account,
                session.now)
            try session.prepared(AcrobitsStatements.forgetOldest).send(
                new.applicationKey, new.device, AcrobitsRegistration.perDevice)
        }
    }

    package func acrobitsRegistrations(
        selector: String, of application: Key<Application>
    ) async throws -> [AcrobitsRegistration] {
        try await read { [damagedRows] db in
            try db.prepared(AcrobitsStatements.ofSelector).all(
                application, selector, as: damagedRows.acrobitsRegistration
            )
            .compactMap(\.self)
        }
    }

    package func acrobitsRegistrations(
        device: UUID, of application: Key<Application>
    ) async throws -> [AcrobitsRegistration] {
        try await read { [damagedRows] db in
            try db.prepared(AcrobitsStatements.ofDevice).all(application, device, as: damagedRows.acrobitsRegistration)
                .compactMap(\.self)
        }
    }

    package func deleteAcrobitsRegistrations(selector: String, of application: Key<Application>) async throws {
        try await write { try $0.prepared(AcrobitsStatements.deleteSelector).send(application, selector) }
    }
}

extension AcrobitsAppID {
    /// From the columns of `AcrobitsStatements.appIDsNamed`.
    fileprivate init(_ row: some SQLRow) throws {
        self.init(
            name: row.text(0), applicationKey: Key(row.integer(1)), platformKey: Key(row.integer(2)),
            payload: try row.textIfAny(3).map { try AcrobitsPayloadTemplate($0) })
    }
}

extension DamagedRows {
    fileprivate func acrobitsRegistration(_ row: some SQLRow) throws -> AcrobitsRegistration? {
        try readable("acrobits registration \(row.text(1))") { try AcrobitsRegistration(row) }
    }
}

extension AcrobitsRegistration {
    /// From the columns of `AcrobitsStatements.ofSelector`.
    fileprivate init(_ row: some SQLRow) throws {
        guard let device = row.uuid(5) else { throw StoreError.damaged("acrobits registration \(row.text(1))") }
        self.init(
            applicationKey: Key(row.integer(0)), appID: row.text(2), selector: row.text(1), token: row.text(3),
            platformKey: Key(row.integer(4)), device: device, account: row.textIfAny(6),
            seenAt: Instant(milliseconds: row.integer(7)))
    }
}

enum AcrobitsStatements {
    static let setAppID: SQLText = """
        INSERT INTO acrobits_app_id /* acrobits.set_app_id */ (app_id, application_id, platform_id, payload)
        VALUES ($1, $2, $3, $4)
            ON CONFLICT (app_id, application_id, platform_id) DO UPDATE SET payload = excluded.payload
        """

    static let appIDsNamed: SQLText = """
        SELECT app_id, application_id, platform_id, payload /* acrobits.app_ids_named */
          FROM acrobits_app_id
         WHERE app_id = $1
         ORDER BY application_id, platform_id
        """

    static let appIDsOfApplication: SQLText = """
        SELECT app_id, application_id, platform_id, payload /* acrobits.app_ids_of_application */
          FROM acrobits_app_id
         WHERE application_id = $1
         ORDER BY app_id, platform_id
        """

    static let deleteAppID: SQLText = """
        DELETE FROM acrobits_app_id /* acrobits.delete_app_id */ WHERE app_id = $1 AND application_id = $2
        """

    static let note: SQLText = """
        INSERT INTO acrobits_registration /* acrobits.note */ (
            application_id, selector, app_id, token, platform_id, device_uuid, account, seen_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT (application_id, selector, app_id) DO UPDATE
           SET token = excluded.token, platform_id = excluded.platform_id, device_uuid = excluded.device_uuid,
               account = coalesce(excluded.account, acrobits_registration.account), seen_at_ms = excluded.seen_at_ms
        """

    /// Scans `acrobits_registration_device`.
    static let forgetOldest: SQLText = """
        DELETE FROM acrobits_registration /* acrobits.forget_oldest */
         WHERE id IN (
            SELECT id FROM acrobits_registration
             WHERE application_id = $1 AND device_uuid = $2
             ORDER BY seen_at_ms DESC, id DESC
             LIMIT 200 OFFSET $3)
        """

    static let ofSelector: SQLText = """
        SELECT application_id, selector, app_id, token, platform_id, device_uuid, account, seen_at_ms
               /* acrobits.of_selector */
          FROM acrobits_registration
         WHERE application_id = $1 AND selector = $2
         ORDER BY app_id
        """

    static let ofDevice: SQLText = """
        SELECT application_id, selector, app_id, token, platform_id, device_uuid, account, seen_at_ms
               /* acrobits.of_device */
          FROM acrobits_registration
         WHERE application_id = $1 AND device_uuid = $2
         ORDER BY seen_at_ms DESC, id DESC
         LIMIT 200
        """

    static let deleteSelector: SQLText = """
        DELETE FROM acrobits_registration /* acrobits.delete_selector */ WHERE application_id = $1 AND selector = $2
        """
}
