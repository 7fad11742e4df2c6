package import FoundationEssentials

extension Store {
    /// Replaces the app id of that name and platform.
    package func set(_ appID: AcrobitsAppID) async throws {
        try await write { session in
            try session.prepared(AcrobitsStatements.setAppID).send(
                appID.name, appID.applicationKey, appID.platformKey, appID.payload?.text)
        }
    }

    /// All app ids of an application, by name.
    package func acrobitsAppIDs(of application: Key<Application>) async throws -> [AcrobitsAppID] {
        try await read { [damagedRows] db in
            try db.prepared(AcrobitsStatements.appIDsOfApplication).all(application) { row in
                try damagedRows.readable("acrobits app id \(row.text(0))") { try AcrobitsAppID(row) }
            }.compactMap(\.self)
        }
    }

    /// The app ids with that name, of these applications.
    package func acrobitsAppIDs(
        named name: String, of applications: Set<Key<Application>>
    ) async throws -> [AcrobitsAppID] {
        try await read { [damagedRows] db in
            try db.prepared(AcrobitsStatements.appIDsNamed).all(name, SQLKeys(applications.sorted())) { row in
                try damagedRows.readable("acrobits app id \(row.text(0))") { try AcrobitsAppID(row) }
            }.compactMap(\.self)
        }
    }

    /// Returns false when the application has none of that name.
    package func deleteAcrobitsAppID(_ name: String, of application: Key<Application>) async throws -> Bool {
        try await writeIfFound { try $0.prepared(AcrobitsStatements.deleteAppID).run(name, application) > 0 }
    }

    package func note(_ new: AcrobitsRegistration) async throws { try await write { try $0.note(new) } }

    /// Registers a device with its account, and retires the device that the account had before.
    ///
    /// - Parameter account: the account on the device of a UUID; nil where the softphone names none.
    func register(
        _ registration: Registration, as uuid: UUID?, on platform: Platform, insteadOf old: AcrobitsRegistration?,
        account: @escaping @Sendable (UUID) -> AcrobitsRegistration?
    ) async throws {
        try await write { session in
            let device = try session.register(registration, as: uuid, on: platform).ownUUID
            guard let new = account(device) else { return }
            try session.note(new)
            if let old, old.device != device { try session.retire(old) }
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

    /// All selectors of a device.
    package func acrobitsRegistrations(
        device: UUID, of application: Key<Application>
    ) async throws -> [AcrobitsRegistration] {
        try await read { [damagedRows] db in
            try db.prepared(AcrobitsStatements.ofDevice).all(application, device, as: damagedRows.acrobitsRegistration)
                .compactMap(\.self)
        }
    }

    /// Forgets an account on a device, and retires devices that it had.
    package func deleteAcrobitsRegistrations(
        selector: String, of application: Key<Application>, retiring registrations: [AcrobitsRegistration] = []
    ) async throws {
        try await write { session in
            try session.prepared(AcrobitsStatements.deleteSelector).send(application, selector)
            for registration in registrations { try session.retire(registration) }
        }
    }
}

extension WriteSession {
    /// Replaces the registration of that selector and app id, and deletes those of the device beyond `AcrobitsRegistration.perDevice`.
    fileprivate func note(_ new: AcrobitsRegistration) throws {
        try prepared(AcrobitsStatements.note).send(
            new.applicationKey, new.selector, new.appID, new.token, new.platformKey, new.device, new.account, now)
        try prepared(AcrobitsStatements.forgetOldest).send(
            new.applicationKey, new.device, AcrobitsRegistration.perDevice)
    }

    /// Deactivates the device of an account that has left it, unless another account uses it, or is being noted on it.
    fileprivate func retire(_ registration: AcrobitsRegistration) throws {
        guard let device = secrets.naming.device(of: registration.device),
            try isActive(device, on: registration.platformKey),
            try !prepared(AcrobitsStatements.ofDevice).hasRow(registration.applicationKey, registration.device)
        else { return }
        try unregister(device, on: registration.platformKey)
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
         WHERE app_id = $1 AND application_id \(among: "$2")
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

extension Schema {
    static let acrobits = SchemaPart(
        [
            StoreTable(
                "acrobits_app_id", rows: .perRow("application", AcrobitsAppID.countMax),
                key: "app_id, application_id, platform_id", of: .application, goesWithPlatform: true),
            StoreTable("acrobits_registration", rows: .derived("device"), of: .application, goesWithPlatform: true),
        ],
        sql: """
            CREATE TABLE acrobits_app_id (
                app_id text \(postgres: "COLLATE \"C\"") NOT NULL CHECK (length(app_id) > 0),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                platform_id \(.bigint) NOT NULL REFERENCES platform (id),
                payload text,
                PRIMARY KEY (app_id, application_id, platform_id)
            ) \(.byKey);
            CREATE INDEX acrobits_app_id_application ON acrobits_app_id (application_id);
            CREATE INDEX acrobits_app_id_platform ON acrobits_app_id (platform_id);

            -- See `AcrobitsRegistration`. A row may outlive its device, whose UUID is never given again.
            CREATE TABLE acrobits_registration (
                id \(.key),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                selector text NOT NULL,
                app_id text NOT NULL,
                token text NOT NULL,
                platform_id \(.bigint) NOT NULL,
                \(uuid: "device_uuid", "NOT NULL"),
                account text,
                seen_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE UNIQUE INDEX acrobits_registration_selector ON acrobits_registration (application_id, selector, app_id);
            CREATE INDEX acrobits_registration_device ON acrobits_registration (application_id, device_uuid);
            CREATE INDEX acrobits_registration_platform ON acrobits_registration (platform_id\(postgres: ", id"));
            """)
}
