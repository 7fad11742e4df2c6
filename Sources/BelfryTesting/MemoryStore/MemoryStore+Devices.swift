package import BelfryService
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
                let isOwn = uuid.flatMap(contents.naming.device(of:)) == device
                var mark = contents.devices[device]?.importMark
                mark?.noteRegistration(isByOwnUUID: isOwn)
                return contents.register(registration, as: device, on: platform.key, now: now, mark: mark)
            }
        }
    }

    package func importDevices(_ devices: [DeviceImport], on platform: Platform) async throws -> [ImportVerdict] {
        let now = clock.now
        return try transaction { contents in
            guard let known = contents.platforms[platform.key] else { throw StoreError.unknown("platform") }
            contents.platforms[platform.key] = known.with(hasImports: true)
            return try devices.map { device in
                do {
                    return try contents.importDevice(device, on: platform, quotas, now: now)
                } catch StoreError.quotaExceeded(let excess) {
                    return .refused(excess.description)
                } catch let error as InvalidInput {
                    return .refused(error.description)
                }
            }
        }
    }

    package func delete(_ device: Device, on platform: Platform) async throws {
        transaction { contents in
            guard let known = contents.devices[device.key], known.platformKey == platform.key else { return }
            contents.evict(device.key)
            contents.devices[device.key] = nil
            contents.deviceDetails[device.key] = nil
            contents.events.heartbeats[platform.key]?[device.key] = nil
            contents.carmaDevices.removeAll { $0.device == known.ownUUID }
            contents.acrobitsRegistrations.removeAll { $0.device == known.ownUUID }
            contents.mirrorEntries.removeAll { $0.device == device.key }
        }
    }

    package func unseenDevices(
        on platforms: [Key<Platform>], after: Key<Device>?, limit: Int
    ) async throws -> [Device] {
        transaction { contents in
            let unseen = contents.devices.values.filter {
                platforms.contains($0.platformKey) && $0.importMark?.stage == .unseen
            }
            let behind = unseen.filter { device in after.map { device.key > $0 } ?? true }
            return Array(behind.sorted { $0.key < $1.key }.prefix(limit))
        }
    }

    package func inactiveDeviceCount(on platform: Key<Platform>) async throws -> Int? {
        let count = transaction { contents in
            contents.devices.values.count { $0.platformKey == platform && !$0.isActive }
        }
        return count > Device.inactiveCountMax ? nil : count
    }

    package func unseenDeviceCount(on platforms: [Key<Platform>]) async throws -> Int {
        try await unseenDevices(on: platforms, after: nil, limit: .max).count
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

    package func unknownDevices(among uuids: [UUID], on platforms: [Key<Platform>]) async throws -> [UUID] {
        let contents = contents
        var unknown: Set<UUID> = []
        return uuids.filter { uuid in
            platforms.allSatisfy { contents.device(uuid, on: $0) == nil } && unknown.insert(uuid).inserted
        }
    }

    package func devices(named names: NamedTargets, on platforms: [Key<Platform>]) async throws -> DevicesByPlatform {
        transaction { contents in
            let found = platforms.map { platform -> (Key<Platform>, Set<Key<Device>>) in
                switch names {
                case .devices(let uuids): (platform, Set(uuids.compactMap { contents.device($0, on: platform)?.key }))
                case .users(let ids):
                    (platform, contents.members(of: .any(ids.map { .list(.customUser($0)) }), on: platform))
                }
            }
            return Dictionary(uniqueKeysWithValues: found.filter { !$0.1.isEmpty }.map { ($0, $1.sorted()) })
        }
    }

    package func deviceCount(on platform: Key<Platform>) async throws -> Int {
        transaction { contents in contents.devices.values.count { $0.platformKey == platform } }
    }
}

extension Contents {
    func device(_ uuid: UUID, on platform: Key<Platform>) -> Device? {
        guard let key = naming.device(of: uuid) else {
            return devices.values.first { $0.platformKey == platform && $0.importMark?.uuid == uuid }
        }
        return devices[key].flatMap { $0.platformKey == platform ? $0 : nil }
    }

