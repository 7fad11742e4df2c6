import PostgreSQL

/// Merges new devices into the posting lists of their topics, many at a time and in the order of the lists.
///
/// Alone, each device costs a row and an index entry for each topic; a merge of thousands writes one row for all
/// devices that a topic gains. Devices past the mark are not merged yet: readers take their topics from their rows
///, and a transaction that changes those leaves the lists alone (`PostingChanges`). One node at a
/// time merges (`PostgresMaintenance`), no further than the horizon (`DeviceHorizon`). See decision 20.
struct PostgresSubscriptionMerge {
    let session: PostgresWriteSession
    /// Fewer new devices than these are merged only when no more arrive.
    var handful: Int64 = 2_048

    /// Devices merged in one step.
    private static let stride = 32_768

    /// Merges when there are enough new devices, or when none arrived since the last step.
    func step() throws {
        let state = try session.prepared(PostgresSubscriptionStatements.state).first { row in
            (mark: row.integer(0), settled: row.integer(1), newest: row.integer(2))
        }
        guard let state, state.settled > state.mark,
            state.settled - state.mark >= handful || state.settled == state.newest
        else { return }
        // Waits for transactions that change topics of devices on either side of the mark; later ones wait for this
        // one.
        try session.prepared(PostgresSubscriptionStatements.holdMark).run()
        var devices: [NewSubscriber] = []
        try session.prepared(PostgresSubscriptionStatements.unmerged).each(state.mark, state.settled, Self.stride) {
            row in
            devices.append(
                NewSubscriber(
                    device: Key(row.integer(0)), platform: Key(row.integer(1)), isActive: row.integer(2) > 0,
                    topics: row.withBlob(3) { TopicList.readable($0) }))
        }
        let isFull = devices.count == Self.stride
        try session.merge(devices, until: isFull ? devices[devices.count - 1].device.rawValue : state.settled)
    }
}

/// A device to merge into the posting lists.
struct NewSubscriber {
    let device: Key<Device>
    let platform: Key<Platform>
    let isActive: Bool
    let topics: [Int64]
}

extension PostgresWriteSession {
    /// Writes the postings of devices past the mark, ascending, and moves the mark. Deleted topics are left out; the
    /// others cannot be deleted until the transaction ends.
    func merge(_ devices: [NewSubscriber], until mark: Int64) throws {
        var lists: [SubscriptionList: [Key<Device>]] = [:]
        let living = try holdTopics(Set(devices.lazy.flatMap(\.topics)))
        for device in devices where device.isActive {
            for topic in device.topics where living.contains(topic) {
                lists[SubscriptionList(topic: topic, platform: device.platform), default: []].append(device.device)
            }
        }
        var blocks: [PostingBlockRow] = []
        for (list, devices) in lists.sorted(by: { $0.key < $1.key }) {
            for start in Swift.stride(from: 0, to: devices.count, by: PostingBlockRow.countMax) {
                let end = min(start + PostingBlockRow.countMax, devices.count)
                blocks.append(PostingBlockRow(list: list, devices: Array(devices[start..<end])))
            }
        }
        if !blocks.isEmpty { try write(blocks, by: PostgresPostingBlockStatements.insert) }
        try prepared(PostgresSubscriptionStatements.setMark).send(mark)
    }

    /// The last device whose topics are in the lists. It does not change until the transaction ends.
    func heldPostingMark() throws -> Int64 {
        try awaitMerge()
        return try db.postingMark().device
    }

    /// Blocks merges until the transaction ends; the next statement sees what the last merge wrote.
    package func awaitMerge() throws { try prepared(PostgresSubscriptionStatements.shareMark).send() }
}

extension Connection {
    func postingMark() throws -> PostingMark {
        PostingMark(device: try prepared(PostgresSubscriptionStatements.mark).number() ?? 0, merge: nil)
    }
}

enum PostgresSubscriptionStatements {
    static let mark = "SELECT device_id /* subscriptions.mark */ FROM subscription_mark WHERE id = 1"

    static let setMark = "UPDATE subscription_mark /* subscriptions.set_mark */ SET device_id = $1 WHERE id = 1"

    /// The mark, the device horizon, and the newest device at the last step.
    static let state = """
        SELECT device_id, settled_device_id, newest_device_id /* subscriptions.state */
          FROM subscription_mark CROSS JOIN device_horizon
         WHERE subscription_mark.id = 1 AND device_horizon.id = 1
        """

    /// Both locks end with the transaction.
    static let holdMark = "SELECT pg_advisory_xact_lock(7236828798) /* subscriptions.hold_mark */"

    static let shareMark = "SELECT pg_advisory_xact_lock_shared(7236828798) /* subscriptions.share_mark */"

    /// Scans the primary key.
    static let unmerged = """
        SELECT id, platform_id, reach, topics /* subscriptions.unswept */ FROM device
         WHERE id > $1 AND id <= $2
         ORDER BY id
         LIMIT $3
        """
}
