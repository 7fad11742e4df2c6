import BelfryCore

/// A row of `subscription`: devices that follow each other on one posting list, in the order of their ids.
///
/// The stretches of a list do not overlap. A sweep brings the devices of a topic as one row, which costs what one device
/// would; a device that subscribes later than it came goes into the stretch it falls within, or makes one of its own.
struct Stretch: Hashable {
    /// Ascending, and never empty.
    private(set) var devices: [Int64]

    /// A sweep cuts here, so that a row stays on its page.
    static let countMax = 512

    init(_ devices: [Int64]) {
        precondition(!devices.isEmpty, "a stretch holds a device")
        self.devices = devices
    }

    var first: Int64 { devices[0] }
    var last: Int64 { devices[devices.count - 1] }

    /// Those after the first, as differences from it; nil when there are none.
    var others: [UInt8]? {
        devices.count == 1 ? nil : DeviceList.encode(devices.dropFirst().map { Key($0 - first) })
    }

    /// Does nothing when the device is there.
    mutating func insert(_ device: Int64) {
        let place = devices.firstIndex { $0 >= device } ?? devices.endIndex
        if place == devices.endIndex || devices[place] != device { devices.insert(device, at: place) }
    }

    /// What is left of the devices; nil when nothing is.
    func without(_ device: Int64) -> Stretch? {
        let left = devices.filter { $0 != device }
        return left.isEmpty ? nil : Stretch(left)
    }
}

extension Stretch {
    /// From the columns of `SQLiteStretchStatements.around` and `SQLitePostingStatements.topic`.
    init(_ row: SQLiteRow) throws {
        let first = row.integer(0)
        guard let others = row.isNull(1) ? [] : row.withBlob(1, { DeviceList.decode($0) }) else {
            throw StoreError.damaged("a posting list", "at device \(first)")
        }
        self.init(
            [first]
                + (try others.map { other in
                    let (device, overflow) = first.addingReportingOverflow(other.rawValue)
                    guard !overflow else {
                        throw StoreError.unavailable("a posting list is damaged at device \(first)")
                    }
                    return device
                }))
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

    func insert(_ stretch: Stretch, into list: SubscriptionList) throws {
        try prepared(SQLiteStretchStatements.insert).run(
            list.topic, list.platform, stretch.first, stretch.devices.count, stretch.others)
    }

    private func add(_ device: Int64, to list: SubscriptionList) throws {
        guard var stretch = try stretch(around: device, of: list), device <= stretch.last else {
            return try insert(Stretch([device]), into: list)
        }
        try delete(stretch, of: list)
        stretch.insert(device)
        try insert(stretch, into: list)
    }

    private func remove(_ device: Int64, from list: SubscriptionList) throws {
        guard let stretch = try stretch(around: device, of: list), device <= stretch.last else { return }
        try delete(stretch, of: list)
        if let left = stretch.without(device) { try insert(left, into: list) }
    }

    /// The last stretch that begins with the device or before it.
    private func stretch(around device: Int64, of list: SubscriptionList) throws -> Stretch? {
        try prepared(SQLiteStretchStatements.around).first(list.topic, list.platform, device, as: Stretch.init)
    }

    private func delete(_ stretch: Stretch, of list: SubscriptionList) throws {
        try prepared(SQLiteStretchStatements.delete).run(list.topic, list.platform, stretch.first)
    }
}

enum SQLiteStretchStatements {
    /// Walks the primary key backwards.
    static let around = """
        SELECT device_id, others /* stretches.around */ FROM subscription
         WHERE topic_id = ?1 AND platform_id = ?2 AND device_id <= ?3
         ORDER BY device_id DESC
         LIMIT 1
        """

    static let insert = """
        INSERT INTO subscription /* stretches.insert */ (topic_id, platform_id, device_id, device_count, others)
        VALUES (?1, ?2, ?3, ?4, ?5)
        """

    static let delete = """
        DELETE FROM subscription /* stretches.delete */
         WHERE topic_id = ?1 AND platform_id = ?2 AND device_id = ?3
        """
}
