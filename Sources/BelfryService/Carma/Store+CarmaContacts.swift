package import FoundationEssentials

extension Store {
    /// Adds a token to a contact, or replaces the row of it; another contact that has it loses it.
    package func note(_ device: CarmaDevice) async throws { try await write { try $0.note(device) } }

    /// Notes that a contact has lost a token, unless the token was registered since it was read; returns whether it did.
    ///
    /// - Parameter device: the device of the token as it was read.
    package func note(
        _ lost: CarmaDevice, insteadOf row: CarmaDevice, readWith device: Device?
    ) async throws -> Bool {
        try await writeIfFound { session in
            // First: the row is locked from here on, so that a registration of the same time comes before the check, or sets it again.
            let found = try session.prepared(CarmaContactStatements.lose).run(
                lost.invalidation.rawValue, lost.invalidatedAt, row.applicationKey, row.contact, row.token,
                row.platformKey, row.device)
            guard found > 0, let device else { return found > 0 }
            let held = try session.prepared(DeviceStatements.byKey).first(
                device.key, device.platformKey, as: DeviceRow.init)
            return held?.token == device.token && device.isActive == ((held?.reach ?? .inactive) != .inactive)
        }
    }

    /// Registers tokens of a contact and changes its profile.
    func register(
        _ devices: [(registration: Registration, platform: Platform, country: String?)], of contact: String,
        _ change: UserProfile.Change, _ application: Key<Application>
    ) async throws {
        try await write { session in
            _ = try session.setUser(contact, of: application) { profile in
                do throws(InvalidInput) { return try profile.changed(by: change) } catch {
                    throw error.renamed(["attributes": "properties"])
                }
            }
            for new in devices {
                let device = try session.register(new.registration, as: nil, on: new.platform)
                try session.note(
                    CarmaDevice(
                        applicationKey: application, contact: contact,
                        token: new.registration.token.text(for: new.platform.kind), platformKey: new.platform.key,
                        device: device.ownUUID, country: new.country))
            }
        }
    }

    /// The devices of a contact, in the order in which they were added.
    package func carmaDevices(of contact: String, _ application: Key<Application>) async throws -> [CarmaDevice] {
        try await read { [damagedRows] db in
            try db.prepared(CarmaContactStatements.devices).all(application, contact) { row in
                try damagedRows.readable("a device of a carma contact") { try CarmaDevice(row) }
            }.compactMap(\.self)
        }
    }

    /// Keeps a message; those of the contact beyond `CarmaMessage.perContact` are deleted.
    package func create(_ new: NewCarmaMessage) async throws -> CarmaMessage {
        try await write { session in
            let sentAt = new.sentAt ?? session.now
            let key = try session.insert(
                CarmaContactStatements.insertMessage, new.applicationKey, new.trigger, new.contact, new.name, new.html,
                new.pageHash, sentAt)
            try session.prepared(CarmaContactStatements.forgetOldestMessages).send(
                new.applicationKey, new.contact, CarmaMessage.perContact)
            return CarmaMessage(
                key: Key(key), applicationKey: new.applicationKey, trigger: new.trigger, contact: new.contact,
                name: new.name, html: new.html, receiptID: nil, schedule: nil, sentAt: sentAt, readAt: nil)
        }
    }

    package func setPush(
        _ receiptID: UUID?, schedule: Key<Schedule>?, of message: Key<CarmaMessage>
    ) async throws {
        try await write { try $0.prepared(CarmaContactStatements.setPush).send(receiptID, schedule?.rawValue, message) }
    }

    package func delete(_ message: Key<CarmaMessage>) async throws {
        try await write { try $0.prepared(CarmaContactStatements.deleteMessage).send(message) }
    }

    package func carmaMessage(pageHash: [UInt8]) async throws -> CarmaMessage? {
        try await read { try $0.prepared(CarmaContactStatements.byPage).first(pageHash, as: CarmaMessage.init) }
    }

    /// Returns false when it was read before.
    package func markRead(_ message: Key<CarmaMessage>) async throws -> Bool {
        try await write { session in
            try session.prepared(CarmaContactStatements.markRead).run(session.now, message) > 0
        }
    }

    /// The latest first.
    package func carmaMessages(of contact: String, _ application: Key<Application>) async throws -> [CarmaMessage] {
        try await read {
            try $0.prepared(CarmaContactStatements.messages).all(application, contact, as: CarmaMessage.init)
        }
    }

    /// Deletes the tokens and messages of a contact.
    package func forgetCarmaContact(_ contact: String, of application: Key<Application>) async throws {
        try await write { session in
            try session.prepared(CarmaContactStatements.deleteMessages).send(application, contact)
            try session.prepared(CarmaContactStatements.deleteDevices).send(application, contact)
        }
    }
}

extension WriteSession {
    /// Gives a contact the tokens and messages of another, up to the most that are kept.
    func moveCarmaContact(_ contact: String, to other: String, of application: Key<Application>) throws {
        try prepared(CarmaContactStatements.moveDevices).send(other, application, contact)
        try prepared(CarmaContactStatements.deleteDevices).send(application, contact)
        try prepared(CarmaContactStatements.forgetOldest).send(application, other, CarmaDevice.perContact)
        try prepared(CarmaContactStatements.moveMessages).send(other, application, contact)
        try prepared(CarmaContactStatements.forgetOldestMessages).send(application, other, CarmaMessage.perContact)
    }

