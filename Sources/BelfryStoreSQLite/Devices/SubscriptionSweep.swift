import BelfryCore
import GRDB

/// Brings new devices into the posting lists of their topics, many at a time and in the order of the lists.
///
/// A new device with ten topics belongs on ten random pages of `subscription`. Alone, each of them would be found, changed
/// and logged for it; a sweep touches each once for thousands of devices, with one row for all that a topic has gained.
/// Devices beyond the mark are not swept yet: readers take their topics from their rows (`SQLitePostings`). Since ids
/// ascend, those follow on all that are swept.
struct SubscriptionSweep {
    let session: WriteSession

    /// So many new devices make a sweep, which costs by its topics rather than its devices. Readers look through as many rows.
    /// See docs/decisions/0006-what-a-registration-costs.md.
    static let stride: Int64 = 8_192

    func noteNew(_ device: Key<Device>) throws {
        session.newest = device.rawValue
        if try isDue() { session.effects.sweepIsDue = true }
    }

    /// Several writes may have asked for the same sweep.
    func stepIfDue() throws {
        if try isDue() { try step() }
    }

    private func isDue() throws -> Bool {
        guard let newest = session.newest else { return false }
        return try newest - session.subscriptionMark() >= Self.stride
    }

    func stepIfBehind(_ last: Int64) throws {
        if try session.subscriptionMark() < last { try step() }
    }

    func step() throws {
        let mark = try session.subscriptionMark()
        var end = mark
        var gains: [List: [Int64]] = [:]
        try session.prepared(SubscriptionStatements.unswept).each(mark, Self.stride * 2) { row in
            end = row.integer(0)
            guard row.integer(2) > 0 else { return }
            let platform = Key<Platform>(row.integer(1))
            for topic in try row.withBlob(3, { try TopicList.decode($0) }) {
                gains[List(topic: topic, platform: platform), default: []].append(end)
            }
        }
        guard end > mark else { return }
        for (list, devices) in gains.sorted(by: { $0.key < $1.key }) { try append(devices, to: list) }
        try session.prepared(SubscriptionStatements.setMark).run(end)
        session.mark = end
    }

    private func append(_ devices: [Int64], to list: List) throws {
        for start in Swift.stride(from: 0, to: devices.count, by: Stretch.countMax) {
            let stretch = Stretch(Array(devices[start..<min(start + Stretch.countMax, devices.count)]))
            try session.insert(stretch, into: list.topic, list.platform)
        }
    }

    private struct List: Hashable, Comparable {
        let topic: Int64
        let platform: Key<Platform>

        static func < (left: Self, right: Self) -> Bool {
            (left.topic, left.platform) < (right.topic, right.platform)
        }
    }
}

extension WriteSession {
    /// The last device whose topics are in `subscription`.
    func subscriptionMark() throws -> Int64 {
        if let mark { return mark }
        let mark = try db.subscriptionMark()
        self.mark = mark
        return mark
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
}
