package import FoundationEssentials

extension Store {
    /// The application's pushes, newest first, before `before`.
    package func receipts(
        of application: Key<Application>, before: Key<Push>?, limit: Int
    ) async throws -> [Receipt] {
        let now = clock.now
        return try await read { [damagedRows] db in
            try DamagedRows.slice(of: limit, after: before ?? Key(.max)) { before, limit in
                let pushes = try db.pushes(of: application, before: before, limit: limit, damagedRows)
                let receipts = try db.receipts(of: pushes, at: now, damagedRows)
                return pushes.map { push in (push.key, receipts.first { $0.push.key == push.key }) }
            }
        }
    }

    /// The application's unsettled pushes, newest first, of the newest 50,000 of all applications.
    package func openReceipts(of application: Key<Application>, limit: Int) async throws -> [Receipt] {
        let now = clock.now
        return try await read { [damagedRows] db in
            let pushes = try [ReceiptStatements.open, ReceiptStatements.openWhole].flatMap { sql in
                try db.prepared(sql).all(application, limit) { try damagedRows.pushHead($0) }
            }.compactMap(\.self).sorted { $0.key > $1.key }.prefix(limit)
            return try db.receipts(of: Array(pushes), at: now, damagedRows)
        }
    }

    /// The application's pushes without their counters, newest first, before `before`.
    package func pushes(
        of application: Key<Application>, before: Key<Push>?, limit: Int
    ) async throws -> [PushHead] {
        try await readCommitted { [damagedRows] db in
            try db.pushes(of: application, before: before, limit: limit, damagedRows)
        }
    }

    /// The push as it was accepted; nil once it was deleted. Throws `StoreError.damaged` when it cannot be read.
    package func push(_ key: Key<Push>) async throws -> Push? {
        try await readCommitted { try $0.prepared(PushStatements.byKey).first(key, as: Push.init) }
    }

    /// The message and the target of a push; nil once it was deleted, or if it was made without a target. Throws
    /// `StoreError.damaged` when they cannot be read.
    package func request(of push: Key<Push>) async throws -> PushRequest? {
        guard let push = try await self.push(push),
            var target = Target(push.audience, on: push.platforms, naming: secrets.naming)
        else { return nil }
        if let devices = target.devices {
            let platforms = Set(try await self.platforms(of: push.applicationKey).map(\.key))
            target = target.renamed(try await namesOutside(of: devices, on: platforms))
        }
        return PushRequest(
            content: push.content, target: target, lane: push.lane, guarantee: push.guarantee,
            expiresAt: push.expiresAt)
    }

    /// Returns what `read` makes of the message of each push; one message at a time is in memory. Pushes that were deleted
    /// or cannot be read are left out.
    package func contents<Value: Sendable>(
        of pushes: [Key<Push>], _ read: @escaping @Sendable (Push.Content) -> Value
    ) async throws -> [Key<Push>: Value] {
        try await readCommitted { [damagedRows] db in
            var values: [Key<Push>: Value] = [:]
            for push in Set(pushes) {
                let value = try damagedRows.readable("push \(push)") {
                    try db.prepared(PushStatements.content).first(push) { read(try Push.Content(stored: $0.blob(0))) }
                }
                if let value = value ?? nil { values[push] = value }
            }
            return values
        }
    }

    /// The answers of a push on each platform, deleted platforms too; `pending` counts devices without one. Reads all
    /// batches of the push.
    package func answerCounts(of push: Key<Push>) async throws -> [Key<Platform>: [Answer: Int]] {
        try await read { db in
            var tallies: [Key<Platform>: AnswerTally] = [:]
            try db.prepared(ReceiptStatements.allAnswers).each(push) { row in
                row.withBlob(1) { tallies[Key(row.integer(0)), default: AnswerTally()].add($0) }
            }
            return try tallies.mapValues { try $0.counts() }
        }
    }

    /// When the push's devices were answered. Reads all batches of the push.
    package func answerTimes(of push: Key<Push>) async throws -> AnswerTimes {
        AnswerTimes(
            try await readCommitted { db in
                try db.prepared(ReceiptStatements.closed).all(push) { row in
                    AnswerTimes.Batch(
                        closedAt: Instant(milliseconds: row.integer(0)), devices: Int(row.integer(1)))
                }
            })
    }

