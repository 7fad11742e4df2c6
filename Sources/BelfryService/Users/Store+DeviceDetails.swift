package import FoundationEssentials

extension Store {
    package func detail(of device: Key<Device>, on platform: Key<Platform>) async throws -> DeviceDetail? {
        try await readCommitted { db in
            try db.prepared(DeviceDetailStatements.one).first(platform, device) { row in
                DeviceDetail(
                    badge: row.integer(0), spelling: row.textIfAny(1), language: row.textIfAny(2),
                    timeZone: row.textIfAny(3), encryptionKeys: row.blobIfAny(4).flatMap(EncryptionKeys.init(stored:)))
            }
        }
    }

    /// The profile by which audiences find the device, beside its row.
    package func profile(of device: Key<Device>, on platform: Key<Platform>) async throws -> DeviceProfile {
        try await readCommitted { db in
            let row = try db.prepared(DeviceStatements.byKey).first(device, platform, as: DeviceRow.init)
            return DeviceProfile(labels: try db.labels(row?.topics ?? []))
        }
    }

    /// Changes the given details and keeps the rest.
    package func setDetail(
        of device: Key<Device>, on platform: Key<Platform>, _ change: DeviceDetail.Change
    ) async throws {
        try await write { try $0.set(change, of: device, on: platform) }
    }
}

extension WriteSession {
    /// Changes the given details and keeps the rest.
    ///
    /// - Parameter isFirst: whether it changes nothing where details are stored already.
    func set(
        _ change: DeviceDetail.Change, of device: Key<Device>, on platform: Key<Platform>, isFirst: Bool = false
    ) throws {
        guard !change.isEmpty else { return }
        try prepared(DeviceDetailStatements.set).send(
            platform, device, change.badge, change.spelling, change.language, change.timeZone, isFirst,
            change.encryptionKeys?.bytes)
    }
}

extension Store {
    /// The next rows of the view `genero_tokens` that are of one application.
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
        SELECT badge, spelling, language, time_zone, encryption_keys /* device_details.one */ FROM device_detail WHERE platform_id = $1 AND device_id = $2
        """

    static let set: SQLText = """
        INSERT INTO device_detail /* device_details.set */ (
            platform_id, device_id, badge, spelling, language, time_zone, encryption_keys)
        VALUES ($1, $2, coalesce($3, 0), $4, $5, $6, $8)
            ON CONFLICT (platform_id, device_id) DO UPDATE
           SET badge = coalesce($3, device_detail.badge),
               spelling = coalesce($4, device_detail.spelling),
               language = coalesce($5, device_detail.language),
               time_zone = coalesce($6, device_detail.time_zone),
               encryption_keys = coalesce($8, device_detail.encryption_keys)
         WHERE NOT $7
           AND (coalesce($3, device_detail.badge) <> device_detail.badge
             OR coalesce($4, device_detail.spelling, '') <> coalesce(device_detail.spelling, '')
             OR coalesce($5, device_detail.language, '') <> coalesce(device_detail.language, '')
             OR coalesce($6, device_detail.time_zone, '') <> coalesce(device_detail.time_zone, '')
             OR ($8 IS NOT NULL AND (device_detail.encryption_keys IS NULL OR device_detail.encryption_keys <> $8)))
        """
}

/// The details of a device that are kept beside its row, for apps that need them.
package struct DeviceDetail: Sendable, Hashable {
    /// The number on the app's icon, as far as the server counts it.
    package let badge: Int64
    /// The token as the app wrote it, where that is not the usual spelling.
    package let spelling: String?
    /// The language that the device is set to, a tag such as `de-AT`; used where the user's profile has none.
    package let language: String?
    /// The time zone that the device is in, such as `Europe/Vienna`; used where the user's profile has none.
    package let timeZone: String?
    /// The keys that senders encrypt for it with.
    package let encryptionKeys: EncryptionKeys?

    package init(
        badge: Int64 = 0, spelling: String? = nil, language: String? = nil, timeZone: String? = nil,
        encryptionKeys: EncryptionKeys? = nil
    ) {
        self.encryptionKeys = encryptionKeys
        self.badge = badge
        self.spelling = spelling
        self.language = language
        self.timeZone = timeZone
    }

    /// The details to keep from now on; nil leaves a detail as it is.
    package struct Change: Sendable, Hashable {
        package var badge: Int64?
        package var spelling: String?
        package var language: String?
        package var timeZone: String?
        package var encryptionKeys: EncryptionKeys?

        package init(
            badge: Int64? = nil, spelling: String? = nil, language: String? = nil, timeZone: String? = nil,
            encryptionKeys: EncryptionKeys? = nil
        ) {
            self.encryptionKeys = encryptionKeys
            self.badge = badge
            self.spelling = spelling
            self.language = language
            self.timeZone = timeZone
        }

        /// Reads the tags of a registration and throws where one is invalid. An empty text counts as missing.
        package init(
            told language: String?, timeZone: String?, encryptionKeys: EncryptionKeys? = nil
        ) throws(InvalidInput) {
            self.init(
                language: language.flatMap { $0.isEmpty ? nil : $0 },
                timeZone: timeZone.flatMap { $0.isEmpty ? nil : $0 }, encryptionKeys: encryptionKeys)
            try UserProfile.check(tag: self.language, field: "language")
            try UserProfile.check(tag: self.timeZone, field: "time_zone")
        }

        package var isEmpty: Bool { self == Change() }
    }

    package func changed(by change: Change) -> DeviceDetail {
        DeviceDetail(
            badge: change.badge ?? badge, spelling: change.spelling ?? spelling, language: change.language ?? language,
            timeZone: change.timeZone ?? timeZone,
            encryptionKeys: (change.encryptionKeys ?? encryptionKeys).flatMap { $0 == .withdrawn ? nil : $0 })
    }
}

/// The device that has a token.
package struct TokenHolder: Sendable, Hashable {
    package let device: Key<Device>
    package let uuid: UUID
    package let isActive: Bool
}
