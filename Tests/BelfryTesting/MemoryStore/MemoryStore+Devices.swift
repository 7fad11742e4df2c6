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
                return contents.register(registration, as: contents.nextKey(), on: platform.key, now: now)
            case .update(let device, let evicted):
                try registration.checkTopics(after: contents.devices[device]?.topics ?? [])
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

    package func timeZones(of application: Key<Application>) async throws -> [String] {
        transaction { contents in
            let devices = contents.devices.values.filter {
                contents.platforms[$0.platformKey]?.applicationKey == application
            }
            return Set(devices.compactMap { contents.deviceDetails[$0.key]?.timeZone?.caseFolded }).sorted()
        }
    }

    package func campaignReceipts(_ name: String, of application: Key<Application>) async throws -> [UUID]? { nil }
    package func segmentExpression(
        _ name: String, of application: Key<Application>
    ) async throws -> AudienceExpression? { nil }

    package func templateContent(
        _ reference: TemplateReference, of application: Key<Application>
    ) async throws -> Push.Content? { nil }

    package func devices(
        named names: NamedTargets, on platforms: [Key<Platform>]
    ) async throws -> (found: DevicesByPlatform, unknown: [UUID]) {
        transaction { contents in
            let found = platforms.map { platform -> (Key<Platform>, Set<Key<Device>>) in
                switch names {
                case .devices(let uuids): (platform, Set(uuids.compactMap { contents.device($0, on: platform)?.key }))
                case .users(let ids):
                    (platform, contents.members(of: .any(ids.map { .list(.customUser($0)) }), on: platform))
                }
            }
            var unknown: [UUID] = []
            if case .devices(let uuids) = names {
                unknown = uuids.filter { uuid in platforms.allSatisfy { contents.device(uuid, on: $0) == nil } }
            }
            return (
                Dictionary(uniqueKeysWithValues: found.filter { !$0.1.isEmpty }.map { ($0, $1.sorted()) }),
                unknown.withoutRepeats
            )
        }
    }

}

extension Contents {
    func device(_ uuid: UUID, on platform: Key<Platform>) -> Device? {
        naming.device(of: uuid).flatMap { devices[$0] }.flatMap { $0.platformKey == platform ? $0 : nil }
    }

    fileprivate mutating func register(
        _ registration: Registration, as key: Key<Device>, on platform: Key<Platform>, now: Instant
    ) -> Device {
        let old = devices[key]
        if let token = old?.token { holders[Address(platform: platform, token: token)] = nil }
        let device = Device(
            key: key, uuid: naming.uuid(of: key), platformKey: platform,
            token: registration.token, isActive: true,
            about: old.map { registration.about.filled(from: $0.about) } ?? registration.about,
            customUserID: registration.customUserID.applied(to: old?.customUserID),
            topics: registration.topics.applied(to: Set(old?.topics ?? [])).sorted(), registeredAt: now,
            ownUUID: naming.uuid(of: key))
        devices[key] = device
        if !registration.detail.isEmpty {
            deviceDetails[key] = (deviceDetails[key] ?? DeviceDetail()).changed(by: registration.detail)
        }
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
        guard let device = devices[deadToken.device], device.registeredAt < deadToken.since,
            deadToken.names(device.token)
        else { return }
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
