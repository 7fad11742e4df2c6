/// Counts for a platform and some time: devices that joined and were lost, final answers, and how long acceptances took.
package struct PlatformActivity: Sendable, Hashable {
    /// In the order of the table's columns. The times of accepted messages follow.
    package enum Figure: Int, CaseIterable, Sendable {
        /// Devices that registered for the first time, or again after they were lost.
        case joined
        /// Devices that their app, or a person in the browser, unregistered.
        case optedOut
        /// Devices whose token is dead by the provider's verdict.
        case gone
        /// Devices that were lost otherwise: their token moved to another device, or somebody deactivated them.
        case lost
        /// Devices that finally did not get a message.
        case failed
    }

    /// The longest times of all but the last count of accepted messages, in milliseconds from the acceptance of their push.
    package static let timesMax: [Int64] = [100, 250, 500, 1_000, 2_500, 5_000, 15_000, 60_000, 600_000, 3_600_000]

    package private(set) var numbers = [Int64](repeating: 0, count: count)

    static let count = Figure.allCases.count + timesMax.count + 1

    package init() {}

    package subscript(_ figure: Figure) -> Int64 { numbers[figure.rawValue] }

    package var accepted: Int64 { numbers[Figure.allCases.count...].reduce(0, +) }
    package var devicesLost: Int64 { self[.optedOut] + self[.gone] + self[.lost] }

    package mutating func add(_ count: Int64, _ figure: Figure) { numbers[figure.rawValue] += count }

    /// Adds messages that a provider accepted so long after their push was.
    package mutating func add(_ count: Int64, acceptedWithin time: Duration) {
        let milliseconds = time.milliseconds
        let place = Self.timesMax.firstIndex { milliseconds <= $0 } ?? Self.timesMax.count
        numbers[Figure.allCases.count + place] += count
    }

    package static func += (left: inout Self, right: Self) {
        for place in right.numbers.indices { left.numbers[place] += right.numbers[place] }
    }

    /// The time within which a share of the accepted messages were accepted, interpolated between the bounds of its count; nil
    /// where none was. Longer times than the last bound are given as that.
    package func time(ofShare share: Double) -> Duration? {
        let times = numbers[Figure.allCases.count...]
        let wanted = Double(accepted) * share
        guard accepted > 0 else { return nil }
        var (seen, from) = (0.0, 0.0)
        for (count, bound) in zip(times, Self.timesMax) {
            let end = seen + Double(count)
            if count > 0, end >= wanted {
                return .milliseconds(
                    Int64((from + (Double(bound) - from) * (wanted - seen) / Double(count)).rounded()))
            }
            (seen, from) = (end, Double(bound))
        }
        return .milliseconds(Self.timesMax.last ?? 0)
    }

    init(_ row: some SQLRow, from first: Int32) {
        for place in 0..<Self.count { numbers[place] = row.integer(first + Int32(place)) }
    }
}

/// The counts of a transaction, by platform and hour. Each is written in one row, with its commit.
struct ActivityChanges {
    private struct Spot: Hashable, Comparable {
        let platform: Key<Platform>
        let hour: Int64

        static func < (left: Self, right: Self) -> Bool { (left.platform, left.hour) < (right.platform, right.hour) }
    }

    private var changes: [Spot: PlatformActivity] = [:]

    mutating func change(
        _ platform: Key<Platform>, _ hour: Int64, _ body: (inout PlatformActivity) -> Void
    ) {
        body(&changes[Spot(platform: platform, hour: hour), default: PlatformActivity()])
    }

    /// The rows are locked in the same order by all, and nothing is locked after them.
    func write(in session: some WriteSession) throws {
        guard !changes.isEmpty else { return }
        let add = try session.prepared(ActivityStatements.add)
        for (spot, activity) in changes.sorted(by: { $0.key < $1.key }) {
            let n = activity.numbers
            try add.send(
                spot.platform, spot.hour, n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11],
                n[12], n[13], n[14], n[15])
        }
    }
}

extension WriteSession {
    /// Counts devices or answers of a platform. Called after the transaction changed their rows.
    func count(_ figure: PlatformActivity.Figure, _ count: Int = 1, on platform: Key<Platform>) {
        guard count > 0 else { return }
        effects.activity.change(platform, now.bucket(of: .hour)) { $0.add(Int64(count), figure) }
    }

    /// Counts messages that a provider accepted.
    func count(accepted count: Int, ofPushFrom acceptedAt: Instant, on platform: Key<Platform>) {
        guard count > 0 else { return }
        let now = now
        effects.activity.change(platform, now.bucket(of: .hour)) {
            $0.add(Int64(count), acceptedWithin: now - acceptedAt)
        }
    }

