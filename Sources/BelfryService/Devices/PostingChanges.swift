import PostgreSQL

/// The changes that a transaction makes to posting lists: written at once, in the order of the lists.
struct PostingChanges {
    private var gained: [Posting] = []
    private var lost: [Posting] = []

    /// Moves a device, whose row is locked, from some lists to others. Both are topic ids.
    mutating func move(_ device: Key<Device>, on platform: Key<Platform>, from old: [Int64], to new: [Int64]) {
        guard old != new else { return }
        let (before, after) = (Set(old), Set(new))
        func postings(_ topics: Set<Int64>) -> [Posting] {
            topics.map { Posting(list: SubscriptionList(topic: $0, platform: platform), device: device) }
        }
        lost += postings(before.subtracting(after))
        gained += postings(after.subtracting(before))
    }

    /// Leaves out devices that are not merged yet: a merge will read their rows as they are by then.
    func write(in session: PostgresWriteSession) throws {
        guard !gained.isEmpty || !lost.isEmpty else { return }
        let mark = try session.heldPostingMark()
        let (lost, wanted) = (lost.merged(until: mark), gained.merged(until: mark))
        let living = try session.holdTopics(Set(wanted.map(\.list.topic)))
        let gained = wanted.filter { living.contains($0.list.topic) }
        for (sql, postings) in [(PostgresPostingStatements.remove, lost), (PostgresPostingStatements.add, gained)]
        where !postings.isEmpty {
            try session.prepared(sql).send(
                PostgresArray(postings.map(\.list.topic)), PostgresArray(postings.map(\.list.platform)),
                PostgresArray(postings.map(\.device)))
        }
        if !lost.isEmpty { try session.removeFromBlocks(lost) }
    }
}

/// The entry of a device in a list.
struct Posting: Comparable {
    let list: SubscriptionList
    let device: Key<Device>

    static func < (left: Self, right: Self) -> Bool { (left.list, left.device) < (right.list, right.device) }
}

extension [Posting] {
    fileprivate func merged(until mark: Int64) -> [Posting] { filter { $0.device.rawValue <= mark }.sorted() }
}

extension PostgresPostingStatements {
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
