package import BelfryCore
package import FoundationEssentials
import GRDB

extension SQLiteStore: ApplicationStore {
    package func create(_ application: NewApplication) async throws -> Application {
        try await writer.write { session in
            guard try session.prepared(TenantStatements.exists).first(application.tenantKey, as: { _ in true }) != nil
            else { throw StoreError.unknown("tenant \(application.tenantKey)") }
            let now = session.clock.now
            try session.prepared(ApplicationStatements.insert).run(
                application.uuid, application.name, application.apiKeyHash, application.sharedSecret.bytes, now,
                application.tenantKey)
            session.rosterChanged()
            return Application(
                key: Key(session.db.lastInsertedRowID), uuid: application.uuid, name: application.name,
                apiKeyHash: application.apiKeyHash, sharedSecret: application.sharedSecret, createdAt: now,
                tenantKey: application.tenantKey)
        }
    }

    package func applications() async throws -> [Application] { try await entries().applications }

    package func application(_ uuid: UUID) async throws -> Application? {
        try await entries().applicationByUUID[uuid]
    }

    package func create(_ platform: NewPlatform) async throws -> Platform {
        try await writer.write { session in
            guard try session.exists(platform.applicationKey) else {
                throw StoreError.unknown("application \(platform.applicationKey)")
            }
            let now = session.clock.now
            try session.prepared(PlatformStatements.insert).run(
                platform.uuid, platform.applicationKey, platform.kind.rawValue, platform.mode.rawValue, platform.name,
                platform.secretHash, platform.credentials.bytes, now)
            session.rosterChanged()
            return Platform(
                key: Key(session.db.lastInsertedRowID), uuid: platform.uuid, applicationKey: platform.applicationKey,
                kind: platform.kind, mode: platform.mode, name: platform.name, secretHash: platform.secretHash,
                credentials: platform.credentials, credentialsVersion: 1, parked: nil, createdAt: now)
        }
    }

    package func platforms(of application: Key<Application>) async throws -> [Platform] {
        try await entries().platformsByApplication[application] ?? []
    }

    package func platform(_ uuid: UUID) async throws -> Platform? { try await entries().platformByUUID[uuid] }

    package func platform(_ key: Key<Platform>) async throws -> Platform? { try await entries().platforms[key] }

    package func replaceCredentials(of platform: Key<Platform>, with credentials: Sealed) async throws {
        try await writer.write { session in
            try session.prepared(PlatformStatements.replaceCredentials).run(credentials.bytes, platform)
            guard session.db.changesCount > 0 else { throw StoreError.unknown("platform \(platform)") }
            session.rosterChanged()
            let parking = try session.prepared(PlatformStatements.byKey).first(platform, as: Platform.init)?.parked
            if parking?.cause == .credentials { try session.resume(platform) }
        }
    }

    package func park(_ platform: Key<Platform>, _ parking: Parking) async throws {
        try await writer.write { session in
            try session.prepared(PlatformStatements.park).run(
                parking.cause.rawValue, parking.detail, parking.since, platform)
            guard session.db.changesCount > 0 else { throw StoreError.unknown("platform \(platform)") }
            session.rosterChanged()
        }
    }

    package func resume(_ platform: Key<Platform>) async throws {
        try await writer.write { session in
            guard try session.prepared(PlatformStatements.exists).first(platform, as: { _ in true }) != nil else {
                throw StoreError.unknown("platform \(platform)")
            }
            try session.resume(platform)
        }
    }

    private func entries() async throws -> Roster.Entries {
        try await roster.entries { try await self.read { [damagedRows] in try Roster.Entries(of: $0, damagedRows) } }
    }
}

extension WriteSession {
    func exists(_ application: Key<Application>) throws -> Bool {
        try prepared(ApplicationStatements.exists).first(application) { _ in true } ?? false
    }

    /// Lets the platform's pages run again. Those handed back for later, while it was parked or before, run at once and
    /// in the order of their pushes; leases are left alone.
    fileprivate func resume(_ platform: Key<Platform>) throws {
        try prepared(PlatformStatements.resume).run(platform)
        guard db.changesCount > 0 else { return }
        let release = try prepared(PlatformStatements.releasePages)
        for lane in Lane.allCases { try release.run(lane.rawValue, platform, clock.now) }
        rosterChanged()
        effects.fallsDue = true
    }
}

enum ApplicationStatements {
    static let insert = """
        INSERT INTO application /* applications.insert */ (
            uuid, name, api_key_hash, shared_secret, created_at_ms, tenant_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        """

    static let all = """
        SELECT id, uuid, name, api_key_hash, shared_secret, created_at_ms, tenant_id /* applications.all */
          FROM application
         WHERE is_doomed = 0
         ORDER BY id
        """

    static let exists = """
        SELECT 1 /* applications.exists */ FROM application WHERE id = ?1 AND is_doomed = 0
        """
}

enum PlatformStatements {
    static let insert = """
        INSERT INTO platform /* platforms.insert */ (
            uuid, application_id, kind, mode, name, secret_hash, credentials, credentials_version, created_at_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8)
        """

    static let all = """
        SELECT platform.id, platform.uuid, application_id, kind, mode, platform.name, secret_hash, credentials,
               credentials_version, parked_cause, parked_detail, parked_since_ms, platform.created_at_ms
               /* platforms.all */
          FROM platform JOIN application ON application.id = application_id
         WHERE is_doomed = 0 AND is_retired = 0
         ORDER BY platform.id
        """

    static let byKey = """
        SELECT id, uuid, application_id, kind, mode, name, secret_hash, credentials,
               credentials_version, parked_cause, parked_detail, parked_since_ms, created_at_ms /* platforms.by_key */
          FROM platform
         WHERE id = ?1
        """

    static let exists = """
        SELECT 1 /* platforms.exists */ FROM platform WHERE id = ?1 AND is_retired = 0
        """

    static let replaceCredentials = """
        UPDATE platform /* platforms.replace_credentials */
           SET credentials = ?1, credentials_version = credentials_version + 1
         WHERE id = ?2
        """

    static let park = """
        UPDATE platform /* platforms.park */
           SET parked_cause = ?1, parked_detail = ?2, parked_since_ms = ?3
         WHERE id = ?4
        """

    /// The first page to meet trouble tells when it began.
    static let parkUnlessParked = """
        UPDATE platform /* platforms.park_unless_parked */
           SET parked_cause = ?1, parked_detail = ?2, parked_since_ms = ?3
         WHERE id = ?4 AND parked_cause IS NULL AND credentials_version = ?5
        """

    static let resume = """
        UPDATE platform /* platforms.resume */
           SET parked_cause = NULL, parked_detail = NULL, parked_since_ms = NULL
         WHERE id = ?1 AND parked_cause IS NOT NULL
        """

    /// Walks `page_due`. A page with a `carry_count` is a lease.
    static let releasePages = """
        UPDATE page /* platforms.release_pages */
           SET due_at_ms = (SELECT accepted_at_ms FROM push WHERE push.id = push_id)
         WHERE is_open = 1 AND lane = ?1 AND platform_id = ?2 AND due_at_ms > ?3 AND carry_count = 0
        """
}
