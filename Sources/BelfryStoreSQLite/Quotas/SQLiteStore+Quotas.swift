package import BelfryCore
import GRDB

extension SQLiteStore: QuotaStore {
    package func quotas(of application: Key<Application>) async throws -> [QuotaUse] {
        try await read { [quotaBook] db in
            try Quota.allCases.map { quota in
                let account = QuotaAccount(quota, of: application)
                let use = try quota == .userDevices ? nil : quotaBook.use(account) ?? db.quotaUse(account)
                return QuotaUse(quota: quota, use: use, limit: quotaBook.quotas[quota])
            }
        }
    }
}

extension WriteSession {
    /// Throws `StoreError.quotaExceeded` when so many more are too many. To be called before the write changes anything, so
    /// that the writes which share the transaction need not be run again.
    func check(_ quota: Quota, of application: Key<Application>, adding count: Int = 1) throws {
        try check(QuotaAccount(quota, of: application), adding: count)
    }

    func check(_ account: QuotaAccount, adding count: Int = 1) throws {
        guard count > 0, let limit = quotaBook.quotas[account.quota] else { return }
        let use = try use(account)
        // The usual case, without a look at what would be said.
        if count <= limit, use <= limit - count { return }
        try quotaBook.quotas.check(account.quota, use: use, adding: count)
    }

    /// Throws when the topics of these names that are not there yet would be too many.
    func checkTopics(_ names: some Collection<String>, of application: Key<Application>) throws {
        guard !names.isEmpty, let limit = quotaBook.quotas[.topics] else { return }
        guard try names.count > limit - use(QuotaAccount(.topics, of: application)) else { return }
        let byName = try prepared(TopicStatements.byName)
        let new = try names.count { try byName.first(application, $0, as: { _ in true }) == nil }
        try check(.topics, of: application, adding: new)
    }

    /// Throws when the custom user id has as many active devices on the platform as it may have.
    func checkDevices(ofUser id: String, on platform: Key<Platform>) throws {
        guard let limit = quotaBook.quotas[.userDevices] else { return }
        let count = try prepared(QuotaStatements.userDevices).first(platform, id, limit) { Int($0.integer(0)) }
        try quotaBook.quotas.check(.userDevices, use: count ?? 0)
    }

    /// To be told of what the write added, or took away.
    func note(_ count: Int, _ quota: Quota, of application: Key<Application>) {
        effects.quotas.add(count, to: QuotaAccount(quota, of: application))
    }

    /// With what the transaction has changed so far.
    private func use(_ account: QuotaAccount) throws -> Int {
        let changed = effects.quotas[account]
        if let known = quotaBook.use(account) { return known + changed }
        var counted = try db.quotaUse(account)
        if account.quota == .content, let application = account.application {
            counted += contentUse.unwritten(application) + changed
        }
        quotaBook.learn(counted - changed, of: account)
        return counted
    }
}

extension Database {
    /// As the rows have it. The bytes of content are behind by what is not written down yet; see `ContentUse`.
    func quotaUse(_ account: QuotaAccount) throws -> Int {
        let owner = account.owner
        return switch account.quota {
        case .devices:
            try count(QuotaStatements.catalogued, owner.id) + count(QuotaStatements.uncatalogued, owner.id)
        case .topics: try count(QuotaStatements.topics, owner.id)
        case .geofences: try count(QuotaStatements.geofences, owner.id)
        case .locations: try count(QuotaStatements.locations, owner.id)
        case .locationGroups: try count(QuotaStatements.locationGroups, owner.id)
        case .schedules: try count(QuotaStatements.schedules, owner.id)
        case .idempotencyKeys:
            try prepared(QuotaStatements.idempotencyKeys).first(Int64(owner.kind.rawValue), owner.id) {
                Int($0.integer(0))
            } ?? 0
        case .content: try count(QuotaStatements.content, owner.id)
        case .userDevices: 0
        }
    }

    private func count(_ sql: String, _ application: Int64) throws -> Int {
        try prepared(sql).first(application) { Int($0.integer(0)) } ?? 0
    }
}

enum QuotaStatements {
    /// Devices that the catalogue has counted. Walks its primary key.
    static let catalogued = """
        SELECT coalesce(sum(device_count), 0) /* quotas.catalogued */
          FROM platform JOIN catalogue_count ON platform_id = platform.id
         WHERE application_id = ?1 AND is_retired = 0
        """

    /// Devices that are not catalogued yet: few.
    static let uncatalogued = """
        SELECT count(*) /* quotas.uncatalogued */ FROM device
         WHERE id > (SELECT device_id FROM catalogue WHERE id = 1)
           AND +platform_id IN (SELECT id FROM platform WHERE application_id = ?1 AND is_retired = 0)
        """

    /// SQLite would walk all active devices, which it believes to be as few.
    static let userDevices = """
        SELECT count(*) /* quotas.user_devices */
          FROM (SELECT 1 FROM device INDEXED BY device_custom_user
                 WHERE platform_id = ?1 AND custom_user_id = ?2 AND reach > 0
                 LIMIT ?3)
        """

    /// Walks the index of application and name.
    static let topics = "SELECT count(*) /* quotas.topics */ FROM topic WHERE application_id = ?1"

    /// Walks `geofence_application`.
    static let geofences = "SELECT count(*) /* quotas.geofences */ FROM geofence WHERE application_id = ?1"

    /// Walks `location_application`.
    static let locations = "SELECT count(*) /* quotas.locations */ FROM location WHERE application_id = ?1"

    /// Walks `location_group_application`.
    static let locationGroups = """
        SELECT count(*) /* quotas.location_groups */ FROM location_group WHERE application_id = ?1
        """

    /// Walks `schedule_application`.
    static let schedules = """
        SELECT count(*) /* quotas.schedules */ FROM schedule WHERE application_id = ?1 AND ended_at_ms IS NULL
        """

    /// Walks `idempotency_caller`.
    static let idempotencyKeys = """
        SELECT count(*) /* quotas.idempotency_keys */ FROM idempotency WHERE caller_kind = ?1 AND caller_id = ?2
        """

    static let content = """
        SELECT content_bytes /* quotas.content */ FROM application_use WHERE application_id = ?1
        """
}
