import BelfryCore
import FoundationEssentials

extension SQLStore {
    package func accept(_ push: NewPush) async throws -> Push {
        let content = push.content.storedText
        let audience = push.audience.storedText
        return try await write { session in
            do {
                try session.check(.content, of: push.applicationKey, adding: content.utf8.count + audience.utf8.count)
            } catch let excess as StoreError {
                // A push that is accepted already adds no content.
                guard try session.prepared(PushStatements.headByReceipt).first(push.receiptID, as: { _ in true }) != nil
                else { throw excess }
            }
            return try session.accept(push, content: content, audience: audience)
        }
    }

    package func receipt(_ receiptID: UUID) async throws -> Receipt? {
        let now = clock.now
        return try await readCommitted { db in
            guard let push = try db.prepared(PushStatements.headByReceipt).first(receiptID, as: PushHead.init) else {
                return nil
            }
            return try db.receipt(of: push, at: now)
        }
    }

    package func answer(of device: Key<Device>, in push: Key<Push>) async throws -> Answer? {
        try await read { db in
            try db.prepared(BatchStatements.holding).first(push, device) { row -> Answer? in
                guard
                    let devices = row.withBlob(0, { DeviceList.decode($0) }),
                    let index = devices.firstIndex(of: device)
                else { return nil }
                return try row.withBlob(1) { try [Answer](codes: $0, count: devices.count)[index] }
            } ?? nil
        }
    }
}

extension WriteSession {
    /// Stores the push, with its parts in their stored form.
    func accept(_ push: NewPush, content: String, audience: String) throws -> Push {
        guard try exists(push.applicationKey) else { throw StoreError.unknown("application \(push.applicationKey)") }
        let platforms = Set(push.platformKeys).sorted()
        let held = try hold(platforms)
        for platform in platforms where !held.contains(platform) {
            throw StoreError.unknown("platform \(platform)")
        }
        let now = now
        let key = try prepared(PushStatements.insert).first(
            push.receiptID, push.applicationKey, push.lane.rawValue, push.guarantee.rawValue, now, push.expiresAt,
            content, audience, push.platforms?.storedText, as: { Key<Push>($0.integer(0)) })
        guard let key else { return try acceptedBefore(push) }
        note(content.utf8.count + audience.utf8.count, .content, of: push.applicationKey)
        try prepared(PushStatements.insertProgress).send(key, platforms.count, platforms.isEmpty ? now : nil)
        for platform in platforms { try begin(push, as: key, on: platform) }
        effects.fallsDue = true
        let accepted = Push(
            key: key, receiptID: push.receiptID, applicationKey: push.applicationKey, content: push.content,
            audience: push.audience, platforms: push.platforms, lane: push.lane, guarantee: push.guarantee,
            acceptedAt: now,
            expiresAt: push.expiresAt)
        pushes.keep(accepted, bytes: content.utf8.count + audience.utf8.count)
        return accepted
    }

    /// The push that has the receipt id already.
    fileprivate func acceptedBefore(_ push: NewPush) throws -> Push {
        let old = try prepared(PushStatements.byReceipt).first(push.receiptID, as: Push.init)
        guard let old, old.applicationKey == push.applicationKey else {
            throw StoreError.unknown("push \(push.receiptID.lowercased) of this application")
        }
        return old
    }

    /// Writes the one batch of a short urgent audience at once; any other audience is left to a fan-out.
    ///
    /// Saves two transactions between the acceptance of an urgent push and its first message.
    private func begin(_ push: NewPush, as key: Key<Push>, on platform: Key<Platform>) throws {
        if push.lane == .urgent {
            let postings = db.postings(of: platform, application: push.applicationKey, now: now)
            let devices = try AudienceScan(push.audience, reader: postings)
                .devices(after: nil, limit: Batch.devicesMax + 1)
            if devices.count <= Batch.devicesMax {
                let batches = devices.isEmpty ? [] : [BatchDraft(devices)]
                return try write(batches, of: key, on: platform, in: push.lane, isLast: true)
            }
        }
        try prepared(FanOutStatements.insert).send(key, platform, push.lane.rawValue, now)
    }
}