    /// Counts a device whose row changed from one state to another.
    func count(_ state: DeviceState, insteadOf old: DeviceState, on platform: Key<Platform>) {
        if old == .inactive, state != .inactive { count(.joined, on: platform) }
        if old != .inactive, state == .inactive { count(.lost, on: platform) }
    }
}

extension SQLConnection {
    /// The activity of a platform by the hour, ascending.
    func activity(on platform: Key<Platform>, _ hours: Range<Int64>) throws -> [(
        hour: Int64, activity: PlatformActivity
    )] {
        try prepared(ActivityStatements.onPlatform).all(platform, hours.lowerBound, hours.upperBound) { row in
            (row.integer(0), PlatformActivity(row, from: 1))
        }
    }

    /// New devices that the search index does not have yet, by platform and hour: they are counted when it does.
    func recentJoins() throws -> [(platform: Key<Platform>, hour: Int64, devices: Int64)] {
        try prepared(ActivityStatements.recentJoins).all { row in
            (Key(row.integer(0)), row.integer(1), row.integer(2))
        }
    }
}

enum ActivityStatements {
    /// The columns of `PlatformActivity.numbers`, in their order.
    private static let columns: [String] =
        ["joined", "opted_out", "gone", "lost", "failed"] + (0...10).map { "accepted_\($0)" }
    private static let columnList: String = columns.joined(separator: ", ")
    private static let sums: String = columns.map { "\($0) = platform_activity.\($0) + excluded.\($0)" }
        .joined(separator: ", ")

    static let add: SQLText = """
        INSERT INTO platform_activity /* activity.add */ (platform_id, hour, \(columnList))
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
            ON CONFLICT (platform_id, hour) DO UPDATE SET \(sums)
        """

    /// Scans the primary key.
    static let onPlatform: SQLText = """
        SELECT hour, \(columnList) /* activity.on_platform */
          FROM platform_activity
         WHERE platform_id = $1 AND \(sqlite: "hour >= $2 AND hour < $3",
                                     postgres: "(platform_id, hour) >= ($1, $2) AND (platform_id, hour) < ($1, $3)")
         ORDER BY hour
        """

    /// The hour in which a device joined; null of one that another server knew as inactive, and of one from before the column.
    static let joinedHour: SQLText =
        "CASE WHEN created_at_ms IS NULL AND reach = 0 THEN NULL ELSE coalesce(created_at_ms, imported_at_ms) / 3600000 END"

    /// Scans the primary key of devices behind the search index's mark: a segment's, unless the index is late.
    static let recentJoins: SQLText = """
        SELECT platform_id, hour, count(*) /* activity.recent_joins */
          FROM (SELECT platform_id, \(joinedHour) AS hour
                  FROM device
                 WHERE id > (SELECT device_id FROM search_index WHERE id = 1)
                 ORDER BY id
                 LIMIT \(String(SegmentDraft.devicesMax))) AS recent
         WHERE hour IS NOT NULL
         GROUP BY platform_id, hour
        """
}

/// Counts by platform and hour, of what is stored nowhere else by time; see `PlatformActivity`.
enum ActivityMigration: SchemaMigration {
    static let identifier = "0022 activity of platforms (additive)"
    static let tables = [
        StoreTable(
            "platform_activity", rows: .derived("platform"), key: "platform_id, hour", of: .platform,
            expiry: .init(.counts, "hour", in: .hour))
    ]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                -- `hour` counts from 1970 UTC. `accepted_0` to `accepted_10`: see `PlatformActivity.timesMax`.
                CREATE TABLE platform_activity (
                    platform_id \(.bigint) NOT NULL,
                    hour \(.bigint) NOT NULL,
                    joined \(.bigint) NOT NULL,
                    opted_out \(.bigint) NOT NULL,
                    gone \(.bigint) NOT NULL,
                    lost \(.bigint) NOT NULL,
                    failed \(.bigint) NOT NULL,
                    accepted_0 \(.bigint) NOT NULL,
                    accepted_1 \(.bigint) NOT NULL,
                    accepted_2 \(.bigint) NOT NULL,
                    accepted_3 \(.bigint) NOT NULL,
                    accepted_4 \(.bigint) NOT NULL,
                    accepted_5 \(.bigint) NOT NULL,
                    accepted_6 \(.bigint) NOT NULL,
                    accepted_7 \(.bigint) NOT NULL,
                    accepted_8 \(.bigint) NOT NULL,
                    accepted_9 \(.bigint) NOT NULL,
                    accepted_10 \(.bigint) NOT NULL,
                    PRIMARY KEY (platform_id, hour)
                ) \(.byKey);
                CREATE INDEX platform_activity_hour ON platform_activity (hour);
                """)
    }
}
