/// Reads the posting lists of one platform, within its snapshot or transaction.
///
/// A device that is merged meanwhile may be found twice, in its list and among those not merged, and is returned once.
final class DevicePostings<Connection: SQLConnection>: PostingReader {
    private let db: Connection
    let platform: Key<Platform>
    private let application: Key<Application>
    private let now: Instant
    private var topicIDs: [String: Int64?] = [:]
    private var labels: [LabelRange: [DeviceLabel]?] = [:]
    /// The ids of labels, of ranges that are looked up in rows.
    private var labelIDs: [LabelRange: Set<Int64>] = [:]
    private var users: [String: UserProfile] = [:]
    private var checks: [DeviceCheck: PreparedCheck] = [:]
    /// Read before any list, so that no device that is merged meanwhile is missed.
    private lazy var mark = Result { try db.postingMark() }
    /// Devices that are not in all of their lists yet, by topic: few.
    private lazy var unmerged = Result { try readUnmerged() }

    /// - Parameter now: topics that have expired have no list.
    init(_ db: Connection, platform: Key<Platform>, application: Key<Application>, now: Instant) {
        self.db = db
        self.platform = platform
        self.application = application
        self.now = now
    }

    /// The last device that lists have for now.
    var last = Int64.max

    func postings(_ list: PostingList, after: Int64, limit: Int) throws -> [Int64] {
        let found = try devices(of: list, after: after, limit: limit)
        return found.last.map { $0 <= last } ?? true ? found : Array(found.prefix { $0 <= last })
    }

    private func devices(of list: PostingList, after: Int64, limit: Int) throws -> [Int64] {
        switch list {
        case .active: try read(PostingStatements.active, platform, after, limit)
        case .interactive: try read(PostingStatements.interactive, platform, after, limit)
        case .registered: try read(PostingStatements.registered, platform, after, limit)
        case .customUser(let id): try read(PostingStatements.customUser, platform, id, after, limit)
        case .topic(let name): try topic(name, after: after, limit: limit)
        case .sent(let push, let part): try sent(push, part, after: after, limit: limit)
        // Only the first block may have no device of them.
        case .reported(let report, let push):
            try db.prepared(ReportStatements.ofPush).all(
                push, report.kind.rawValue, platform, DeviceBlock.number(of: after), limit + 1, as: DeviceBlock.init
            ).devices(after: after, limit: limit)
        case .geofence(let geofence):
            try db.prepared(ReportStatements.ofGeofence).all(
                application, geofence, platform, DeviceBlock.number(of: after), limit + 1, as: DeviceBlock.init
            ).devices(after: after, limit: limit)
        case .label(let label): try topic(label.name, after: after, limit: limit)
        // A scan makes others of them.
        case .labels, .platforms: preconditionFailure("no list of devices")
        case .devices(let devices): try db.devices(devices, on: platform, after: after, limit: limit)
        }
    }

    /// The number of devices that are subscribed to the topic.
    func count(ofTopic name: String) throws -> Int {
        guard let list = try list(ofTopic: name) else { return 0 }
        let last = try mark.get().last(of: list)
        let merged = try db.prepared(PostingStatements.topicCount).count(list.topic, platform)
        return try merged + unmerged(in: list, after: last).count
    }

    /// nil when there is no topic of the name, or it has expired.
    func topicID(_ name: String) throws -> Int64? {
        if let known = topicIDs[name] { return known }
        let topic = try db.prepared(TopicStatements.byName).first(application, name, as: Topic.init)
        let id = topic?.living(at: now)?.key.rawValue
        topicIDs[name] = .some(id)
        return id
    }

    private func list(ofTopic name: String) throws -> SubscriptionList? {
        try topicID(name).map { SubscriptionList(topic: $0, platform: platform) }
    }