    /// The answers that devices have in some pushes, without those that cannot be read. Reads at most one batch for each device and push.
    package func answers(
        of devices: [Device], in pushes: [Key<Push>]
    ) async throws -> [Key<Push>: [Key<Device>: Answer]] {
        try await read { db in
            var found: [Key<Push>: [Key<Device>: Answer]] = [:]
            for device in devices {
                try db.prepared(ReceiptStatements.ofDevice).each(SQLKeys(pushes), device.platformKey, device.key) {
                    row in
                    let batch = row.withBlob(1) { devices in
                        row.withBlob(2) { AnswerSearch.Candidate(platform: Key(0), devices: devices, answers: $0) }
                    }
                    if let answer = batch?.answer(of: device.key) {
                        found[Key(row.integer(0)), default: [:]][device.key] = answer
                    }
                }
            }
            return found
        }
    }

    /// The reports of a device's app about a push.
    package func reports(of device: Device, in push: Key<Push>) async throws -> Set<PushReport> {
        let own = DeviceBlock(device.key)
        return try await read { db in
            let reports = try db.prepared(ReportStatements.ofPush)
            return try Set(
                PushReport.allCases.filter { report in
                    let block = try reports.first(
                        push, report.kind.rawValue, device.platformKey, own.number, 1, as: DeviceBlock.init)
                    return block?.number == own.number && (block?.bits ?? 0) & own.bits != 0
                })
        }
    }

    /// The devices of a push with an answer of one kind, by platform and device, after `after`.
    ///
    /// A store reads a bounded number of batches: it may find fewer than `limit`, or none, and still return a `next`.
    ///
    /// - Parameter only: the only answer that counts; nil for all of the kind.
    package func answers(
        in push: Key<Push>, kind: Answer.Kind, only: Answer? = nil, after: AnswerCursor?, limit: Int
    ) async throws -> AnswerPage {
        let naming = secrets.naming
        let page = try await read { db in
            var search = AnswerSearch(kind: kind, only: only, after: after, limit: limit, naming: naming)
            let platform = after?.platform ?? Key(0)
            let start = try db.prepared(ReceiptStatements.batchHolding).first(
                push, platform, after?.device ?? Key(0), as: { $0.integer(0) })
            let batches = try db.prepared(ReceiptStatements.batches).all(
                push, platform, start ?? 0, ReceiptStatements.batchesMax
            ) { row in
                let end = AnswerCursor(platform: Key(row.integer(0)), device: Key(row.integer(3)))
                let batch = row.withBlob(1) { devices in
                    row.withBlob(2) { AnswerSearch.Candidate(platform: end.platform, devices: devices, answers: $0) }
                }
                return (batch, end)
            }
            for (batch, end) in batches where !search.isFull { search.look(at: batch, until: end) }
            return search.result(isEnd: batches.count < ReceiptStatements.batchesMax)
        }
        return page.renamed(
            try await namesOutside(of: page.answers.map(\.uuid), on: Set(page.answers.map(\.platform))))
    }
}

extension SQLConnection {
    /// A page of pushes, without unreadable ones.
    fileprivate func pushes(
        of application: Key<Application>, before: Key<Push>?, limit: Int, _ damaged: DamagedRows
    ) throws -> [PushHead] {
        try DamagedRows.slice(of: limit, after: before ?? Key(.max)) { before, limit in
            try prepared(ReceiptStatements.newest).all(application, before, limit) { row in
                (Key<Push>(row.integer(0)), try damaged.pushHead(row))
            }
        }
    }
}

extension DamagedRows {
    func pushHead(_ row: some SQLRow) throws -> PushHead? {
        try readable("push \(row.integer(0))") { try PushHead(row) }
    }
}

enum ReceiptStatements {
    /// The most batches read for one answer: about a megabyte.
    static let batchesMax = 200

    /// Scans `push_application` backwards.
    static let newest: SQLText = """
        SELECT id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms
               /* receipts.newest */
          FROM push
         WHERE application_id = $1 AND id < $2
         ORDER BY id DESC
         LIMIT $3
        """

