import GRDB

/// Merges new devices into the posting lists of their topics, many at a time and in the order of the lists.
///
/// A new device with ten topics belongs on ten random pages of `subscription`. Alone, it would need each of them found,
/// changed and logged; a merge touches each once for thousands of devices, with one row for all devices that a topic
/// gains. Devices past the mark are not in the lists yet: readers take their topics from their rows (`SQLitePostings`).
/// Since ids ascend, those come after all that are in the lists.
///
/// The cost of a merge depends on the number of lists, and all other writes wait for its transaction. A merge of many
/// lists is therefore done in steps, with other writes between them; `PostingMark` tells how far each list has come.
struct SQLiteSubscriptionMerge {
    let session: SQLiteWriteSession

    /// The number of new devices that triggers a merge, and that one merge takes. Readers scan as many rows.
    /// See docs/decisions/0006-what-a-registration-costs.md.
    static let stride: Int64 = 8_192
    /// The most postings of one merge, as many as devices of ten topics each have: a device may have many more.
    var postingsMax = 81_920
    /// The most lists that one step appends to.
    var listsMax = 256

    func noteNew(_ device: Key<Device>) throws {
        session.newest = device.rawValue
        if try isDue() { session.mergeIsDue = true }
    }

    /// Several writes may have asked for the same merge.
    func stepIfDue() throws {
        if try session.postingMark().merge != nil || isDue() { try step() }
    }

    /// A running merge requests its next step itself, unless its postings were dropped from the cache.
    private func isDue() throws -> Bool {
        guard let newest = session.newest else { return false }
        let mark = try session.postingMark()
        guard mark.merge == nil || session.gains == nil else { return false }
        return newest - mark.device >= Self.stride
    }

    func stepIfBehind(_ last: Int64) throws {
        if try session.postingMark().device < last { try step() }
    }

    /// Finds the postings of a merge, which is a step of its own where there are many lists; or appends to some lists.
    func step() throws {
        let mark = try session.postingMark()
        if let merge = mark.merge, let gains = session.gains {
            // The only reference, so that it is not copied.
            session.gains = nil
            return try append(gains, mark, until: merge.end)
        }
        let (gains, last) = try gains(after: mark)
        // The last devices of a merge may have been deleted since it began.
        let end = mark.merge?.end ?? last
        guard end > mark.device else { return }
        guard gains.count > listsMax else { return try append(gains, mark, until: end) }
        try goOn(gains, PostingMark(device: mark.device, merge: mark.merge ?? PostingMark.Merge(end: end, last: nil)))
    }

    /// Finds the postings that the merge has yet to append, and its last device.
    private func gains(after mark: PostingMark) throws -> (gains: PostingAdditions, last: Int64) {
        var devices: [SubscriptionList: [Int64]] = [:]
        var last = mark.device
        var count = 0
        try session.prepared(SQLiteSubscriptionStatements.unmerged).scan(
            mark.device, mark.merge?.end ?? .max, Self.stride
        ) { row in
            last = row.integer(0)
            guard row.integer(2) > 0 else { return .next }
            let platform = Key<Platform>(row.integer(1))
            for topic in row.withBlob(3, { TopicList.readable($0) }) {
                let list = SubscriptionList(topic: topic, platform: platform)
                if mark.last(of: list) < last { devices[list, default: []].append(last) }
                count += 1
            }
            return count < postingsMax || mark.merge != nil ? .next : .stop
        }
        return (PostingAdditions(devices), last)
    }

    private func append(_ gains: consuming PostingAdditions, _ mark: PostingMark, until end: Int64) throws {
        let lists = gains.takeFirst(listsMax)
        for (list, devices) in lists {
            for start in Swift.stride(from: 0, to: devices.count, by: PostingBlock.countMax) {
                let block = PostingBlock(Array(devices[start..<min(start + PostingBlock.countMax, devices.count)]))
                try session.insert(block, into: list)
            }
        }
        if gains.count == 0 {
            try session.setPostingMark(PostingMark(device: end, merge: nil))
        } else {
            try goOn(
                gains, PostingMark(device: mark.device, merge: PostingMark.Merge(end: end, last: lists.last?.list)))
        }
    }

