import BelfryCore
import FoundationEssentials

extension SQLStore {
    package func unregister(_ uuid: UUID, on platform: Key<Platform>) async throws {
        guard let key = secrets.naming.device(of: uuid) else { return }
        try await write { try $0.deactivate([Settlement.DeadToken(device: key, since: .distantFuture)], on: platform) }
    }

    package func device(_ uuid: UUID, on platform: Key<Platform>) async throws -> Device? {
        guard let key = secrets.naming.device(of: uuid) else { return nil }
        let now = clock.now
        return try await readCommitted { [secrets] db in
            guard let row = try db.prepared(DeviceStatements.byKey).first(key, platform, as: DeviceRow.init) else {
                return nil
            }
            return row.device(naming: secrets.naming, topicNames: try db.topicNames(row.topics, at: now))
        }
    }

    package func deviceKeys(_ uuids: [UUID], on platforms: [Key<Platform>]) async throws -> [Key<Device>] {
        let keys = uuids.compactMap(secrets.naming.device(of:))
        guard !keys.isEmpty else { return [] }
        return try await readCommitted { db in
            let onPlatforms = try db.prepared(DeviceStatements.onPlatforms)
            let known = Set(try onPlatforms.all(SQLKeys(keys), SQLKeys(platforms)) { Key<Device>($0.integer(0)) })
            return keys.filter(known.contains)
        }
    }

    package func deviceCount(on platform: Key<Platform>) async throws -> Int {
        try await search(for: try await self.platform(platform)?.applicationKey, isShort: true) { db, _ in
            try db.deviceCount(on: [platform])
        }
    }
}
