package import BelfryCore
package import FoundationEssentials
import PostgreSQL

extension PostgresStore: DeviceStore {
    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        let entry = RegistrationEntry(
            registration: registration, platform: platform, named: uuid.flatMap(secrets.naming.device(of:)),
            tokenHash: secrets.hash(registration.token))
        return try await registrations.register(entry, in: self)
    }

    package func unregister(_ uuid: UUID, on platform: Key<Platform>) async throws {
        guard let key = secrets.naming.device(of: uuid) else { return }
        try await write { session in
            var postings = PostingChanges()
            try session.prepared(DeviceStatements.bury).each(
                platform, PostgresArray([key]), PostgresArray([Instant.distantFuture])
            ) { row in
                postings.move(key, on: platform, from: try row.withBlob(1) { try TopicList.decode($0) }, to: [])
            }
            try postings.write(in: session)
        }
    }

    package func device(_ uuid: UUID, on platform: Key<Platform>) async throws -> Device? {
        guard let key = secrets.naming.device(of: uuid) else { return nil }
        let now = clock.now
        return try await glance { [secrets] db in
            guard let row = try db.prepared(DeviceStatements.byKey).first(key, platform, as: DeviceRow.init) else {
                return nil
            }
            return row.device(naming: secrets.naming, topicNames: try db.topicNames(row.topics, at: now))
        }
    }

    package func deviceKeys(_ uuids: [UUID], on platforms: [Key<Platform>]) async throws -> [Key<Device>] {
        let keys = uuids.compactMap(secrets.naming.device(of:))
        guard !keys.isEmpty else { return [] }
        return try await glance { db in
            let found = try db.prepared(DeviceStatements.onPlatforms).all(
                PostgresArray(keys), PostgresArray(platforms)
            ) { Key<Device>($0.integer(0)) }
            let known = Set(found)
            return keys.filter(known.contains)
        }
    }

    package func deviceCount(on platform: Key<Platform>) async throws -> Int {
        // It counts rows, however many there are.
        try await librarian.search(for: try await self.platform(platform)?.applicationKey) { db, _ in
            try db.prepared(DeviceStatements.count).first(platform) { Int($0.integer(0)) } ?? 0
        }
    }
}
