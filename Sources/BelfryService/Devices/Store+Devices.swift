package import FoundationEssentials

extension Store {
    package func unregister(_ uuid: UUID, on platform: Key<Platform>) async throws {
        try await unregister(uuid, on: platform, as: .lost)
    }

    /// Deactivates the device, and keeps the call for an old server where there is such a device.
    func unregister(
        _ uuid: UUID, on platform: Key<Platform>, as loss: PlatformActivity.Figure, mirroring call: MirrorCall? = nil
    ) async throws {
        guard let name = try await name(uuid, on: platform) else { return }
        try await write { session in
            guard let key = try session.db.device(name, on: platform) else { return }
            try session.unregister(key, on: platform, as: loss)
            guard let call, try session.prepared(DeviceStatements.byKey).hasRow(key, platform) else { return }
            try session.mirror(call, of: key, on: platform)
        }
    }

    /// As `register`, in a transaction of its own, with the line of the audit log where the call is within `audited`.
    func registerAlone(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        try await write { try $0.register(registration, as: uuid, on: platform) }
    }

    /// Deactivates a device whose app goes on as another, and registers that once more where it gets values of the old one.
    func replace(
        _ old: Device, by device: Device, _ merged: Registration?, on platform: Platform, isMirrored: Bool
    ) async throws -> Device {
        try await write { session in
            // The app is one, and is to hear of a push once.
            if old.isActive { try session.unregister(old.key, on: old.platformKey) }
            let replacement = try merged.map { try session.register($0, as: device.ownUUID, on: platform) } ?? device
            if old.isActive, isMirrored { try session.mirror(MirrorCall(.delete), of: old.key, on: old.platformKey) }
            return replacement
        }
    }

    package func device(_ uuid: UUID, on platform: Key<Platform>) async throws -> Device? {
        guard let name = try await name(uuid, on: platform) else { return nil }
        let now = clock.now
        return try await readCommitted { [secrets] db in
            guard let key = try db.device(name, on: platform) else { return nil }
            guard let row = try db.prepared(DeviceStatements.byKey).first(key, platform, as: DeviceRow.init) else {
                return nil
            }
            return row.device(naming: secrets.naming, topicNames: try db.topicNames(row.topics, at: now))
        }
    }

    package func devices(
        named names: NamedTargets, on platforms: [Key<Platform>]
    ) async throws -> (found: DevicesByPlatform, unknown: [UUID]) {
        switch names {
        case .users(let ids): return (try await devices(of: UsersOnPlatforms(ids: ids, platforms: platforms)), [])
        case .devices(let uuids):
            let places = try await places(of: uuids, on: platforms)
            let known = Set(places.map(\.uuid))
            return (
                Dictionary(grouping: places, by: \.platform).mapValues { Set($0.map(\.device)).sorted() },
                uuids.filter { !known.contains($0) }.withoutRepeats
            )
        }
    }

    private func devices(of users: UsersOnPlatforms) async throws -> DevicesByPlatform {
        let limit = Batch.devicesMax + 1
        guard users.ids.count <= NewPush.namedMax else {
            // So that those of one user do not wait for them.
            return try await readCommitted { try $0.devices(ofUsers: users.ids, on: users.platforms, atMost: limit) }
        }
        return try await userReads.read(users) { groups in
            try await readCommitted { db in
                try groups.map { try db.devices(ofUsers: $0.ids, on: $0.platforms, atMost: limit) }
            }
        }
    }

    /// The devices behind the UUIDs that are on one of the platforms, in the order of the UUIDs.
    func places(
        of uuids: [UUID], on platforms: [Key<Platform>]
    ) async throws -> [(uuid: UUID, device: Key<Device>, platform: Key<Platform>)] {
        var importers: [Key<Platform>] = []
        for key in platforms where try await platform(key)?.hasImports == true { importers.append(key) }
        let names = uuids.compactMap { uuid in
            DeviceName(uuid, naming: secrets.naming, hasImports: !importers.isEmpty).map { (uuid: uuid, name: $0) }
        }
        guard !names.isEmpty else { return [] }
        let (keys, platformOf) = try await self.platforms(of: names.map(\.name), importers)
        let wanted = Set(platforms)
        return zip(names, keys).compactMap { name, key in
            guard let key, let platform = platformOf[key], wanted.contains(platform) else { return nil }
            return (name.uuid, key, platform)
        }
    }

    /// The devices that have the names, nil where there is none, and their platforms.
    private func platforms(
        of names: [DeviceName], _ importers: [Key<Platform>]
    ) async throws -> ([Key<Device>?], [Key<Device>: Key<Platform>]) {
        try await readCommitted { db in
            let keys = try names.map { name in
                switch name {
                case .own(let key): key
                case .imported(let uuid): try db.device(importedAs: uuid, on: importers)
                }
            }
            return (keys, try db.platforms(of: keys.compactMap(\.self)))
        }
    }

    /// The number of devices that were imported and not seen since, counted up to a limit.
    package func unseenDeviceCount(
        on platform: Key<Platform>, limit: Int = Device.unseenCountMax
    ) async throws -> Int {
        try await search(for: try await self.platform(platform)?.applicationKey) { db, _ in
            try db.prepared(DeviceStatements.unseenCount).first(platform, limit) { Int($0.integer(0)) } ?? 0
        }
    }

    /// The number of inactive devices; nil where there are more than `Device.inactiveCountMax`, which are not counted.
    package func inactiveDeviceCount(on platform: Key<Platform>) async throws -> Int? {
        let count = try await read { db in
            try db.prepared(DeviceStatements.inactiveCount).first(platform, Device.inactiveCountMax + 1) {
                Int($0.integer(0))
            } ?? 0
        }
        return count > Device.inactiveCountMax ? nil : count
    }

    /// The devices of those that can be read, in the order of the keys.
    private func devices(_ keys: [Key<Device>]) async throws -> [Device] {
        let now = clock.now
        return try await readCommitted { [secrets, damagedRows] db in
            try db.prepared(DirectoryStatements.byKeys).all(SQLKeys(keys)) { row in
                try damagedRows.readable("device \(row.integer(0))") { try DeviceRow(row) }
            }.compactMap(\.self).map { row in
                row.device(naming: secrets.naming, topicNames: try db.topicNames(row.topics, at: now))
            }
        }
    }

    /// All devices ever registered on the platform, inactive ones too.
    package func deviceCount(on platform: Key<Platform>) async throws -> Int {
        try await search(for: try await self.platform(platform)?.applicationKey, isShort: true) { db, _ in
            try db.deviceCount(on: [platform])
        }
    }
}

extension WriteSession {
    func unregister(
        _ device: Key<Device>, on platform: Key<Platform>, as loss: PlatformActivity.Figure = .lost,
        since: Instant = .distantFuture
    ) throws {
        try deactivate([Settlement.DeadToken(device: device, since: since)], on: platform, as: loss)
    }

    /// Whether the device is active, which it stays until the end of the transaction.
    func isActive(_ device: Key<Device>, on platform: Key<Platform>) throws -> Bool {
        try prepared(DeviceStatements.holdActive).hasRow(device, platform)
    }
}

/// The users and the platforms whose devices a push looks for.
package struct UsersOnPlatforms: Sendable {
    let ids: [String]
    let platforms: [Key<Platform>]
}
