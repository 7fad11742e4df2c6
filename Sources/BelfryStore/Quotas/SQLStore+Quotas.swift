import BelfryCore

extension SQLStore {
    package func quotas(of application: Key<Application>) async throws -> [QuotaUse] {
        try await glance { [self] db in
            try Quota.allCases.map { quota in
                let account = QuotaAccount(quota, of: application)
                guard quota != .userDevices else {
                    return QuotaUse(quota: quota, use: nil, limit: quotaCounts.quotas[quota])
                }
                let use = try quotaCounts.use(account) ?? db.quotaUse(account) + (unwrittenUse(account) ?? 0)
                return QuotaUse(quota: quota, use: max(0, use), limit: quotaCounts.quotas[quota])
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
        guard count > 0, let limit = quotaCounts.quotas[account.quota] else { return }
        let use = try use(account)
        // The usual case, without a look at what would be said.
        if count <= limit, use <= limit - count { return }
        try quotaCounts.quotas.check(account.quota, use: use, adding: count)
    }

    /// To be told of what the write added, or took away.
    func note(_ count: Int, _ quota: Quota, of application: Key<Application>) {
        effects.quotas.add(count, to: QuotaAccount(quota, of: application))
    }

    /// With what the transaction has changed so far.
    func use(_ account: QuotaAccount) throws -> Int {
        let changed = effects.quotas[account]
        if let known = quotaCounts.use(account) { return known + changed }
        var counted = try db.quotaUse(account)
        if let unwritten = unwrittenUse(account) { counted += unwritten + changed }
        quotaCounts.learn(counted - changed, of: account)
        return counted
    }
}

extension SQLConnection {
    /// As the rows have it; see `SQLStore.unwrittenUse`.
    func quotaUse(_ account: QuotaAccount) throws -> Int {
        let owner = account.owner
        return switch account.quota {
        case .devices: try count(QuotaStatements.devices, owner.id)
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

    private func count(_ sql: SQLText, _ application: Int64) throws -> Int {
        try prepared(sql).first(application) { Int($0.integer(0)) } ?? 0
    }
}

enum QuotaStatements {
    /// SQLite has what the search index has counted, and devices that are not indexed yet, which are few. In PostgreSQL
    /// the nodes write down what they add (`SharedUse`).
    static let devices: SQLText = """
        \(sqlite: """
            SELECT (SELECT coalesce(sum(device_count), 0) /* quotas.devices */
                      FROM platform JOIN search_index_count ON platform_id = platform.id
                     WHERE application_id = $1 AND is_deleted = 0)
                   + (SELECT count(*) FROM device
                       WHERE id > (SELECT device_id FROM search_index WHERE id = 1)
                         AND +platform_id IN (SELECT id FROM platform WHERE application_id = $1 AND is_deleted = 0))
            """,
            postgres: "SELECT device_count /* quotas.devices */ FROM application_use WHERE application_id = $1")
        """

    /// Scans the index of application and name.
    static let topics: SQLText = "SELECT count(*) /* quotas.topics */ FROM topic WHERE application_id = $1"

    /// Scans `geofence_application`.
    static let geofences: SQLText = "SELECT count(*) /* quotas.geofences */ FROM geofence WHERE application_id = $1"

    /// Scans `location_application`.
    static let locations: SQLText = "SELECT count(*) /* quotas.locations */ FROM location WHERE application_id = $1"

    /// Scans `location_group_application`.
    static let locationGroups: SQLText = """
        SELECT count(*) /* quotas.location_groups */ FROM location_group WHERE application_id = $1
        """

    /// Scans `schedule_application`. Said plainly, the condition would have PostgreSQL's planner look at the schedules
    /// of all applications, along `schedule_due`.
    static let schedules: SQLText = """
        SELECT count(*) /* quotas.schedules */ FROM schedule
         WHERE application_id = $1 AND \(sqlite: "ended_at_ms IS NULL", postgres: "coalesce(ended_at_ms, 0) = 0")
        """

    /// Scans `idempotency_caller`.
    static let idempotencyKeys: SQLText = """
        SELECT count(*) /* quotas.idempotency_keys */ FROM idempotency WHERE caller_kind = $1 AND caller_id = $2
        """

    static let content: SQLText = """
        SELECT content_bytes /* quotas.content */ FROM application_use WHERE application_id = $1
        """
}