    private func topic(_ name: String, after: Int64, limit: Int) throws -> [Int64] {
        guard let list = try list(ofTopic: name) else { return [] }
        let last = try mark.get().last(of: list)
        let devices = after < last ? try db.merged(list, after: after, limit: limit) : []
        guard devices.count < limit else { return devices }
        return try devices
            + unmerged(in: list, after: max(after, last, devices.last ?? 0)).prefix(limit - devices.count)
    }

    /// Devices that are subscribed to the topic and not in its list yet.
    private func unmerged(in list: SubscriptionList, after: Int64) throws -> ArraySlice<Int64> {
        try unmerged.get()[list.topic, default: []].drop { $0 <= after }
    }

    private func readUnmerged() throws -> [Int64: [Int64]] {
        var found: [Int64: [Int64]] = [:]
        try db.prepared(PostingStatements.unmerged).each(try mark.get().device, platform) { row in
            for topic in row.withBlob(1, { TopicList.readable($0) }) {
                found[topic, default: []].append(row.integer(0))
            }
        }
        return found
    }

    func labels(in range: LabelRange) throws -> [DeviceLabel]? {
        if let known = labels[range] { return known }
        let found = try db.prepared(LabelStatements.names).all(
            application, range.from, range.end, DeviceLabel.listsMax + 1
        ) { DeviceLabel(stored: $0.text(0)) }
        let labels = hasRoom(for: found.count) ? found.compactMap(\.self) : nil
        self.labels[range] = .some(labels)
        return labels
    }

    /// Whether so many lists may be merged besides those of the other ranges.
    private func hasRoom(for count: Int) -> Bool {
        let held = labels.values.reduce(0) { $0 + ($1?.count ?? 0) }
        return count <= DeviceLabel.listsMax && held + count <= 4 * DeviceLabel.listsMax
    }

    func prepared(_ check: DeviceCheck) -> PreparedCheck {
        if let known = checks[check] { return known }
        let prepared = PreparedCheck(check)
        checks[check] = prepared
        return prepared
    }

    func devices(_ devices: [Int64], that checks: [PreparedCheck]) throws -> [Int64] {
        var rows: [(row: CheckedRow, user: String?)] = []
        try db.prepared(LabelStatements.checked).each(SQLKeys(devices)) { row in
            // A device that cannot be read is left out.
            if let checked = try? CheckedRow(row) { rows.append((checked, row.textIfAny(7))) }
        }
        if checks.contains(where: \.check.readsUsers) { try readUsers(Set(rows.compactMap(\.user))) }
        return try rows.filter { row, user in
            let device = row.device(holder: user, user: user.flatMap { users[$0] } ?? UserProfile())
            return try checks.allSatisfy { try $0.holds(device, ids: ids) }
        }.map(\.row.id)
    }

    private func sent(_ push: Key<Push>, _ part: SentPart, after: Int64, limit: Int) throws -> [Int64] {
        var (found, first): ([Int64], Int64) = ([], after)
        var batchesPerRead = limit / Batch.devicesMax + 2
        while found.count < limit {
            let batches = try db.prepared(LabelStatements.sent).all(push, platform, first, batchesPerRead) { row in
                let devices = row.withBlob(0) { DeviceList.decode($0) } ?? []
                let answers = part == .all ? [] : row.withBlob(1) { $0.map { Answer(byte: $0) } }
                return devices.enumerated().map { index, device in
                    (device.rawValue, part.includes(index < answers.count ? answers[index] : nil))
                }
            }
            found += batches.joined().filter { $1 && $0 > max(after, found.last ?? 0) }.map(\.0)
            guard batches.count == batchesPerRead, let last = batches.last(where: { !$0.isEmpty })?.last else { break }
            first = last.0
            // Few of a part may be among many.
            batchesPerRead = min(2 * batchesPerRead, 64)
        }
        return Array(found.prefix(limit))
    }

    private func ids(of range: LabelRange) throws -> Set<Int64> {
        if let known = labelIDs[range] { return known }
        let ids = Set(
            try db.prepared(LabelStatements.ids).all(application, range.from, range.end) { $0.integer(0) })
        labelIDs[range] = ids
        return ids
    }