extension SQLConnection {
    func receipt(of push: PushHead, at now: Instant) throws -> Receipt? {
        try receipts(of: [push], at: now, nil).first
    }

    /// In the order of the pushes, without those that were deleted, or whose counts cannot be read. Three round trips,
    /// however many there are.
    ///
    /// The progress is read first: a push that settles meanwhile must not be reported as settled with its earlier
    /// counts.
    ///
    /// - Parameter damaged: receives reports of unreadable counts; nil throws instead.
    func receipts(of pushes: [PushHead], at now: Instant, _ damaged: DamagedRows?) throws -> [Receipt] {
        guard !pushes.isEmpty else { return [] }
        let keys = SQLKeys(pushes.map(\.key))
        let progress = try prepared(PushStatements.progress).all(keys, now, as: PushProgress.init)
        let (tallies, unreadable) = try tallies(of: keys)
        for push in unreadable {
            let error = StoreError.damaged("the tally of push \(push)")
            guard let damaged else { throw error }
            damaged.note("the tally of push \(push)", error)
        }
        var parkings: [Key<Push>: [Parking]] = [:]
        try prepared(PushStatements.parkings).each(keys) { row in
            if let parking = Parking(row, from: 1) { parkings[Key(row.integer(0)), default: []].append(parking) }
        }
        let byPush = Dictionary(uniqueKeysWithValues: progress.map { ($0.push, $0) })
        return pushes.filter { !unreadable.contains($0.key) }.compactMap { push in
            byPush[push.key]?.receipt(of: push, counts: tallies[push.key] ?? [:], parked: parkings[push.key] ?? [])
        }
    }

    private func tallies(
        of pushes: SQLKeys
    ) throws -> (counts: [Key<Push>: [Answer: Int]], unreadable: Set<Key<Push>>) {
        var tallies: [Key<Push>: [Answer: Int]] = [:]
        var unreadable: Set<Key<Push>> = []
        try prepared(TallyStatements.all).each(pushes) { row in
            let push = Key<Push>(row.integer(0))
            if let answer = UInt8(exactly: row.integer(1)).flatMap(Answer.init(code:)) {
                tallies[push, default: [:]][answer] = Int(row.integer(2))
            } else {
                unreadable.insert(push)
            }
        }
        return (tallies, unreadable)
    }
}

/// The progress of a push, from the columns of `PushStatements.progress`.
private struct PushProgress {
    let push: Key<Push>
    let isFannedOut: Bool
    let devices: Int
    let firstAnswerAt: Instant?
    let settledAt: Instant?
    let damagedBatches: Int
    let damagedFanOuts: Int

    init(_ row: some SQLRow) {
        push = Key(row.integer(0))
        isFannedOut = row.integer(1) == 0
        devices = Int(row.integer(2))
        firstAnswerAt = row.integerIfAny(3).map(Instant.init(milliseconds:))
        settledAt = row.integerIfAny(4).map(Instant.init(milliseconds:))
        damagedBatches = Int(row.integer(5))
        damagedFanOuts = Int(row.integer(6))
    }

    /// - Parameter counts: of the devices that have their answer.
    func receipt(of push: PushHead, counts: [Answer: Int], parked: [Parking]) -> Receipt {
        var counts = counts
        let pending = devices - counts.values.reduce(0, +)
        if pending > 0 { counts[.pending] = pending }
        return Receipt(
            push: push, isFannedOut: isFannedOut, counts: counts, settledAt: settledAt, firstAnswerAt: firstAnswerAt,
            parked: parked, damagedBatches: damagedBatches, damagedFanOuts: damagedFanOuts)
    }
}

