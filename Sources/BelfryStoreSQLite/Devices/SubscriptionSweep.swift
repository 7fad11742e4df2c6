import BelfryCore
import GRDB

/// Brings new devices into the posting lists of their topics, many at a time and in the order of the lists.
///
/// A new device with ten topics belongs on ten random pages of `subscription`. Alone, each of them would be found, changed
/// and logged for it; a sweep touches each once for a thousand devices. Devices beyond the mark are not swept yet:
/// readers take their topics from their rows (`SQLitePostings`). Since ids ascend, those follow on all that are swept.
struct SubscriptionSweep {
    let session: WriteSession

    /// So many new devices make a sweep. Readers look through as many rows, and a sweep of them takes a few milliseconds.
    static let stride: Int64 = 1_024

    func noteNew(_ device: Key<Device>) throws {
        if try device.rawValue - session.subscriptionMark() >= Self.stride { session.effects.sweepIsDue = true }
    }

    /// Sweeps when no device came since the last look.
    func stepWhenQuiet() throws {
        let last = try session.prepared(SubscriptionStatements.lastDevice).first { $0.integer(0) } ?? 0
        defer { session.lastDeviceSeen = last }
        if last == session.lastDeviceSeen, try session.subscriptionMark() < last { try step() }
    }

    func step() throws {
        let mark = try session.subscriptionMark()
        var end = mark
        var found: [Subscription] = []
        try session.prepared(SubscriptionStatements.unswept).each(mark, Self.stride * 2) { row in
            end = row.integer(0)
            guard row.integer(2) > 0 else { return }
            for topic in try row.withBlob(3, { try TopicList.decode($0) }) {
                found.append(Subscription(topic: topic, platform: row.integer(1), device: end))
            }
        }
        guard end > mark else { return }
        found.sort()
        let insert = try session.prepared(SubscriptionStatements.insert)
        for subscription in found { try insert.run(subscription.topic, subscription.platform, subscription.device) }
        try session.prepared(SubscriptionStatements.setMark).run(end)
        session.mark = end
    }

    private struct Subscription: Comparable {
        let topic: Int64
        let platform: Int64
        let device: Int64

        static func < (left: Self, right: Self) -> Bool {
            (left.topic, left.platform, left.device) < (right.topic, right.platform, right.device)
        }
    }
}

extension WriteSession {
    /// The last device whose topics are in `subscription`.
    fileprivate func subscriptionMark() throws -> Int64 {
        if let mark { return mark }
        let mark = try db.subscriptionMark()
        self.mark = mark
        return mark
    }

    /// Moves a device from some posting lists to others. Both are topic ids, ascending.
    func movePostings(of device: Key<Device>, on platform: Key<Platform>, from old: [Int64], to new: [Int64]) throws {
        guard old != new, try device.rawValue <= subscriptionMark() else { return }
        let (before, after) = (Set(old), Set(new))
        let delete = try prepared(SubscriptionStatements.delete)
        for topic in old where !after.contains(topic) { try delete.run(topic, platform, device) }
        let insert = try prepared(SubscriptionStatements.insert)
        for topic in new where !before.contains(topic) { try insert.run(topic, platform, device) }
    }
}

extension Database {
    func subscriptionMark() throws -> Int64 {
        try prepared(SubscriptionStatements.mark).first { $0.integer(0) } ?? 0
    }
}

enum SubscriptionStatements {
    static let mark = """
        SELECT device_id /* subscriptions.mark */ FROM subscription_mark WHERE id = 1
        """

    static let setMark = """
        UPDATE subscription_mark /* subscriptions.set_mark */ SET device_id = ?1 WHERE id = 1
        """

    static let lastDevice = """
        SELECT max(id) /* subscriptions.last_device */ FROM device
        """

    static let unswept = """
        SELECT id, platform_id, reach, topics /* subscriptions.unswept */
          FROM device
         WHERE id > ?1
         ORDER BY id
         LIMIT ?2
        """

    static let insert = """
        INSERT INTO subscription /* subscriptions.insert */ (topic_id, platform_id, device_id) VALUES (?1, ?2, ?3)
        """

    static let delete = """
        DELETE FROM subscription /* subscriptions.delete */
         WHERE topic_id = ?1 AND platform_id = ?2 AND device_id = ?3
        """
}
