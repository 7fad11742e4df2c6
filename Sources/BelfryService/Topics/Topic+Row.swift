extension Topic {
    /// From the columns of `TopicStatements.byName` and its like.
    init(_ row: some SQLRow) {
        self.init(key: Key(row.integer(0)), name: row.text(1), expiresAt: row.instantIfAny(2))
    }

    func isLiving(at now: Instant) -> Bool { expiresAt.map { $0 > now } ?? true }

    /// nil when its time has come.
    func living(at now: Instant) -> Topic? { isLiving(at: now) ? self : nil }
}

extension SQLConnection {
    /// The names of a device's topic ids, sorted; without deleted and expired topics.
    func topicNames(_ ids: [Int64], at now: Instant) throws -> [String] {
        try topics(ids).filter { $0.isLiving(at: now) }.map(\.name).sorted()
    }

    /// The topics that exist, expired ones included.
    func topics(_ ids: some Collection<Int64>) throws -> [Topic] {
        guard !ids.isEmpty else { return [] }
        return try prepared(TopicStatements.byIDs).all(SQLKeys(ids), as: Topic.init)
    }
}

enum TopicStatements {
    static let byName: SQLText = """
        SELECT id, name, expires_at_ms /* topics.by_name */ FROM topic WHERE application_id = $1 AND name = $2
        """

    static let byIDs: SQLText = "SELECT id, name, expires_at_ms /* topics.by_ids */ FROM topic WHERE id \(among: "$1")"
}