    fileprivate func note(_ device: CarmaDevice) throws {
        let (application, contact) = (device.applicationKey, device.contact)
        if device.invalidation == .none {
            try prepared(CarmaContactStatements.takeFromOthers).send(
                application, device.device, device.token, contact)
        }
        let known = try prepared(CarmaContactStatements.update).run(
            device.platformKey, device.device, device.country, device.invalidation.rawValue, device.invalidatedAt,
            application, contact, device.token)
        guard known == 0 else { return }
        try prepared(CarmaContactStatements.insert).send(
            application, contact, device.token, device.platformKey, device.device, device.country,
            device.invalidation.rawValue, device.invalidatedAt)
        try prepared(CarmaContactStatements.forgetOldest).send(application, contact, CarmaDevice.perContact)
    }
}

extension CarmaDevice {
    /// From the columns of `CarmaContactStatements.devices`.
    fileprivate init(_ row: some SQLRow) throws {
        guard let device = row.uuid(4), let invalidation = Invalidation(rawValue: row.integer(6)) else {
            throw StoreError.damaged("a device of a carma contact")
        }
        self.init(
            applicationKey: Key(row.integer(0)), contact: row.text(1), token: row.text(2),
            platformKey: Key(row.integer(3)), device: device, country: row.textIfAny(5), invalidation: invalidation,
            invalidatedAt: row.instantIfAny(7))
    }
}

extension CarmaMessage {
    /// From the columns of `CarmaContactStatements.byPage`.
    fileprivate init(_ row: some SQLRow) {
        self.init(
            key: Key(row.integer(0)), applicationKey: Key(row.integer(1)), trigger: Key(row.integer(2)),
            contact: row.text(3), name: row.text(4), html: row.text(5), receiptID: row.uuid(6),
            schedule: row.integerIfAny(7).map { Key($0) }, sentAt: Instant(milliseconds: row.integer(8)),
            readAt: row.instantIfAny(9))
    }
}

enum CarmaContactStatements {
    /// Scans `carma_device_uuid`.
    static let takeFromOthers: SQLText = """
        DELETE FROM carma_device /* carma_contacts.take_from_others */
         WHERE application_id = $1 AND device_uuid = $2 AND token = $3 AND contact <> $4
        """

    static let update: SQLText = """
        UPDATE carma_device /* carma_contacts.update */
           SET platform_id = $1, device_uuid = $2, country = coalesce($3, country), invalidation = $4,
               invalidated_at_ms = $5
         WHERE application_id = $6 AND contact = $7 AND token = $8
        """

    static let lose: SQLText = """
        UPDATE carma_device /* carma_contacts.lose */
           SET invalidation = $1, invalidated_at_ms = $2
         WHERE application_id = $3 AND contact = $4 AND token = $5 AND platform_id = $6 AND device_uuid = $7
           AND invalidation = 0
        """

    static let insert: SQLText = """
        INSERT INTO carma_device /* carma_contacts.insert */ (
            application_id, contact, token, platform_id, device_uuid, country, invalidation, invalidated_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """

    static let forgetOldest: SQLText = """
        DELETE FROM carma_device /* carma_contacts.forget_oldest */
         WHERE id IN (
            SELECT id FROM carma_device
             WHERE application_id = $1 AND contact = $2
             ORDER BY id DESC
             LIMIT 200 OFFSET $3)
        """

    static let moveDevices: SQLText = """
        UPDATE carma_device /* carma_contacts.move_devices */ SET contact = $1
         WHERE id \(amongRows: """
            SELECT id FROM carma_device
             WHERE application_id = $2 AND contact = $3 AND token NOT IN (
                 SELECT token FROM carma_device WHERE application_id = $2 AND contact = $1 ORDER BY id)
             ORDER BY id
            """)
        """

    static let devices: SQLText = """
        SELECT application_id, contact, token, platform_id, device_uuid, country, invalidation, invalidated_at_ms
               /* carma_contacts.devices */
          FROM carma_device
         WHERE application_id = $1 AND contact = $2
         ORDER BY id
        """

    static let insertMessage: SQLText = """
        INSERT INTO carma_message /* carma_contacts.insert_message */ (
            application_id, trigger_id, contact, name, html, page_hash, sent_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        RETURNING id
        """

    static let forgetOldestMessages: SQLText = """
        DELETE FROM carma_message /* carma_contacts.forget_oldest_messages */
         WHERE id IN (
            SELECT id FROM carma_message
             WHERE application_id = $1 AND contact = $2
             ORDER BY id DESC
             LIMIT 200 OFFSET $3)
        """

    static let moveMessages: SQLText = """
        UPDATE carma_message /* carma_contacts.move_messages */ SET contact = $1
         WHERE application_id = $2 AND contact = $3
        """

    static let setPush: SQLText = """
        UPDATE carma_message /* carma_contacts.set_push */ SET receipt_id = $1, schedule_id = $2 WHERE id = $3
        """

    static let byPage: SQLText = """
        SELECT id, application_id, trigger_id, contact, name, html, receipt_id, schedule_id, sent_at_ms, read_at_ms
               /* carma_contacts.by_page */
          FROM carma_message
         WHERE page_hash = $1
        """

    static let markRead: SQLText = """
        UPDATE carma_message /* carma_contacts.mark_read */ SET read_at_ms = $1 WHERE id = $2 AND read_at_ms IS NULL
        """

    static let messages: SQLText = """
        SELECT id, application_id, trigger_id, contact, name, html, receipt_id, schedule_id, sent_at_ms, read_at_ms
               /* carma_contacts.messages */
          FROM carma_message
         WHERE application_id = $1 AND contact = $2
         ORDER BY id DESC
        """

    static let deleteMessage: SQLText = "DELETE FROM carma_message /* carma_contacts.delete_message */ WHERE id = $1"

    static let deleteMessages: SQLText = """
        DELETE FROM carma_message /* carma_contacts.delete_messages */ WHERE application_id = $1 AND contact = $2
        """

    static let deleteDevices: SQLText = """
        DELETE FROM carma_device /* carma_contacts.delete_devices */ WHERE application_id = $1 AND contact = $2
        """
}
