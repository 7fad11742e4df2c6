package import FoundationEssentials

/// An update, a retraction or a reminder of a push, in the list of these.
package struct FollowUp: Sendable, Hashable {
    package let receiptID: UUID
    package let isRetraction: Bool
    package let isReminder: Bool
    package let acceptedAt: Instant

    /// The most that are listed.
    static let listedMax = 100
}

extension Store {
    /// The updates, retractions and reminders of a push, the first ones in their order.
    package func followUps(of push: Key<Push>) async throws -> [FollowUp] {
        try await readCommitted { db in
            try db.prepared(FollowUpStatements.ofPush).all(push, FollowUp.listedMax) { row in
                guard let receiptID = row.uuid(0) else { throw StoreError.damaged("a push that follows \(push)") }
                return FollowUp(
                    receiptID: receiptID, isRetraction: row.bool(1), isReminder: row.bool(2),
                    acceptedAt: Instant(milliseconds: row.integer(3)))
            }
        }
    }
}

extension WriteSession {
    /// An update or a retraction ends the reminders of what it follows.
    func write(_ followed: FollowedPush?, of push: Key<Push>) throws {
        guard let followed else { return }
        if !followed.isReminder,
            let earlier = try prepared(FollowUpStatements.followed).first(
                followed.receiptID, as: { Key<Push>($0.integer(0)) })
        {
            try endReminders(of: earlier)
        }
        try prepared(FollowUpStatements.insert).send(
            push, followed.receiptID, followed.isRetraction, followed.isReminder)
    }
}

enum FollowUpStatements {
    static let insert: SQLText = """
        INSERT INTO follow_up /* follow_ups.insert */ (push_id, followed_push_id, is_retraction, is_reminder)
        VALUES ($1, (SELECT id FROM push WHERE receipt_id = $2), $3, $4)
        """

    static let followed: SQLText = "SELECT id /* follow_ups.followed */ FROM push WHERE receipt_id = $1"

    /// Scans `follow_up_followed`.
    static let ofPush: SQLText = """
        SELECT receipt_id, is_retraction, is_reminder, accepted_at_ms /* follow_ups.of_push */
          FROM follow_up JOIN push ON push.id = push_id
         WHERE followed_push_id = $1
         ORDER BY push_id
         LIMIT $2
        """
}

/// Which pushes update and retract which.
enum FollowUpMigration: SchemaMigration {
    static let identifier = "0019 follow-ups (additive)"
    static let tables = [StoreTable("follow_up", rows: .perRow("push", 1), key: "push_id")]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                -- The update or retraction `push_id` of a push; see `FollowedPush`. It goes with either.
                CREATE TABLE follow_up (
                    push_id \(.bigint) PRIMARY KEY REFERENCES push (id) ON DELETE CASCADE,
                    followed_push_id \(.bigint) NOT NULL REFERENCES push (id) ON DELETE CASCADE,
                    \(flag: "is_retraction", false)
                ) \(.byID);
                CREATE INDEX follow_up_followed ON follow_up (followed_push_id, push_id);
                """)
    }
}
