import FoundationEssentials

extension Store {
    package func delivery(of device: Key<Device>, in push: Key<Push>) async throws -> DeviceDelivery? {
        let now = clock.now
        return try await read { db in
            try db.prepared(DeliveryNoteStatements.delivery).first(push, device) { row in
                try DeviceDelivery(row, of: device, in: push, at: now)
            } ?? nil
        }
    }

    /// When the last lease on a batch or a fan-out of the push ends, or ended; nil where no worker has any.
    package func leasesEnd(of push: Key<Push>) async throws -> Instant? {
        try await read { db in
            try db.prepared(DeliveryNoteStatements.leasesEnd).first(push) { $0.instantIfAny(0) } ?? nil
        }
    }

    /// The sentences of providers about devices of the push that they did not accept at once, each once: the first
    /// `AttemptNote.wordsMax` of its first batches.
    package func providerWords(of push: Key<Push>) async throws -> [String] {
        try await read { db in
            AttemptNote.words(of: try db.prepared(DeliveryNoteStatements.histories).all(push) { $0.text(0) })
        }
    }

    /// The names in a push's target that nothing has: devices that were unknown when it was accepted, and among the
    /// first `UnresolvedTargets.lookedUpMax` topics and users those that no active device has now.
    package func unmatchedNames(of push: Key<Push>) async throws -> UnresolvedTargets {
        let now = clock.now
        return try await read { db in
            var names = UnresolvedTargets()
            if let unknown = try db.prepared(DeliveryNoteStatements.unknownDevices).first(push, as: UnknownDevices.init)
            {
                names.devices = unknown
            }
            guard let push = try db.prepared(PushStatements.byKey).first(push, as: Push.init) else { return names }
            let platforms = try db.prepared(DeliveryNoteStatements.platforms).all(push.applicationKey) {
                Key<Platform>($0.integer(0))
            }
            for list in push.audience.names.prefix(UnresolvedTargets.lookedUpMax) {
                let isMatched = try platforms.contains { platform in
                    let postings = db.postings(of: platform, application: push.applicationKey, now: now)
                    return try !postings.postings(list, after: 0, limit: 1).isEmpty
                }
                if !isMatched { names.add(list) }
            }
            return names
        }
    }
}

extension UnknownDevices {
    fileprivate init(_ row: some SQLRow) { self.init(count: Int(row.integer(1)), stored: row.text(0)) }
}

extension DeviceDelivery {
    /// From the columns of `DeliveryNoteStatements.delivery`; nil when the batch does not hold the device.
    fileprivate init?(_ row: some SQLRow, of device: Key<Device>, in push: Key<Push>, at now: Instant) throws {
        guard let devices = row.withBlob(0, { DeviceList.decode($0) }), let place = devices.firstIndex(of: device)
        else {
            return nil
        }
        let retryAt = Instant(milliseconds: row.integer(4))
        let batch = Batch(
            key: Key(row.integer(2)), pushKey: push, platformKey: Key(row.integer(3)), lane: .normal, devices: devices,
            answers: try row.withBlob(1) { try [Answer](codes: $0, count: devices.count) }, attempt: row.integer(6),
            isLapsed: false, retryTimes: row.withBlob(1) { RetryTimes.inCodes($0, retryAt: retryAt, now: now) })
        self.init(
            at: place, of: batch, history: row.textIfAny(9), dueAt: Instant(milliseconds: row.integer(5)),
            isLeased: row.integer(7) > 0, answeredAt: row.instantIfAny(8))
    }
}

extension WriteSession {
    /// Adds notes of attempts to the histories of their batches.
    func write(_ notes: [Key<Batch>: AttemptNote]) throws {
        guard !notes.isEmpty else { return }
        let sorted = notes.sorted { $0.key < $1.key }
        try prepared(DeliveryNoteStatements.note).sendEach(sorted.map(\.key), sorted.map(\.value.line))
    }