    fileprivate mutating func importDevice(
        _ device: DeviceImport, on platform: Platform, _ quotas: Quotas, now: Instant
    ) throws -> ImportVerdict {
        let named = device.uuid.flatMap { self.device($0, on: platform.key) }
        let address = Address(platform: platform.key, token: device.registration.token)
        let holder = holders[address].flatMap { devices[$0] }
        let given = device.uuid.flatMap { naming.device(of: $0) == nil ? $0 : nil }
        switch ImportRules(named: named?.importParty, holder: holder?.importParty) {
        case .create:
            try check(quotas, device.registration, of: nil, on: platform)
            return take(device, as: nextKey(), given, on: platform.key, now: now)
        case .update(let key, let evicted):
            try check(quotas, device.registration, of: devices[key], on: platform)
            if let evicted { evict(evicted) }
            return take(device, as: key, given, on: platform.key, now: now)
        case .name(let key):
            guard let given, let old = devices[key] else { return .duplicate }
            devices[key] = old.with(ImportMark(uuid: given, importedAt: now, stage: .seen), naming)
            return .updated
        case .keep: return .duplicate
        }
    }

    private mutating func take(
        _ device: DeviceImport, as key: Key<Device>, _ given: UUID?, on platform: Key<Platform>, now: Instant
    ) -> ImportVerdict {
        let old = devices[key]
        let mark = ImportMark(
            uuid: old?.importMark?.uuid ?? given, importedAt: old?.importMark?.importedAt ?? now)
        let new = register(
            device.registration, as: key, on: platform, now: min(device.lastSeenAt, now), mark: mark)
        if !device.isActive { devices[key] = new.with(token: new.token, isActive: false) }
        guard let old else { return .new }
        let isSame =
            devices[key]?.with(token: old.token, isActive: old.isActive, registeredAt: .zero)
            == old.with(token: new.token, isActive: device.isActive, registeredAt: .zero)
        return isSame && old.token == new.token && old.isActive == device.isActive ? .duplicate : .updated
    }

    fileprivate mutating func register(
        _ registration: Registration, as key: Key<Device>, on platform: Key<Platform>, now: Instant,
        mark: ImportMark? = nil
    ) -> Device {
        let old = devices[key]
        if let token = old?.token { holders[Address(platform: platform, token: token)] = nil }
        let device = Device(
            key: key, uuid: mark?.name(own: naming.uuid(of: key)) ?? naming.uuid(of: key), platformKey: platform,
            token: registration.token, isActive: true,
            about: old.map { registration.about.filled(from: $0.about) } ?? registration.about,
            customUserID: registration.customUserID.applied(to: old?.customUserID),
            topics: registration.topics.applied(to: Set(old?.topics ?? [])).sorted(), registeredAt: now,
            importMark: mark, ownUUID: naming.uuid(of: key))
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
            customUserID: customUserID, topics: topics, registeredAt: registeredAt ?? self.registeredAt,
            importMark: importMark, ownUUID: ownUUID)
    }

    fileprivate var importParty: ImportRules.Party { ImportRules.Party(key: key, mark: importMark) }

    func with(_ mark: ImportMark, _ naming: DeviceNaming) -> Device {
        Device(
            key: key, uuid: mark.name(own: naming.uuid(of: key)), platformKey: platformKey, token: token,
            isActive: isActive, about: about, customUserID: customUserID, topics: topics, registeredAt: registeredAt,
            importMark: mark, ownUUID: ownUUID)
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

extension Contents {
    mutating func retireUnseen(before: Instant) -> Int {
        let due = devices.values.filter { device in
            device.importMark.map { $0.stage == .unseen && $0.importedAt < before } ?? false
        }
        for device in due {
            guard let mark = device.importMark else { continue }
            let retired = ImportMark(uuid: mark.uuid, importedAt: mark.importedAt, stage: .retired)
            devices[device.key] = device.with(retired, naming).with(token: device.token, isActive: false)
        }
        return due.count
    }
}
