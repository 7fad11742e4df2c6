/// A row of `subscription`: devices that follow each other on one posting list, in the order of their ids.
///
/// The blocks of a list do not overlap. A merge writes the devices of a topic as one row, which costs as much as one
/// device would; a device that subscribes later than it registered is added to the block around it, or gets its own.
struct PostingBlock: Hashable {
    /// Ascending, and never empty.
    private(set) var devices: [Int64]

    /// A merge splits here, so that a row stays on its page.
    static let countMax = 512

    init(_ devices: [Int64]) {
        precondition(!devices.isEmpty, "a block holds a device")
        self.devices = devices
    }

    var first: Int64 { devices[0] }
    var last: Int64 { devices[devices.count - 1] }

    /// The devices after the first, as differences from it; nil when there are none.
    var others: [UInt8]? {
        devices.count == 1 ? nil : DeviceList.encode(devices.dropFirst().map { Key($0 - first) })
    }

    /// Does nothing when the device is in it.
    mutating func insert(_ device: Int64) {
        let place = devices.firstIndex { $0 >= device } ?? devices.endIndex
        if place == devices.endIndex || devices[place] != device { devices.insert(device, at: place) }
    }

    /// The remaining devices; nil when there are none.
    func without(_ device: Int64) -> PostingBlock? {
        let left = devices.filter { $0 != device }
        return left.isEmpty ? nil : PostingBlock(left)
    }
}

extension PostingBlock {
    init(_ row: SQLiteRow) throws {
        var devices: [Int64] = []
        try row.eachPosting { devices.append($0) }
        self.init(devices)
    }
}

extension SQLiteRow {
    /// Calls `body` with each device of a block: a row of `SQLitePostingBlockStatements.around` or `SQLitePostingStatements.topic`.
    @inline(__always)
    func eachPosting(_ body: (Int64) -> Void) throws {
        let first = integer(0)
        body(first)
        guard isNull(1) || withBlob(1, { DeviceList.each(in: $0, behind: first, body) }) else {
            throw StoreError.damaged("a posting list", "at device \(first)")
        }
    }
}

extension SQLiteWriteSession {
    /// Moves a device from some posting lists to others. Both are topic ids, ascending.
    func movePostings(of device: Key<Device>, on platform: Key<Platform>, from old: [Int64], to new: [Int64]) throws {
        let (mark, device) = (try postingMark(), device.rawValue)
        guard old != new, device <= mark.lastOfAny else { return }
        let (before, after) = (Set(old), Set(new))
        for topic in old where !after.contains(topic) {
            let list = SubscriptionList(topic: topic, platform: platform)
            if device <= mark.last(of: list) {
                try remove(device, from: list)
            } else {
                gains?.remove(device, from: list)
            }
        }
        for topic in new where !before.contains(topic) {
            let list = SubscriptionList(topic: topic, platform: platform)
            if device <= mark.last(of: list) { try add(device, to: list) } else { gains?.insert(device, into: list) }
        }
    }

    func insert(_ block: PostingBlock, into list: SubscriptionList) throws {
        try prepared(SQLitePostingBlockStatements.insert).run(
            list.topic, list.platform, block.first, block.devices.count, block.others)
    }

    private func add(_ device: Int64, to list: SubscriptionList) throws {
        guard var block = try block(around: device, of: list), device <= block.last else {
            return try insert(PostingBlock([device]), into: list)
        }
        try delete(block, of: list)
        block.insert(device)
        try insert(block, into: list)
    }

    private func remove(_ device: Int64, from list: SubscriptionList) throws {
        guard let block = try block(around: device, of: list), device <= block.last else { return }
        try delete(block, of: list)
        if let left = block.without(device) { try insert(left, into: list) }
    }

    /// The last block that begins with the device or before it.
    private func block(around device: Int64, of list: SubscriptionList) throws -> PostingBlock? {
        try prepared(SQLitePostingBlockStatements.around).first(
            list.topic, list.platform, device, as: PostingBlock.init)
    }

    private func delete(_ block: PostingBlock, of list: SubscriptionList) throws {
        try prepared(SQLitePostingBlockStatements.delete).run(list.topic, list.platform, block.first)
    }
}

enum SQLitePostingBlockStatements {
    /// Scans the primary key backwards.
    static let around = """
        SELECT device_id, others /* blocks.around */ FROM subscription
         WHERE topic_id = ?1 AND platform_id = ?2 AND device_id <= ?3
         ORDER BY device_id DESC
         LIMIT 1
        """

    static let insert = """
        INSERT INTO subscription /* blocks.insert */ (topic_id, platform_id, device_id, device_count, others)
        VALUES (?1, ?2, ?3, ?4, ?5)
        """

    static let delete = """
        DELETE FROM subscription /* blocks.delete */
         WHERE topic_id = ?1 AND platform_id = ?2 AND device_id = ?3
        """
}
