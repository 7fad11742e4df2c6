package import BelfryCore
import PostgreSQL

extension PostgresStore: QuotaStore {
    package func quotas(of application: Key<Application>) async throws -> [QuotaUse] {
        try await glance { [quotaBook, sharedUse] db in
            try Quota.allCases.map { quota in
                let account = QuotaAccount(quota, of: application)
                guard quota != .userDevices else {
                    return QuotaUse(quota: quota, use: nil, limit: quotaBook.quotas[quota])
                }
                let use = try quotaBook.use(account) ?? db.quotaUse(account) + sharedUse.unwritten(account)
                return QuotaUse(quota: quota, use: max(0, use), limit: quotaBook.quotas[quota])
            }
        }
    }
}

extension WriteSession {
    /// Throws `StoreError.quotaExceeded` when so many more are too many.
    func check(_ quota: Quota, of application: Key<Application>, adding count: Int = 1) throws {
        try check(QuotaAccount(quota, of: application), adding: count)
    }

    func check(_ account: QuotaAccount, adding count: Int = 1) throws {
        guard count > 0, quotaBook.quotas[account.quota] != nil else { return }
        try quotaBook.quotas.check(account.quota, use: try use(account), adding: count)
    }

    /// Throws when the topics of these names that are not there yet would be too many.
    func checkTopics(_ names: Set<String>, of application: Key<Application>) throws {
        guard let room = try topicRoom(of: application), names.count > room else { return }
        let there = try existing(Set(names.map { TopicName(application: application, name: $0) }))
        try check(.topics, of: application, adding: names.count - there.count)
    }

    /// nil where there is no limit.
    func topicRoom(of application: Key<Application>) throws -> Int? {
        guard let limit = quotaBook.quotas[.topics] else { return nil }
        return max(0, limit - (try use(QuotaAccount(.topics, of: application))))
    }

    /// Those of the names that a topic has, even one whose time has come.
    func existing(_ names: Set<TopicName>) throws -> Set<TopicName> {
        guard !names.isEmpty else { return [] }
        let ordered = names.sorted()
        var found: Set<TopicName> = []
        try prepared(TopicStatements.byNames).each(
            PostgresArray(ordered.map(\.application)), PostgresArray(ordered.map(\.name))
        ) { found.insert(TopicName(application: Key($0.integer(3)), name: $0.text(1))) }
        return found
    }

    /// To be told of what the write added, or took away.
    func note(_ count: Int, _ quota: Quota, of application: Key<Application>) {
        effects.quotas.add(count, to: QuotaAccount(quota, of: application))
    }

    /// With what the transaction has changed so far.
    func use(_ account: QuotaAccount) throws -> Int {
        let changed = effects.quotas[account]
        if let known = quotaBook.use(account) { return known + changed }
        var counted = try db.quotaUse(account)
        if SharedUse.isWrittenDown(account.quota) { counted += sharedUse.unwritten(account) + changed }
        quotaBook.learn(counted - changed, of: account)
        return counted
    }
}

extension Connection {
    /// As the rows have it. What nodes have not written down yet is missing; see `SharedUse`.
    func quotaUse(_ account: QuotaAccount) throws -> Int {
        let owner = account.owner
        return switch account.quota {
        case .devices: try count(SharedUseStatements.devices, owner.id)
        case .topics: try count(QuotaStatements.topics, owner.id)
        case .geofences: try count(QuotaStatements.geofences, owner.id)
        case .locations: try count(QuotaStatements.locations, owner.id)
        case .locationGroups: try count(QuotaStatements.locationGroups, owner.id)
        case .schedules: try count(QuotaStatements.schedules, owner.id)
        case .idempotencyKeys:
            try prepared(QuotaStatements.idempotencyKeys).first(Int64(owner.kind.rawValue), owner.id) {
                Int($0.integer(0))
            } ?? 0
        case .content: try count(SharedUseStatements.content, owner.id)
        case .userDevices: 0
        }
    }

    private func count(_ sql: String, _ application: Int64) throws -> Int {
        try prepared(sql).first(application) { Int($0.integer(0)) } ?? 0
    }
}

enum QuotaStatements {
    /// How many active devices custom user ids have on platforms, up to a limit. Walks `device_custom_user` for each.
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

    /// Walks `topic_name`.
    static let topics = "SELECT count(*) /* quotas.topics */ FROM topic WHERE application_id = $1"

    /// Walks `geofence_application`.
    static let geofences = "SELECT count(*) /* quotas.geofences */ FROM geofence WHERE application_id = $1"

    /// Walks `location_application`.
    static let locations = "SELECT count(*) /* quotas.locations */ FROM location WHERE application_id = $1"

    /// Walks `location_group_application`.
    static let locationGroups = """
        SELECT count(*) /* quotas.location_groups */ FROM location_group WHERE application_id = $1
        """

    /// Walks `schedule_application`. Said plainly, the condition would have the planner look at the schedules of all
    /// applications, along `schedule_due`.
    static let schedules = """
        SELECT count(*) /* quotas.schedules */ FROM schedule WHERE application_id = $1 AND coalesce(ended_at_ms, 0) = 0
        """

    /// Walks `idempotency_caller`.
    static let idempotencyKeys = """
        SELECT count(*) /* quotas.idempotency_keys */ FROM idempotency WHERE caller_kind = $1 AND caller_id = $2
        """
}
