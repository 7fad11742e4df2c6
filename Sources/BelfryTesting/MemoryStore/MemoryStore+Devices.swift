package import BelfryCore
package import FoundationEssentials

extension MemoryStore {
    package func register(
        _ registration: Registration, as uuid: UUID?, on platform: Platform
    ) async throws -> Device {
        let now = clock.now
        return try transaction { contents in
            guard contents.platforms[platform.key] != nil else { throw StoreError.unknown("platform") }
            let named = uuid.flatMap { contents.device($0, on: platform.key) }?.key
            let holder = contents.holders[Contents.Address(platform: platform.key, token: registration.token)]
            switch RegistrationRules(named: named, holder: holder) {
            case .create:
                try contents.check(quotas, registration, of: nil, on: platform)
                return contents.register(registration, as: contents.nextKey(), on: platform.key, now: now)
            case .update(let device, let evicted):
                try registration.checkTopics(after: contents.devices[device]?.topics ?? [])
                try contents.check(quotas, registration, of: contents.devices[device], on: platform)
                if let evicted { contents.evict(evicted) }
                return contents.register(registration, as: device, on: platform.key, now: now)
            }
        }
    }

    package func unregister(_ uuid: UUID, on platform: Key<Platform>) async throws {
        transaction { contents in
            guard let device = contents.device(uuid, on: platform) else { return }
            contents.devices[device.key] = device.with(token: device.token, isActive: false)
        }
    }

    package func device(_ uuid: UUID, on platform: Key<Platform>) async throws -> Device? {
        transaction { $0.device(uuid, on: platform) }
    }

    package func deviceKeys(_ uuids: [UUID], on platforms: [Key<Platform>]) async throws -> [Key<Device>] {
        let contents = contents
        return Set(uuids.flatMap { uuid in platforms.compactMap { contents.device(uuid, on: $0)?.key } }).sorted()
    }

    package func deviceCount(on platform: Key<Platform>) async throws -> Int {
        transaction { contents in contents.devices.values.count { $0.platformKey == platform } }
    }
}

extension Contents {
    func device(_ uuid: UUID, on platform: Key<Platform>) -> Device? {
        guard let key = naming.device(of: uuid), let device = devices[key] else { return nil }
        return device.platformKey == platform ? device : nil
    }

    fileprivate mutating func register(
        _ registration: Registration, as key: Key<Device>, on platform: Key<Platform>, now: Instant
    ) -> Device {
        let old = devices[key]
        if let token = old?.token { holders[Address(platform: platform, token: token)] = nil }
        let device = Device(
            key: key, uuid: naming.uuid(of: key), platformKey: platform, token: registration.token, isActive: true,
            about: old.map { registration.about.filled(from: $0.about) } ?? registration.about,
            customUserID: registration.customUserID.applied(to: old?.customUserID),
            topics: registration.topics.applied(to: Set(old?.topics ?? [])).sorted(), registeredAt: now)
        devices[key] = device
        intern(device.topics, on: platform)
        holders[Address(platform: platform, token: registration.token)] = key
        return device
    }

    /// Takes the token from a device, which is inactive afterwards.
    fileprivate mutating func evict(_ key: Key<Device>) {
        guard let device = devices[key] else { return }
        if let token = device.token { holders[Address(platform: device.platformKey, token: token)] = nil }
        devices[key] = device.with(token: nil, isActive: false)
    }

    mutating func deactivate(_ deadToken: Settlement.DeadToken) {
        guard let device = devices[deadToken.device], device.registeredAt < deadToken.since else { return }
        devices[deadToken.device] = device.with(token: device.token, isActive: false)
    }
}

extension Contents {
    mutating func relocate(_ move: Settlement.Move, now: Instant) {
        guard let device = devices[move.device] else { return }
        let address = Address(platform: device.platformKey, token: move.to)
        let holder = holders[address].flatMap { devices[$0] }
        switch TokenMove(of: device.party, from: move.from, holder: holder?.party) {
        case .stale: return
        case .superseded: devices[device.key] = device.with(token: device.token, isActive: false)
        case .taken(let evicted):
            if let evicted { evict(evicted) }
            holders[Address(platform: device.platformKey, token: move.from)] = nil
            holders[address] = device.key
            devices[device.key] = device.with(token: move.to, isActive: true, registeredAt: now)
        }
    }
}

extension Device {
    fileprivate var party: TokenMove.Holder {
        TokenMove.Holder(key: key, token: token, isActive: isActive, registeredAt: registeredAt)
    }

    func with(token: DeviceToken?, isActive: Bool, registeredAt: Instant? = nil) -> Device {
        Device(
            key: key, uuid: uuid, platformKey: platformKey, token: token, isActive: isActive, about: about,
            customUserID: customUserID, topics: topics, registeredAt: registeredAt ?? self.registeredAt)
    }
}

extension Registration {
    /// The limit applies to the resulting topics, too.
    fileprivate func checkTopics(after topics: [String]) throws(InvalidInput) {
        let count = self.topics.applied(to: Set(topics)).count
        guard count <= Self.topicsMax else {
            throw InvalidInput(
                field: "tags", "has \(count) topics with those before, the limit is \(Self.topicsMax)")
        }
    }
}

extension Registration.Change {
    fileprivate func applied(to old: Value?) -> Value? {
        switch self {
        case .keep: old
        case .clear: nil
        case .set(let value): value
        }
    }
}