    private func readUsers(_ ids: Set<String>) throws {
        if users.count > Self.usersMax { users = [:] }
        let byID = try db.prepared(UserStatements.byID)
        for id in ids where users[id] == nil {
            let user = try byID.first(application, id) { try? User($0) } ?? nil
            users[id] = user?.profile ?? UserProfile()
        }
    }

    private static var usersMax: Int { 4_096 }

    private func read<each Value: SQLValue>(_ sql: SQLText, _ values: repeat each Value) throws -> [Int64] {
        try db.prepared(sql).all(repeat each values) { $0.integer(0) }
    }
}

extension SQLConnection {
    func postings(
        of platform: Key<Platform>, application: Key<Application>, now: Instant
    ) -> DevicePostings<Self> {
        DevicePostings(self, platform: platform, application: application, now: now)
    }
}

/// A row of `LabelStatements.checked`.
private struct CheckedRow {
    let id: Int64
    private let registeredAt: Instant
    private let createdAt: Instant?
    private let about: Device.About
    private let isImported: Bool
    private let topics: [Int64]

    init(_ row: some SQLRow) throws {
        id = row.integer(0)
        registeredAt = Instant(milliseconds: row.integer(1))
        about = Device.About(
            os: row.textIfAny(2), osVersion: row.textIfAny(3), model: row.textIfAny(4), manufacturer: row.textIfAny(5),
            alias: nil)
        isImported = row.integer(6) != 0
        topics = try row.withBlob(8) { try TopicList.decode($0) }
        createdAt = row.instantIfAny(9)
    }

    /// - Parameter holder: the device's user, if it has one.
    func device(holder: String?, user: UserProfile) -> CheckedDevice {
        CheckedDevice(
            registeredAt: registeredAt, createdAt: createdAt, about: about, isImported: isImported,
            holder: holder.map { "u\($0)" } ?? "d\(id)", user: user, topics: topics)
    }
}

enum LabelStatements {
    /// Scans `topic_name`.
    static let names: SQLText = """
        SELECT name /* labels.names */ FROM topic
         WHERE application_id = $1 AND name >= $2 AND name < $3
         ORDER BY name
         LIMIT $4
        """

    /// Scans `batch_device`, from the batch that may hold the device on.
    static let sent: SQLText = """
        SELECT devices, answers /* labels.sent */ FROM batch
         WHERE push_id = $1 AND platform_id = $2 AND first_device_id >= coalesce(
            (SELECT max(first_device_id) FROM batch WHERE push_id = $1 AND platform_id = $2 AND first_device_id <= $3), 0)
         ORDER BY first_device_id
         LIMIT $4
        """

    /// Scans `topic_name`.
    static let ids: SQLText = """
        SELECT id /* labels.ids */ FROM topic WHERE application_id = $1 AND name >= $2 AND name < $3
        """

    /// Reads each by its primary key.
    static let checked: SQLText = """
        SELECT id, registered_at_ms, os, os_version, model, manufacturer,
               CASE WHEN imported_at_ms IS NULL THEN 0 ELSE 1 END, custom_user_id, topics, created_at_ms
               /* labels.checked */
          FROM device
         WHERE id \(among: "$1")
         ORDER BY id
        """
}

enum PostingStatements {
    /// Merges two ranges of `device_reach`.
    static let active: SQLText = """
        \(reach: 1) /* postings.active */
        UNION ALL
        \(reach: 2)
         ORDER BY id
         LIMIT $3
        """

    /// Scans `device_reach`.
    static let interactive: SQLText = """
        SELECT id /* postings.interactive */ FROM device
         WHERE platform_id = $1 AND reach = 2 AND id > $2
         ORDER BY id
         LIMIT $3
        """

