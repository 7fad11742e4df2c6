package import BelfryService

extension MemoryStore {
    package func quotas(of application: Key<Application>) async throws -> [QuotaUse] {
        transaction { [quotas] contents in
            Quota.allCases.map { quota in
                QuotaUse(
                    quota: quota,
                    use: quota == .userDevices ? nil : contents.use(QuotaAccount(quota, of: application)),
                    limit: quotas[quota])
            }
        }
    }
}

extension Contents {
    func check(
        _ quotas: Quotas, _ quota: Quota, of application: Key<Application>, adding count: Int = 1
    ) throws(StoreError) {
        guard quotas[quota] != nil else { return }
        try quotas.check(quota, use: use(QuotaAccount(quota, of: application)), adding: count)
    }

    /// Throws when the registration would exceed a quota of the application.
    func check(
        _ quotas: Quotas, _ registration: Registration, of device: Device?, on platform: Platform
    ) throws(StoreError) {
        if device == nil { try check(quotas, .devices, of: platform.applicationKey) }
        if quotas[.userDevices] != nil, case .set(let id) = registration.customUserID, id != device?.customUserID {
            let use = devices.values.count {
                $0.platformKey == platform.key && $0.customUserID == id && $0.isActive
            }
            try quotas.check(.userDevices, use: use)
        }
        try checkTopics(quotas, registration.topics.wanted, of: platform.applicationKey)
    }

    /// Throws when the names would make too many new topics.
    func checkTopics(
        _ quotas: Quotas, _ names: Set<String>, of application: Key<Application>
    ) throws(StoreError) {
        guard quotas[.topics] != nil else { return }
        try check(quotas, .topics, of: application, adding: missing(names, of: application))
    }

    /// How many of the names have no topic.
    func missing(_ names: Set<String>, of application: Key<Application>) -> Int {
        names.subtracting(topics.values.filter { $0.application == application }.map(\.topic.name)).count
    }

    func use(_ account: QuotaAccount) -> Int {
        let application = Key<Application>(account.owner.id)
        return switch account.quota {
        case .devices: devices.values.count { platforms[$0.platformKey]?.applicationKey == application }
        case .topics: topics.values.count { $0.application == application }
        case .userDevices: 0
        case .users: users.keys.count { $0.application == application }
        case .geofences: map.geofences.values.count { $0.application == application }
        case .locations: map.locations.values.count { $0.application == application }
        case .locationGroups: map.groups.values.count { $0.application == application }
        case .schedules: schedules.values.count { $0.applicationKey == application && $0.ending == nil }
        case .idempotencyKeys: idempotency.keys.count { idempotencyCallers[$0] == account.owner }
        case .content: contentBytes(of: application)
        }
    }

    private func contentBytes(of application: Key<Application>) -> Int {
        let pushes = pushes.values.filter { $0.push.applicationKey == application }
            .map { $0.push.content.storedText.utf8.count + $0.push.audience.storedText.utf8.count }
        let schedules = schedules.values.filter { $0.applicationKey == application }
            .map { $0.pushRequest.content.storedText.utf8.count + $0.pushRequest.target.storedText.utf8.count }
        let geofences = map.geofences.values.filter { $0.application == application }
            .map { $0.geofence.plan.data.storedText.utf8.count }
        return (pushes + schedules + geofences).reduce(0, +)
    }
}
