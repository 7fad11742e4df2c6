import GRDB
import PostgreSQL

/// A limit on what one caller may store, so that no application fills the database for the others.
package enum Quota: String, Sendable, Hashable, CaseIterable {
    /// Devices of an application, inactive ones too.
    case devices
    case topics
    /// Active devices of one custom user id on one platform.
    case userDevices = "user_devices"
    /// Users with a profile.
    case users
    case geofences
    case locations
    case locationGroups = "location_groups"
    /// Waiting schedules.
    case schedules
    /// Records of requests with an `Idempotency-Key`, of one back end or one admin key.
    case idempotencyKeys = "idempotency_keys"
    /// Bytes of the content of pushes, schedules and geofences, while they are stored.
    case content = "content_bytes"

    /// The setting with the limit.
    package var setting: String {
        self == .content ? "quota.content.mib" : "quota.\(rawValue.replacing("_", with: "."))"
    }

    /// The units of the limit in one unit of the setting.
    package var unit: Int { self == .content ? 1 << 20 : 1 }

    /// The wait after which a retry may succeed without any action of the caller; nil where it cannot.
    package var retryAfter: Duration? {
        switch self {
        case .idempotencyKeys: .seconds(60)
        case .content: .seconds(3_600)
        case .devices, .topics, .userDevices, .users, .geofences, .locations, .locationGroups, .schedules: nil
        }
    }
}

/// The limits of one server, the same for each application.
package struct Quotas: Sendable, Hashable {
    private var limits: [Quota: Int]

    /// - Parameter limits: in bytes for `content`. A quota that is missing, or 0, has no limit.
    package init(_ limits: [Quota: Int] = [:]) { self.limits = limits.filter { $0.value > 0 } }

    /// More than an honest application needs, and less than fits on today's disks.
    package static let standard = Quotas([
        .devices: 50_000_000, .topics: 100_000, .userDevices: 1_000, .users: 50_000_000, .geofences: 10_000,
        .locations: 10_000,
        .locationGroups: 10_000, .schedules: 1_000_000, .idempotencyKeys: 1_000_000, .content: 100 << 30,
    ])

    /// nil where there is no limit.
    package subscript(quota: Quota) -> Int? { limits[quota] }

    /// Throws if `count` more would exceed the quota.
    package func check(_ quota: Quota, use: Int, adding count: Int = 1) throws(StoreError) {
        guard count > 0, let limit = limits[quota] else { return }
        let (sum, overflows) = use.addingReportingOverflow(count)
        guard overflows || sum > limit else { return }
        throw .quotaExceeded(QuotaExcess(quota: quota, use: use, adding: count, limit: limit))
    }
}

/// The use of a quota.
package struct QuotaUse: Sendable, Hashable {
    package let quota: Quota
    /// nil for `userDevices`, which is counted for each custom user id.
    package let use: Int?
    /// nil without a limit.
    package let limit: Int?
}

/// Describes an exceeded quota.
package struct QuotaExcess: Sendable, Hashable {
    package let quota: Quota
    package let use: Int
    package let adding: Int
    package let limit: Int
}

extension QuotaExcess: CustomStringConvertible {
    /// A message for the caller who was refused.
    package var description: String {
        let owner =
            switch quota {
            case .userDevices: "This custom user id"
            case .idempotencyKeys: "This caller"
            default: "This application"
            }
        guard quota != .content else {
            return "\(owner) stores \((use / quota.unit).grouped) MiB of content, its quota is "
                + "\((limit / quota.unit).grouped) MiB (\(quota.setting))"
        }
        guard adding > 1 else {
            return "\(owner) has \(use.grouped) \(things), which is its quota (\(quota.setting))"
        }
        return "\(owner) has \(use.grouped) \(things), this would add \(adding.grouped), and its quota is "
            + "\(limit.grouped) (\(quota.setting))"
    }

    private var things: String {
        switch quota {
        case .userDevices: "devices on this platform"
        case .locationGroups: "location groups"
        case .schedules: "waiting schedules"
        case .idempotencyKeys: "Idempotency-Keys of the last 24 hours"
        case .topics: "topics and values of device attributes"
        case .devices, .users, .geofences, .locations, .content: quota.rawValue
        }
    }
}

extension SQLiteWriteSession {
    /// Throws when the custom user id has reached its limit of active devices on the platform.
    func checkDevices(ofUser id: String, on platform: Key<Platform>) throws {
        guard let limit = quotaCounts.quotas[.userDevices] else { return }
        let count = try prepared(SQLiteQuotaStatements.userDevices).count(platform, id, limit)
        try quotaCounts.quotas.check(.userDevices, use: count)
    }
}

extension Database {
    func deviceCounts(
        ofUsers ids: [String], on platform: Key<Platform>, atMost limit: Int
    ) throws -> [String: Int] {
        let statement = try prepared(SQLiteQuotaStatements.userDevices)
        return try Dictionary(uniqueKeysWithValues: ids.map { ($0, try statement.count(platform, $0, limit)) })
    }
}

enum SQLiteQuotaStatements {
    /// SQLite would scan all active devices, because it estimates them to be as few.
    static let userDevices = """
        SELECT count(*) /* quotas.user_devices */
          FROM (SELECT 1 FROM device INDEXED BY device_custom_user
                 WHERE platform_id = ?1 AND custom_user_id = ?2 AND reach > 0
                 LIMIT ?3)
        """
}

extension Connection {
    func deviceCounts(
        ofUsers ids: [String], on platform: Key<Platform>, atMost limit: Int
    ) throws -> [String: Int] {
        guard !ids.isEmpty else { return [:] }
        var counts: [String: Int] = [:]
        try prepared(PostgresQuotaStatements.userDevices).each(
            PostgresArray(ids.map { _ in platform }), PostgresArray(ids), limit
        ) { counts[$0.text(1)] = Int($0.integer(2)) }
        return counts
    }
}

enum PostgresQuotaStatements {
    /// The number of active devices of custom user ids on platforms, up to a limit. Scans `device_custom_user` for
    /// each.
    static let userDevices = """
        SELECT platform_id, custom_user_id, count /* quotas.user_devices */
          FROM unnest($1, $2) AS wanted (platform_id, custom_user_id)
         CROSS JOIN LATERAL (
            SELECT count(*) AS count
              FROM (SELECT 1 FROM device
                     WHERE device.platform_id = wanted.platform_id AND device.custom_user_id = wanted.custom_user_id
                       AND reach > 0
                     LIMIT $3) AS own) AS found
        """
}