    /// Merges three ranges of `device_reach`.
    static let registered: SQLText = """
        \(reach: 0) /* postings.registered */
        UNION ALL
        \(reach: 1)
        UNION ALL
        \(reach: 2)
         ORDER BY id
         LIMIT $3
        """

    /// Scans `device_custom_user`.
    static let customUser: SQLText = """
        SELECT id /* postings.custom_user */ FROM device
         WHERE platform_id = $1 AND custom_user_id = $2 AND reach > 0 AND id > $3
         ORDER BY id
         LIMIT $4
        """

    /// Scans the primary keys.
    static let topicCount: SQLText = """
        SELECT \(
            sqlite: "coalesce(sum(device_count), 0) FROM subscription WHERE topic_id = $1 AND platform_id = $2",
            postgres: """
                (SELECT count(*) FROM subscription WHERE topic_id = $1 AND platform_id = $2)
                       + (SELECT coalesce(sum(device_count), 0)::bigint FROM subscription_block
                           WHERE topic_id = $1 AND platform_id = $2)
                """) /* postings.topic_count */
        """

    /// Scans the primary key: a column with a zero added to it is in no index.
    static let unmerged: SQLText = """
        SELECT id, topics /* postings.unmerged */ FROM device
         WHERE id > $1 AND platform_id + 0 = $2 AND reach + 0 > 0
         ORDER BY id
        """
}

extension SQLText.StringInterpolation {
    /// The devices `$1` of a reach after `$2`, or before it. SQLite merges such ranges by itself; PostgreSQL needs a limit for each.
    mutating func appendInterpolation(reach: Int, newestFirst: Bool = false) {
        let (sign, order) = newestFirst ? ("<", " DESC") : (">", "")
        let range = "SELECT id FROM device WHERE platform_id = $1 AND reach = \(reach) AND id \(sign) $2"
        appendInterpolation(sqlite: range, postgres: "(\(range) ORDER BY id\(order) LIMIT $3)")
    }
}

/// The devices of a posting list on several platforms, ascending, with a chunk of each platform in memory at a time.
struct DeviceRun<Connection: SQLConnection> {
    private var slices: [Slice]

    private static var chunkSize: Int { 1_024 }

    init(_ list: PostingList, on platforms: [Platform], after: Key<Device>?, now: Instant, _ db: Connection) {
        slices = platforms.map { platform in
            Slice(
                list: list, after: after?.rawValue ?? 0,
                postings: db.postings(of: platform.key, application: platform.applicationKey, now: now))
        }
    }

    mutating func next() throws -> Key<Device>? {
        var nearest: (index: Int, device: Int64)?
        for index in slices.indices {
            guard let device = try slices[index].first() else { continue }
            if nearest.map({ device < $0.device }) ?? true { nearest = (index, device) }
        }
        guard let nearest else { return nil }
        slices[nearest.index].dropFirst()
        return Key(nearest.device)
    }

    mutating func next(_ count: Int) throws -> [Key<Device>] {
        var devices: [Key<Device>] = []
        while devices.count < count, let device = try next() { devices.append(device) }
        return devices
    }

    mutating func skip(_ count: Int, within budget: SearchBudget) throws {
        for number in 0..<max(count, 0) {
            if number.isMultiple(of: Self.chunkSize) { try budget.check() }
            guard try next() != nil else { return }
        }
    }

    /// The rest of one platform.
    private struct Slice {
        let list: PostingList
        var after: Int64
        let postings: DevicePostings<Connection>
        var chunk: ArraySlice<Int64> = []
        var isAtEnd = false

        mutating func first() throws -> Int64? {
            if chunk.isEmpty, !isAtEnd {
                chunk = try postings.postings(list, after: after, limit: DeviceRun.chunkSize)[...]
                after = chunk.last ?? after
                isAtEnd = chunk.count < DeviceRun.chunkSize
            }
            return chunk.first
        }

        mutating func dropFirst() { chunk = chunk.dropFirst() }
    }
}