    func write(_ unknown: UnknownDevices, of push: Key<Push>) throws {
        guard unknown.count > 0 else { return }
        try prepared(DeliveryNoteStatements.insertUnknownDevices).send(push, unknown.storedText, unknown.count)
    }
}

enum DeliveryNoteStatements {
    /// Scans `batch_device` backwards to the only batch of the device's platform that can hold it.
    static let delivery: SQLText = """
        SELECT devices, answers, batch.id, platform_id, coalesce(retry_at_ms, due_at_ms), due_at_ms, attempt, claim_count,
               answered_at_ms,
               (SELECT attempts FROM batch_history WHERE batch_id = batch.id) /* delivery_notes.delivery */
          FROM batch
         WHERE push_id = $1 AND platform_id = (SELECT platform_id FROM device WHERE id = $2) AND first_device_id <= $2
         ORDER BY first_device_id DESC
         LIMIT 1
        """

    /// The end of the push's leases. Used only while a node is silent or none runs: it reads all batches of the push, by `batch_device`.
    /// Closed batches have no claims; a condition on that would make the planner read the open batches of all pushes.
    static let leasesEnd: SQLText = """
        SELECT max(due_at_ms) /* delivery_notes.leases_end */
          FROM (SELECT due_at_ms FROM batch WHERE push_id = $1 AND claim_count > 0
                UNION ALL
                SELECT due_at_ms FROM fan_out WHERE push_id = $1 AND is_claimed = true) AS lease
        """

    /// The histories of the first batches of a push, by `batch_device`. Few batches have one.
    static let histories: SQLText = """
        SELECT attempts /* delivery_notes.histories */
          FROM (SELECT id FROM batch WHERE push_id = $1 ORDER BY platform_id, first_device_id LIMIT 1000) AS own
          JOIN batch_history ON batch_id = own.id
         LIMIT 50
        """

    /// The history keeps its newest `AttemptNote.historyBytesMax` characters, which are ASCII.
    static let note: SQLText = """
        INSERT INTO batch_history /* delivery_notes.note */ (batch_id, attempts)
        \(sqlite: "VALUES ($1, $2)", postgres: "SELECT * FROM unnest($1, $2)")
            ON CONFLICT (batch_id) DO UPDATE
           SET attempts = \(sqlite: "substr(batch_history.attempts || excluded.attempts, -\(AttemptNote.historyBytesMax))",
                postgres: "right(batch_history.attempts || excluded.attempts, \(AttemptNote.historyBytesMax))")
        """

    static let insertUnknownDevices: SQLText = """
        INSERT INTO unknown_device /* delivery_notes.insert_unknown_devices */ (push_id, uuids, device_count)
        VALUES ($1, $2, $3)
        """

    static let unknownDevices: SQLText = """
        SELECT uuids, device_count /* delivery_notes.unknown_devices */ FROM unknown_device WHERE push_id = $1
        """

    static let platforms: SQLText = """
        SELECT id /* delivery_notes.platforms */ FROM platform WHERE application_id = $1 AND NOT is_deleted ORDER BY id
        """
}

extension Schema {
    static let deliveryNotes = SchemaPart(
        [
            StoreTable("batch_history", rows: .perRow("batch", 1), key: "batch_id"),
            StoreTable("unknown_device", rows: .perRow("push", 1), key: "push_id"),
        ],
        sql: """
            -- A line for each of a batch's last attempts, see `AttemptNote`. It goes with the batch.
            CREATE TABLE batch_history (
                batch_id \(.bigint) PRIMARY KEY REFERENCES batch (id) ON DELETE CASCADE,
                attempts text NOT NULL CHECK (attempts <> '')
            ) \(.byID);

            -- The devices that a push's target named and nobody had; see `UnknownDevices`. It goes with the push.
            CREATE TABLE unknown_device (
                push_id \(.bigint) PRIMARY KEY REFERENCES push (id) ON DELETE CASCADE,
                uuids text NOT NULL,
                device_count \(.bigint) NOT NULL CHECK (device_count > 0)
            ) \(.byID);
            """)
}