    /// Scans `push_progress_open` backwards, past the open pushes of other applications, but no more than the newest 50,000 of all: when a
    /// provider is out of reach, there may be millions.
    static let open: SQLText = """
        SELECT push.id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms
               /* receipts.open */
          FROM push_progress \(sqlite: "INDEXED BY push_progress_open CROSS ")JOIN push ON push.id = push_progress.push_id
         WHERE settled_at_ms IS NULL AND application_id = $1 AND push_progress.push_id >= coalesce(
            (SELECT push_id FROM push_progress WHERE settled_at_ms IS NULL ORDER BY push_id DESC LIMIT 1 OFFSET 49999), 0)
         ORDER BY push_progress.push_id DESC
         LIMIT $2
        """

    /// Scans `batch_open` backwards, past the open pushes of other applications, but no more than the newest 50,000 batches of all.
    static let openWhole: SQLText = """
        SELECT push.id, receipt_id, application_id, push.lane, guarantee, accepted_at_ms, expires_at_ms
               /* receipts.open_whole */
          FROM batch \(sqlite: "INDEXED BY batch_open CROSS ")JOIN push ON push.id = batch.push_id
         WHERE is_whole = true AND is_open = true AND application_id = $1 AND batch.push_id >= coalesce(
            (SELECT push_id FROM batch \(sqlite: "INDEXED BY batch_open ")WHERE is_whole = true AND is_open = true
              ORDER BY push_id DESC LIMIT 1 OFFSET 49999), 0)
         GROUP BY \(sqlite: "batch.push_id", postgres: "push.id")
         ORDER BY \(sqlite: "batch.push_id", postgres: "push.id") DESC
         LIMIT $2
        """

    /// Scans `batch_device`.
    static let allAnswers: SQLText = """
        SELECT platform_id, answers /* receipts.all_answers */ FROM batch WHERE push_id = $1
        """

    /// Scans `batch_device`.
    static let closed: SQLText = """
        SELECT due_at_ms, length(answers) /* receipts.closed */ FROM batch WHERE push_id = $1 AND is_open = false
        """

    /// The start of the batch that contains a device. One step through `batch_device`.
    static let batchHolding: SQLText = """
        SELECT first_device_id /* receipts.batch_holding */ FROM batch
         WHERE push_id = $1 AND platform_id = $2 AND first_device_id <= $3
         ORDER BY first_device_id DESC
         LIMIT 1
        """

    /// The batches of pushes that may hold a device. One step through `batch_device` for each push.
    static let ofDevice: SQLText = """
        \(sqlite: """
            SELECT own.value, batch.devices, batch.answers /* receipts.of_device */
              FROM json_each($1) AS own
              CROSS JOIN batch ON batch.id = (
                SELECT id FROM batch AS held
                 WHERE held.push_id = own.value AND held.platform_id = $2 AND held.first_device_id <= $3
                 ORDER BY held.first_device_id DESC LIMIT 1)
             WHERE batch.last_device_id >= $3
            """,
            postgres: """
            SELECT own.id, held.devices, held.answers /* receipts.of_device */
              FROM unnest($1) AS own (id)
              CROSS JOIN LATERAL (
                SELECT devices, answers, last_device_id FROM batch
                 WHERE push_id = own.id AND platform_id = $2 AND first_device_id <= $3
                 ORDER BY first_device_id DESC LIMIT 1) AS held
             WHERE held.last_device_id >= $3
            """)
        """

    /// Scans `batch_device` from a batch on.
    static let batches: SQLText = """
        SELECT platform_id, devices, answers, last_device_id /* receipts.batches */ FROM batch
         WHERE push_id = $1 AND (platform_id, first_device_id) >= ($2, $3)
         ORDER BY platform_id, first_device_id
         LIMIT $4
        """
}

/// The position of a reader in the answers of a push.
package struct AnswerCursor: Sendable, Hashable {
    package let platform: Key<Platform>
    package let device: Key<Device>
}

/// A page of the devices with an answer of one kind.
package struct AnswerPage: Sendable, Hashable {
    package let answers: [DeviceAnswer]
    /// nil when there are no more.
    package let next: AnswerCursor?

    /// Returns the page with other UUIDs for some of its devices.
    package func renamed(_ names: [UUID: UUID]) -> AnswerPage {
        AnswerPage(
            answers: answers.map {
                DeviceAnswer(uuid: names[$0.uuid] ?? $0.uuid, platform: $0.platform, answer: $0.answer)
            },
            next: next)
    }
}

/// A device of a push, and its answer.
package struct DeviceAnswer: Sendable, Hashable {
    package let uuid: UUID
    package let platform: Key<Platform>
    package let answer: Answer
}
