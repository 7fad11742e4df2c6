import FoundationEssentials

extension SQLStore {
    package func unregister(_ uuid: UUID, on platform: Key<Platform>) async throws {
        guard let name = try await name(uuid, on: platform) else { return }
        try await write { session in
            guard let key = try session.db.device(name, on: platform) else { return }
            try session.deactivate([Settlement.DeadToken(device: key, since: .distantFuture)], on: platform)
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

    package func deviceKeys(_ uuids: [UUID], on platforms: [Key<Platform>]) async throws -> [Key<Device>] {
        try await places(of: uuids, on: platforms).map(\.device)
    }

    package func devices(named names: NamedTargets, on platforms: [Key<Platform>]) async throws -> DevicesByPlatform {
        switch names {
        case .users(let ids): try await devices(of: UsersOnPlatforms(ids: ids, platforms: platforms))
        case .devices(let uuids):
            Dictionary(grouping: try await places(of: uuids, on: platforms), by: \.platform)
                .mapValues { Set($0.map(\.device)).sorted() }
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

    package func unknownDevices(among uuids: [UUID], on platforms: [Key<Platform>]) async throws -> [UUID] {
        let known = Set(try await places(of: uuids, on: platforms).map(\.uuid))
        var unknown: Set<UUID> = []
        return uuids.filter { !known.contains($0) && unknown.insert($0).inserted }
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

    package func unseenDevices(
        on platforms: [Key<Platform>], after: Key<Device>?, limit: Int
    ) async throws -> [Device] {
        let keys = try await readCommitted { db in
            let statement = try db.prepared(DeviceStatements.unseen)
            let found = try platforms.flatMap { platform in
                try statement.all(platform, after?.rawValue ?? 0, limit) { Key<Device>($0.integer(0)) }
            }
            return Array(found.sorted().prefix(limit))
        }
        return try await devices(keys)
    }

    package func unseenDeviceCount(on platforms: [Key<Platform>]) async throws -> Int {
        guard let first = platforms.first else { return 0 }
        return try await search(for: try await self.platform(first)?.applicationKey) { db, _ in
            try platforms.reduce(0) { sum, platform in
                sum + (try db.prepared(DeviceStatements.unseenCount).first(platform) { Int($0.integer(0)) } ?? 0)
            }
        }
    }

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

    package func deviceCount(on platform: Key<Platform>) async throws -> Int {
        try await search(for: try await self.platform(platform)?.applicationKey, isShort: true) { db, _ in
            try db.deviceCount(on: [platform])
        }
    }
}

/// The users and the platforms whose devices a push looks for.
struct UsersOnPlatforms: Sendable {
    let ids: [String]
    let platforms: [Key<Platform>]
}