enum PushStatements {
    static let insert: SQLText = """
        INSERT INTO push /* pushes.insert */ (
            receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms, content, audience,
            platforms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            ON CONFLICT (receipt_id) DO NOTHING
        RETURNING id
        """

    static let insertProgress: SQLText = """
        INSERT INTO push_progress /* pushes.insert_progress */ (push_id, open_fan_out_count, settled_at_ms)
        VALUES ($1, $2, $3)
        """

    static let exists: SQLText = "SELECT 1 /* pushes.exists */ FROM push WHERE id = $1"

    static let byKey: SQLText = """
        SELECT id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms, content, audience, platforms
               /* pushes.by_key */
          FROM push
         WHERE id = $1
        """

    static let byReceipt: SQLText = """
        SELECT push.id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms, content, audience,
               platforms /* pushes.by_receipt */
          FROM push JOIN application ON application.id = application_id
         WHERE receipt_id = $1 AND NOT is_being_deleted
        """

    static let headByReceipt: SQLText = """
        SELECT push.id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms
               /* pushes.head_by_receipt */
          FROM push JOIN application ON application.id = application_id
         WHERE receipt_id = $1 AND NOT is_being_deleted
        """

    /// Its fan-outs are read in the order of their primary key, so that no other index is scanned.
    static let progress: SQLText = """
        SELECT push_id, open_fan_out_count, device_count, first_answer_at_ms, settled_at_ms,
               (SELECT count(*) FROM damaged_batch
                 WHERE damaged_batch.push_id = push_progress.push_id
                   AND (SELECT is_open FROM batch WHERE id = batch_id)),
               (SELECT count(*)
                  FROM (SELECT is_claimed, due_at_ms FROM fan_out
                         WHERE fan_out.push_id = push_progress.push_id
                         ORDER BY platform_id \(sqlite: "LIMIT -1 ")OFFSET 0) AS own
                 WHERE NOT is_claimed AND due_at_ms > $2) /* pushes.progress */
          FROM push_progress
         WHERE push_id \(among: "$1")
        """

    /// Reads the push's batches only for platforms that are parked.
    static let parkings: SQLText = """
        SELECT push.id, parked_cause, parked_detail, parked_since_ms /* pushes.parkings */
          FROM push JOIN platform ON platform.application_id = push.application_id
         WHERE push.id \(among: "$1") AND parked_cause IS NOT NULL
           AND (EXISTS (SELECT 1 FROM fan_out WHERE push_id = push.id AND platform_id = platform.id)
                OR EXISTS (SELECT 1 FROM batch WHERE push_id = push.id AND platform_id = platform.id AND is_open))
         ORDER BY push.id, platform.id
        """

    /// Writes the result of a step of a fan-out. Comes after the batches.
    static let advance: SQLText = """
        UPDATE push_progress /* pushes.advance */
           SET open_fan_out_count = open_fan_out_count - $1, open_batch_count = open_batch_count + $2,
               device_count = device_count + $3,
               settled_at_ms = CASE WHEN open_fan_out_count = $1 AND open_batch_count + $2 = 0 THEN $4 END
         WHERE push_id = $5
        """

    /// Updates the push of a settled batch.
    static let settle: SQLText = """
        UPDATE push_progress /* pushes.settle */
           SET open_batch_count = open_batch_count - $1, first_answer_at_ms = coalesce(first_answer_at_ms, $2),
               settled_at_ms = CASE WHEN open_fan_out_count = 0 AND open_batch_count = $1 THEN $3 END
         WHERE push_id = $4
        """
}

enum TallyStatements {
    static let all: SQLText = """
        SELECT push_id, answer, device_count /* tallies.all */ FROM tally WHERE push_id \(among: "$1")
        """

    static let add: SQLText = """
        INSERT INTO tally /* tallies.add */ (push_id, answer, device_count) VALUES ($1, $2, $3)
            ON CONFLICT (push_id, answer) DO UPDATE SET device_count = tally.device_count + excluded.device_count
        """
}
