import BelfryCore
import PostgreSQL

/// What a transaction changes of posting lists: written at once, in the order of the lists.
struct PostingChanges {
    private var gained: [Posting] = []
    private var lost: [Posting] = []

    private struct Posting: Comparable {
        let topic: Int64
        let platform: Key<Platform>
        let device: Key<Device>

        static func < (left: Self, right: Self) -> Bool {
            (left.topic, left.platform, left.device) < (right.topic, right.platform, right.device)
        }
    }

    /// Moves a device from some lists to others. Both are topic ids.
    mutating func move(_ device: Key<Device>, on platform: Key<Platform>, from old: [Int64], to new: [Int64]) {
        guard old != new else { return }
        let (before, after) = (Set(old), Set(new))
        lost += before.subtracting(after).map { Posting(topic: $0, platform: platform, device: device) }
        gained += after.subtracting(before).map { Posting(topic: $0, platform: platform, device: device) }
    }

    func write(in session: WriteSession) throws {
        for (sql, postings) in [(PostingStatements.remove, lost), (PostingStatements.add, gained)]
        where !postings.isEmpty {
            let ordered = postings.sorted()
            try session.prepared(sql).send(
                PostgresArray(ordered.map(\.topic)), PostgresArray(ordered.map(\.platform)),
                PostgresArray(ordered.map(\.device)))
        }
    }
}

extension PostingStatements {
    static let add = """
        INSERT INTO subscription /* postings.add */ (topic_id, platform_id, device_id)
        SELECT topic_id, platform_id, device_id FROM unnest($1, $2, $3) AS gained (topic_id, platform_id, device_id)
            ON CONFLICT DO NOTHING
        """

    /// Looks each up in the primary key, one after the other, whatever the planner believes of the table's size.
    static let remove = """
        DELETE FROM subscription /* postings.remove */
         WHERE ctid = ANY (ARRAY(
            SELECT found.ctid
              FROM unnest($1, $2, $3) AS lost (topic_id, platform_id, device_id)
             CROSS JOIN LATERAL (
                SELECT ctid FROM subscription
                 WHERE topic_id = lost.topic_id AND platform_id = lost.platform_id AND device_id = lost.device_id
                 LIMIT 1) AS found))
        """
}
