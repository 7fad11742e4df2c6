extension Store {
    /// All quotas, in their order.
    package func quotas(of application: Key<Application>) async throws -> [QuotaUse] {
        try await readCommitted { [self] db in
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
    /// Throws `StoreError.quotaExceeded` if `count` more would exceed the quota. Called before the write changes
    /// anything, so that the writes which share the transaction need not run again.
    func check(_ quota: Quota, of application: Key<Application>, adding count: Int = 1) throws {
        try check(QuotaAccount(quota, of: application), adding: count)
    }

    func check(_ account: QuotaAccount, adding count: Int = 1) throws {
        guard count > 0, let limit = quotaCounts.quotas[account.quota] else { return }
        let use = try use(account)
        // The usual case, without composing the error.
        if count <= limit, use <= limit - count { return }
        try quotaCounts.quotas.check(account.quota, use: use, adding: count)
    }

    /// Notes the number that the write added, or removed.
    func note(_ count: Int, _ quota: Quota, of application: Key<Application>) {
        effects.quotas.add(count, to: QuotaAccount(quota, of: application))
    }

    /// The use of a quota, with the changes of this transaction so far.
    func use(_ account: QuotaAccount) throws -> Int {
        let changed = effects.quotas[account]
        if let known = quotaCounts.use(account) { return known + changed }
        var counted = try countUse(account)
        if let unwritten = unwrittenUse(account) { counted += unwritten + changed }
        quotaCounts.learn(counted - changed, of: account)
        return counted
    }
}

extension SQLConnection {
    /// The use that the rows show; see `Store.unwrittenUse`.
    func quotaUse(_ account: QuotaAccount) throws -> Int { try quotaUse(account, below: .max) ?? .max }

    /// nil when that many rows were counted, and not all.
    func quotaUse(_ account: QuotaAccount, below limit: Int) throws -> Int? {
        let owner = account.owner
        return switch account.quota {
        case .devices: try prepared(QuotaStatements.devices).count(owner.id)
        case .topics: try count(QuotaStatements.topics, owner.id, below: limit)
        case .users: try count(QuotaStatements.users, owner.id, below: limit)
        case .geofences: try count(QuotaStatements.geofences, owner.id, below: limit)
        case .locations: try count(QuotaStatements.locations, owner.id, below: limit)
        case .locationGroups: try count(QuotaStatements.locationGroups, owner.id, below: limit)
        case .schedules: try count(QuotaStatements.schedules, owner.id, below: limit)
        case .idempotencyKeys:
            try count(QuotaStatements.idempotencyKeys, Int64(owner.kind.rawValue), owner.id, below: limit)
        case .content: try prepared(QuotaStatements.content).count(owner.id)
        case .userDevices: 0
        }
    }

    private func count<each Value: SQLValue>(
        _ sql: SQLText, _ owner: repeat each Value, below limit: Int
    ) throws -> Int? {
        let count = try prepared(sql).count(repeat each owner, limit)
        return count < limit ? count : nil
    }
}

enum QuotaStatements {
    /// SQLite has the counts of the search index, and devices that are not indexed yet, which are few. In PostgreSQL
    /// the nodes store what they add (`SharedUse`).
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
    static let topics = count("SELECT 1 /* quotas.topics */ FROM topic WHERE application_id = $1 LIMIT $2")

    /// Scans `app_user_public`.
    static let users = count("SELECT 1 /* quotas.users */ FROM app_user WHERE application_id = $1 LIMIT $2")

    /// Scans `geofence_application`.
    static let geofences = count("SELECT 1 /* quotas.geofences */ FROM geofence WHERE application_id = $1 LIMIT $2")

    /// Scans `location_application`.
    static let locations = count("SELECT 1 /* quotas.locations */ FROM location WHERE application_id = $1 LIMIT $2")

    /// Scans `location_group_application`.
    static let locationGroups = count(
        "SELECT 1 /* quotas.location_groups */ FROM location_group WHERE application_id = $1 LIMIT $2")

    /// Scans `schedule_application`. Written plainly, the condition would make PostgreSQL's planner scan the schedules
    /// of all applications, along `schedule_due`.
    static let schedules = count(
        """
        SELECT 1 /* quotas.schedules */ FROM schedule
         WHERE application_id = $1 AND \(sqlite: "ended_at_ms IS NULL", postgres: "coalesce(ended_at_ms, 0) = 0")
         LIMIT $2
        """)

    /// Scans `idempotency_caller`.
    static let idempotencyKeys = count(
        """
        SELECT 1 /* quotas.idempotency_keys */ FROM idempotency WHERE caller_kind = $1 AND caller_id = $2 LIMIT $3
        """)

    static let content: SQLText = """
        SELECT content_bytes /* quotas.content */ FROM application_use WHERE application_id = $1
        """

    private static func count(_ rows: SQLText) -> SQLText { "SELECT count(*) FROM (\(rows)) AS rows" }
}