    /// Leaves the rest to the next step.
    private func goOn(_ gains: PostingAdditions, _ mark: PostingMark) throws {
        try session.setPostingMark(mark)
        session.gains = gains
        session.mergeIsDue = true
    }
}

/// Postings that a merge appends: for each list, devices in ascending order.
struct PostingAdditions {
    /// In reverse order, so that the first list is removed from the end.
    private var gains: [(list: SubscriptionList, devices: [Int64])]

    /// - Parameter devices: ascending.
    init(_ devices: [SubscriptionList: [Int64]]) {
        gains = devices.map { ($0.key, $0.value) }.sorted { $0.list > $1.list }
    }

    /// The number of lists.
    var count: Int { gains.count }

    mutating func insert(_ device: Int64, into list: SubscriptionList) {
        let place = place(of: list)
        guard place < gains.endIndex, gains[place].list == list else {
            return gains.insert((list, [device]), at: place)
        }
        let devices = gains[place].devices
        let at = devices.firstIndex { $0 >= device } ?? devices.endIndex
        if at == devices.endIndex || devices[at] != device { gains[place].devices.insert(device, at: at) }
    }

    mutating func remove(_ device: Int64, from list: SubscriptionList) {
        let place = place(of: list)
        guard place < gains.endIndex, gains[place].list == list else { return }
        gains[place].devices.removeAll { $0 == device }
        if gains[place].devices.isEmpty { gains.remove(at: place) }
    }

    /// Removes and returns the first lists, in their order.
    mutating func takeFirst(_ count: Int) -> [(list: SubscriptionList, devices: [Int64])] {
        defer { gains.removeLast(min(count, gains.count)) }
        return gains.suffix(count).reversed()
    }

    /// The index of the list, or where it would be.
    private func place(of list: SubscriptionList) -> Int {
        var (low, high) = (0, gains.count)
        while low < high {
            let middle = (low + high) / 2
            if gains[middle].list > list { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension SQLiteWriteSession {
    func postingMark() throws -> PostingMark {
        if let mark { return mark }
        let mark = try db.postingMark()
        self.mark = mark
        return mark
    }

    func setPostingMark(_ mark: PostingMark) throws {
        try prepared(SQLiteSubscriptionStatements.setMark).run(
            mark.device, mark.merge?.end, mark.merge?.last?.topic, mark.merge?.last?.platform)
        self.mark = mark
    }
}

extension Database {
    func postingMark() throws -> PostingMark {
        try prepared(SQLiteSubscriptionStatements.mark).first { row in
            let last = row.integerIfAny(2).map { SubscriptionList(topic: $0, platform: Key(row.integer(3))) }
            return PostingMark(
                device: row.integer(0), merge: row.integerIfAny(1).map { PostingMark.Merge(end: $0, last: last) })
        } ?? PostingMark(device: 0, merge: nil)
    }
}

enum SQLiteSubscriptionStatements {
    static let mark = """
        SELECT device_id, merge_device_id, merge_topic_id, merge_platform_id /* subscriptions.mark */
          FROM subscription_mark
         WHERE id = 1
        """

    static let setMark = """
        UPDATE subscription_mark /* subscriptions.set_mark */
           SET device_id = ?1, merge_device_id = ?2, merge_topic_id = ?3, merge_platform_id = ?4
         WHERE id = 1
        """

    static let lastDevice = "SELECT max(id) /* subscriptions.last_device */ FROM device"

    static let unmerged = """
        SELECT id, platform_id, reach, topics /* subscriptions.unswept */
          FROM device
         WHERE id > ?1 AND id <= ?2
         ORDER BY id
         LIMIT ?3
        """
}
