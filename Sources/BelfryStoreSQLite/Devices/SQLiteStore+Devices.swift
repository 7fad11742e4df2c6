package import BelfryCore
package import FoundationEssentials
import GRDB

extension SQLiteStore: DeviceStore {
    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        let named = uuid.flatMap(secrets.naming.device(of:))
        let tokenHash = secrets.hash(ofToken: registration.token.bytes)
        return try await writer.write { session in
            try Registrar(
                session: session, platform: platform, registration: registration, named: named, tokenHash: tokenHash
            ).register()
        }
    }

    package func unregister(_ uuid: UUID, on platform: Key<Platform>) async throws {
        guard let key = secrets.naming.device(of: uuid) else { return }
        try await writer.write { session in
            guard let row = try session.device(key, on: platform), row.reach != .inactive else { return }
            try session.deactivate(row, on: platform)
        }
    }

    package func device(_ uuid: UUID, on platform: Key<Platform>) async throws -> Device? {
        guard let key = secrets.naming.device(of: uuid) else { return nil }
        let now = clock.now
        return try await read { [secrets] db in
            guard let row = try db.prepared(DeviceStatements.byKey).first(key, platform, as: DeviceRow.init) else {
                return nil
            }
            let names = try db.topicNames(row.topics, at: now)
            return row.device(on: platform, naming: secrets.naming, topicNames: names)
        }
    }

    package func deviceKeys(_ uuids: [UUID], on platforms: [Key<Platform>]) async throws -> [Key<Device>] {
        let keys = uuids.compactMap(secrets.naming.device(of:))
        guard !keys.isEmpty else { return [] }
        return try await read { db in
            let statement = try db.prepared(DeviceStatements.platform)
            return try keys.filter { key in
                try statement.first(key) { platforms.contains(Key($0.integer(0))) } ?? false
            }
        }
    }

    package func deviceCount(on platform: Key<Platform>) async throws -> Int {
        try await read { db in try DeviceCounts(db: db, platforms: [platform]).total() }
    }
}
