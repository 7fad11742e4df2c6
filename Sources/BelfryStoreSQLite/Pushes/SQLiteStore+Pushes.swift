package import BelfryCore
package import FoundationEssentials
import GRDB

extension SQLiteStore: PushStore {
    package func accept(_ push: NewPush) async throws -> Push {
        let content = push.content.storedText
        let audience = push.audience.storedText
        return try await writer.write { session in
            do {
                try session.check(.content, of: push.applicationKey, adding: content.utf8.count + audience.utf8.count)
            } catch let excess as StoreError {
                // One that is accepted already is no more content.
                guard try session.prepared(PushStatements.headByReceipt).first(push.receiptID, as: { _ in true }) != nil
                else { throw excess }
            }
            return try session.accept(push, content: content, audience: audience)
        }
    }

    package func receipt(_ receiptID: UUID) async throws -> Receipt? {
        let now = clock.now
        return try await read { db in
            guard let push = try db.prepared(PushStatements.headByReceipt).first(receiptID, as: PushHead.init) else {
                return nil
            }
            return try db.receipt(of: push, at: now)
        }
    }

    package func answer(of device: Key<Device>, in push: Key<Push>) async throws -> Answer? {
        try await read { db in
            try db.prepared(PageStatements.holding).first(push, device) { row -> Answer? in
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
    /// Keeps the push, with its parts as they are written down.
    func accept(_ push: NewPush, content: String, audience: String) throws -> Push {
        guard try exists(push.applicationKey) else { throw StoreError.unknown("application \(push.applicationKey)") }
        let platforms = Set(push.platformKeys).sorted()
        for platform in platforms where try stand(of: platform) == nil {
            throw StoreError.unknown("platform \(platform)")
        }
        let now = clock.now
        try prepared(PushStatements.insert).run(
            push.receiptID, push.applicationKey, push.lane.rawValue, push.guarantee.rawValue, now, push.expiresAt,
            content, audience)
        guard db.changesCount > 0 else { return try acceptedBefore(push) }
        let key = Key<Push>(db.lastInsertedRowID)
        note(content.utf8.count + audience.utf8.count, .content, of: push.applicationKey)
        try prepared(PushStatements.insertProgress).run(key, platforms.count, platforms.isEmpty ? now : nil)
        for platform in platforms { try begin(push, as: key, on: platform, now: now) }
        effects.fallsDue = true
        let accepted = Push(
            key: key, receiptID: push.receiptID, applicationKey: push.applicationKey, content: push.content,
            audience: push.audience, lane: push.lane, guarantee: push.guarantee, acceptedAt: now,
            expiresAt: push.expiresAt)
        pushes.keep(accepted)
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

    /// Writes the one page of a short urgent audience at once; any other audience is left to a walk.
    ///
    /// Two transactions less between the acceptance of an urgent push and its first message.
    private func begin(_ push: NewPush, as key: Key<Push>, on platform: Key<Platform>, now: Instant) throws {
        if push.lane == .urgent {
            let postings = try SQLitePostings(db, platform: platform, application: push.applicationKey, now: now)
            let devices = try AudienceWalk(push.audience, reader: postings)
                .devices(after: nil, limit: Page.devicesMax + 1)
            if devices.count <= Page.devicesMax {
                let pages = devices.isEmpty ? [] : [PageDraft(devices)]
                return try write(pages, of: key, on: platform, in: push.lane, isLast: true, now: now)
            }
        }
        try prepared(WalkStatements.insert).run(key, platform, push.lane.rawValue, now)
    }
}

extension Database {
    func receipt(of push: PushHead, at now: Instant) throws -> Receipt? {
        try prepared(PushStatements.progress).first(push.key, now) { row in
            let devices = Int(row.integer(1))
            var counts = try tally(of: push.key)
            let pending = devices - counts.values.reduce(0, +)
            if pending > 0 { counts[.pending] = pending }
            return Receipt(
                push: push, isSpread: row.integer(0) == 0, counts: counts,
                settledAt: row.integerIfAny(3).map(Instant.init(milliseconds:)),
                firstAnswerAt: row.integerIfAny(2).map(Instant.init(milliseconds:)),
                parked: try prepared(PushStatements.parkings).all(push.key) { Parking($0, from: 0) }.compactMap(\.self),
                damagedPages: Int(row.integer(4)), damagedWalks: Int(row.integer(5)))
        }
    }

    private func tally(of push: Key<Push>) throws -> [Answer: Int] {
        var counts: [Answer: Int] = [:]
        try prepared(TallyStatements.all).each(push) { row in
            guard let answer = UInt8(exactly: row.integer(0)).flatMap(Answer.init(code:)) else {
                throw StoreError.damaged("the tally of push \(push)")
            }
            counts[answer] = Int(row.integer(1))
        }
        return counts
    }
}

enum PushStatements {
    static let insert = """
        INSERT INTO push /* pushes.insert */ (
            receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms, content, audience)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT (receipt_id) DO NOTHING
        """

    static let insertProgress = """
        INSERT INTO push_progress /* pushes.insert_progress */ (push_id, open_walk_count, settled_at_ms)
        VALUES (?1, ?2, ?3)
        """

    static let exists = """
        SELECT 1 /* pushes.exists */ FROM push WHERE id = ?1
        """

    static let byKey = """
        SELECT id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms, content, audience
               /* pushes.by_key */
          FROM push
         WHERE id = ?1
        """

    static let byReceipt = """
        SELECT push.id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms, content, audience
               /* pushes.by_receipt */
          FROM push JOIN application ON application.id = application_id
         WHERE receipt_id = ?1 AND is_doomed = 0
        """

    static let headByReceipt = """
        SELECT push.id, receipt_id, application_id, lane, guarantee, accepted_at_ms, expires_at_ms
               /* pushes.head_by_receipt */
          FROM push JOIN application ON application.id = application_id
         WHERE receipt_id = ?1 AND is_doomed = 0
        """

    static let progress = """
        SELECT open_walk_count, device_count, first_answer_at_ms, settled_at_ms,
               (SELECT count(*) FROM damaged_page
                 WHERE push_id = ?1 AND (SELECT is_open FROM page WHERE id = page_id)),
               (SELECT count(*) FROM walk WHERE push_id = ?1 AND is_claimed = 0 AND due_at_ms > ?2) /* pushes.progress */
          FROM push_progress
         WHERE push_id = ?1
        """

    /// Looks at the push's pages only for platforms that are parked.
    static let parkings = """
        SELECT parked_cause, parked_detail, parked_since_ms /* pushes.parkings */
          FROM platform
         WHERE application_id = (SELECT application_id FROM push WHERE id = ?1) AND parked_cause IS NOT NULL
           AND (EXISTS (SELECT 1 FROM walk WHERE push_id = ?1 AND platform_id = platform.id)
                OR EXISTS (SELECT 1 FROM page WHERE push_id = ?1 AND platform_id = platform.id AND is_open = 1))
         ORDER BY id
        """

    /// Writes what a step of a walk found. Comes after the pages.
    static let advance = """
        UPDATE push_progress /* pushes.advance */
           SET open_walk_count = open_walk_count - ?1, open_page_count = open_page_count + ?2,
               device_count = device_count + ?3,
               settled_at_ms = CASE WHEN open_walk_count = ?1 AND open_page_count + ?2 = 0 THEN ?4 END
         WHERE push_id = ?5
        """

    /// Writes what a settled page means for its push.
    static let settle = """
        UPDATE push_progress /* pushes.settle */
           SET open_page_count = open_page_count - ?1, first_answer_at_ms = coalesce(first_answer_at_ms, ?2),
               settled_at_ms = CASE WHEN open_walk_count = 0 AND open_page_count = ?1 THEN ?3 END
         WHERE push_id = ?4
        """
}

enum TallyStatements {
    static let all = """
        SELECT answer, device_count /* tallies.all */ FROM tally WHERE push_id = ?1
        """

    static let add = """
        INSERT INTO tally /* tallies.add */ (push_id, answer, device_count) VALUES (?1, ?2, ?3)
            ON CONFLICT (push_id, answer) DO UPDATE SET device_count = device_count + excluded.device_count
        """
}
