import GRDB

extension Database {
    func merged(_ list: SubscriptionList, after: Int64, limit: Int) throws -> [Int64] {
        var devices: [Int64] = []
        try prepared(SQLitePostingStatements.topic).scan(list.topic, list.platform, after) { row in
            try row.eachPosting { if $0 > after { devices.append($0) } }
            return devices.count < limit ? .next : .stop
        }
        return devices
    }

    func add(_ devices: [Int64], to list: SubscriptionList) throws {
        let all = Set(try merged(list, after: 0, limit: .max) + devices).sorted()
        try prepared(SQLitePostingStatements.clear).run(list.topic, list.platform)
        let insert = try prepared(SQLitePostingBlockStatements.insert)
        for start in stride(from: 0, to: all.count, by: PostingBlock.countMax) {
            let block = PostingBlock(Array(all[start..<min(start + PostingBlock.countMax, all.count)]))
            try insert.run(list.topic, list.platform, block.first, block.devices.count, block.others)
        }
    }

    func devices(_ keys: [Key<Device>], on platform: Key<Platform>, after: Int64, limit: Int) throws -> [Int64] {
        var found: [Int64] = []
        let isOnPlatform = try prepared(SQLitePostingStatements.isOnPlatform)
        for key in keys.firstIndex(where: { $0.rawValue > after }).map({ keys[$0...] }) ?? [] {
            guard found.count < limit else { break }
            if try isOnPlatform.hasRow(key, platform) { found.append(key.rawValue) }
        }
        return found
    }
}

enum SQLitePostingStatements {
    /// Scans the primary key, from the last block that begins at or before the position.
    static let topic = """
        SELECT device_id, others /* postings.topic */ FROM subscription
         WHERE topic_id = ?1 AND platform_id = ?2 AND device_id >= coalesce(
            (SELECT max(device_id) FROM subscription WHERE topic_id = ?1 AND platform_id = ?2 AND device_id <= ?3), 0)
         ORDER BY device_id
        """

    static let clear = "DELETE FROM subscription /* postings.clear */ WHERE topic_id = ?1 AND platform_id = ?2"

    static let isOnPlatform = "SELECT 1 /* postings.is_on_platform */ FROM device WHERE id = ?1 AND platform_id = ?2"
}

/// The posting list of a topic on a platform.
package struct SubscriptionList: Hashable, Comparable {
    let topic: Int64
    let platform: Key<Platform>

    package static func < (left: Self, right: Self) -> Bool {
        (left.topic, left.platform) < (right.topic, right.platform)
    }
}

/// The progress of the posting lists: topics of devices past it are in their rows.
package struct PostingMark: Hashable {
    /// The last device that is in all of its lists.
    let device: Int64
    let merge: Merge?

    /// A merge that is under way; in PostgreSQL each is one transaction, so none is seen.
    struct Merge: Hashable {
        /// The last device that it brings into the lists.
        let end: Int64
        /// The last list that has its devices; nil for none yet.
        let last: SubscriptionList?
    }

    /// The last device that is in any list.
    var lastOfAny: Int64 { merge?.end ?? device }

    /// The last device that is in this list, if it belongs there.
    func last(of list: SubscriptionList) -> Int64 {
        guard let merge, let last = merge.last, list <= last else { return device }
        return merge.end
    }
}
