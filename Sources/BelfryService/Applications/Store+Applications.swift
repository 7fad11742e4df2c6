package import FoundationEssentials

extension Store {
    package func create(_ application: NewApplication) async throws -> Application {
        try await write { session in
            guard try session.prepared(TenantStatements.exists).hasRow(application.tenantKey) else {
                throw StoreError.unknown("tenant \(application.tenantKey)")
            }
            try session.checkRoom(
                .applications, ApplicationStatements.countOfTenant, application.tenantKey, RowLimit.applications.most)
            let now = session.now
            let key = try session.prepared(ApplicationStatements.insert).first(
                application.uuid, application.name, application.apiKeyHash, application.sharedSecret.bytes, now,
                application.tenantKey, application.description
            ) { $0.integer(0) }
            guard let key else { throw StoreError.taken("the application") }
            session.registryChanged()
            return Application(
                key: Key(key), uuid: application.uuid, name: application.name,
                apiKeyHash: application.apiKeyHash, sharedSecret: application.sharedSecret, createdAt: now,
                tenantKey: application.tenantKey, description: application.description)
        }
    }

    /// All applications, without the API keys of bindings.
    package func applications() async throws -> [Application] { try await applications(in: .everything) }

    /// The applications within the bounds of a key or a person, in the order they were created, after `after`.
    package func applications(
        in bounds: AdminKey.Bounds, after: Key<Application>? = nil, limit: Int = .max
    ) async throws -> [Application] {
        try await read { [damagedRows] db in
            func application(_ row: some SQLRow) throws -> (position: Key<Application>, value: Application?) {
                let key = Key<Application>(row.integer(0))
                return (key, try damagedRows.readable("application \(key)") { try Application(row) })
            }
            return try DamagedRows.slice(of: limit, after: after ?? Key(0)) { after, limit in
                switch bounds {
                case .everything: try db.prepared(ApplicationStatements.all).all(after, limit, as: application)
                case .tenant(let tenant):
                    try db.prepared(ApplicationStatements.ofTenant).all(after, limit, tenant, as: application)
                case .application(let key, _):
                    key > after ? try db.prepared(ApplicationStatements.byKey).all(key, as: application) : []
                }
            }
        }
    }

    package func application(_ uuid: UUID) async throws -> Application? { try await entry(.uuid(uuid))?.application }

    package func application(_ key: Key<Application>) async throws -> Application? {
        try await entry(.key(key))?.application
    }

    package func create(_ platform: NewPlatform) async throws -> Platform {
        try await write { session in
            try session.check(platform.applicationKey)
            try session.checkRoom(
                .platforms, PlatformStatements.countOfApplication, platform.applicationKey, RowLimit.platforms.most)
            let now = session.now
            let key = try session.prepared(PlatformStatements.insert).first(
                platform.uuid, platform.applicationKey, platform.kind.rawValue, platform.mode.rawValue, platform.name,
                platform.secretHash, platform.credentials.bytes, now, platform.description, platform.facts?.storedText
            ) { $0.integer(0) }
            guard let key else { throw StoreError.taken("the platform") }
            session.registryChanged()
            return Platform(
                key: Key(key), uuid: platform.uuid, applicationKey: platform.applicationKey,
                kind: platform.kind, mode: platform.mode, name: platform.name, secretHash: platform.secretHash,
                credentials: platform.credentials, credentialsVersion: 1, parked: nil, createdAt: now,
                description: platform.description, facts: platform.facts)
        }
    }

    package func platforms(of application: Key<Application>) async throws -> [Platform] {
        try await entry(.key(application))?.platforms ?? []
    }

    package func platform(_ uuid: UUID) async throws -> Platform? {
        try await entry(.platformUUID(uuid))?.platforms.first { $0.uuid == uuid }
    }

    package func platform(_ key: Key<Platform>) async throws -> Platform? {
        try await entry(.platform(key))?.platforms.first { $0.key == key }
    }

    package func parkedPlatforms(atMost limit: Int) async throws -> [Platform] {
        try await readCommitted { [damagedRows] db in
            try db.prepared(PlatformStatements.parked).all(limit) { row in
                try damagedRows.readable("platform \(row.integer(0))") { try Platform(row) }
            }.compactMap(\.self)
        }
    }

    package func replaceCredentials(
        of platform: Key<Platform>, with credentials: Sealed, facts: CredentialFacts?
    ) async throws {
        try await write { session in
            try session.change(
                PlatformStatements.replaceCredentials, credentials.bytes, facts?.storedText, platform,
                of: "platform \(platform)")
            session.registryChanged()
            let row = try session.prepared(PlatformStatements.byKey).first(platform, as: Platform.init)
            if row?.parked?.cause.endsWithNewCredentials == true { return try session.resume(platform) }
            guard row?.parkedServices.isEmpty == false else { return }
            try session.prepared(PlatformStatements.setParkedServices).run(String?.none, platform)
            try session.releaseBatches(of: platform)
        }
    }

    /// Notes the facts of credentials that were saved without any. It changes nothing when they were replaced since.
    ///
    /// - Parameter version: the `credentialsVersion` of the examined credentials.
    package func note(_ facts: CredentialFacts, of platform: Key<Platform>, version: Int64) async throws {
        try await write { session in
            let isNoted =
                try session.prepared(PlatformStatements.noteFacts).run(facts.storedText, platform, version) > 0
            if isNoted { session.registryChanged() }
        }
    }

    package func park(_ platform: Key<Platform>, _ parking: Parking) async throws {
        try await write { session in
            try session.change(
                PlatformStatements.park, parking.cause.rawValue, parking.detail, parking.since, platform,
                parking.probe?.at, parking.probe?.count ?? 0, of: "platform \(platform)")
            session.registryChanged()
            try session.tellParked(platform, parking)
        }
    }

    package func resume(_ platform: Key<Platform>) async throws {
        try await write { session in
            guard try session.prepared(PlatformStatements.exists).hasRow(platform) else {
                throw StoreError.unknown("platform \(platform)")
            }
            try session.resume(platform)
        }
    }

    private func entry(_ name: ApplicationCache.Name) async throws -> ApplicationCache.Entry? {
        try await registryCache.entry(name) {
            try await self.read { [damagedRows] in try $0.entry(name, damagedRows) }
        }
    }
}

extension WriteSession {
    /// Whether the application exists; it is not deleted until the transaction ends.
    func exists(_ application: Key<Application>) throws -> Bool {
        try prepared(ApplicationStatements.hold).hasRow(application)
    }

    func check(_ application: Key<Application>) throws {
        guard try exists(application) else { throw StoreError.unknown("application \(application)") }
    }

    /// As `check`; others that do so wait, so that what they count together keeps a limit.
    func checkAlone(_ application: Key<Application>) throws {
        try check(application)
        try lock(application)
    }

    /// Others that lock the application wait until the transaction ends.
    func lock(_ application: Key<Application>) throws {
        try prepared(ApplicationStatements.lock).send(application)
    }

    /// Lets the platform's batches run again. Those handed back for later, while it was parked or before, run at once
    /// and in the order of their pushes; leases are not changed.
    func resume(_ platform: Key<Platform>) throws {
        registryChanged()
        guard try prepared(PlatformStatements.resume).run(platform) > 0 else { return }
        try tell(.platformResumed, platform: platform)
        try releaseBatches(of: platform)
        effects.due.insert(.fanOuts)
    }

    /// Makes due what waits for the platform or for one of its push services.
    func releaseBatches(of platform: Key<Platform>) throws {
        let release = try prepared(PlatformStatements.releaseBatches)
        for lane in Lane.allCases { try release.send(lane.rawValue, platform, now) }
        effects.due.insert(.batches)
    }
}

enum ApplicationStatements {
    /// Scans `application_tenant`.
    static let countOfTenant: SQLText = """
        SELECT count(*) /* applications.count_of_tenant */
          FROM (SELECT 1 FROM application WHERE tenant_id = $1 LIMIT $2) AS found
        """

    /// Inserts nothing where the UUID is another's.
    static let insert: SQLText = """
        INSERT INTO application /* applications.insert */ (
            uuid, name, api_key_hash, shared_secret, created_at_ms, tenant_id, description)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
            ON CONFLICT (uuid) DO NOTHING
        RETURNING id
        """

    private static let columns: SQLText = """
        id, uuid, name, api_key_hash, shared_secret, created_at_ms, tenant_id, description, previous_api_key_hash,
               previous_api_key_until_ms, previous_shared_secret, previous_shared_secret_until_ms,
               ignores_unknown_fields, delivery_rules
        """

    static let all: SQLText = """
        SELECT \(columns) /* applications.all */
          FROM application WHERE id > $1 AND NOT is_being_deleted ORDER BY id LIMIT $2
        """

    /// Scans `application_tenant`.
    static let ofTenant: SQLText = """
        SELECT \(columns) /* applications.of_tenant */
          FROM application WHERE id > $1 AND tenant_id = $3 AND NOT is_being_deleted ORDER BY id LIMIT $2
        """

    static let byKey: SQLText = """
        SELECT \(columns) /* applications.by_key */ FROM application WHERE id = $1 AND NOT is_being_deleted
        """

    static let byUUID: SQLText = "SELECT id /* applications.by_uuid */ FROM application WHERE uuid = $1"

    /// Keeps an application from being deleted until the transaction ends; its other columns may change.
    static let hold: SQLText = """
        SELECT 1 /* applications.hold */ FROM application WHERE id = $1 AND NOT is_being_deleted \(SQLText.forKeyShare)
        """

    /// Waits for transactions that have locked it.
    static let lockForUpdate: SQLText = """
        SELECT 1 /* applications.lock_for_update */ FROM application WHERE id = $1 AND NOT is_being_deleted \(SQLText.forUpdate)
        """

    static let lock: SQLText = """
        SELECT 1 /* applications.lock */ FROM application WHERE id = $1 \(SQLText.forNoKeyUpdate)
        """
}

enum PlatformStatements {
    /// Scans `platform_application`.
    static let countOfApplication: SQLText = """
        SELECT count(*) /* platforms.count_of_application */
          FROM (SELECT 1 FROM platform WHERE application_id = $1 LIMIT $2) AS found
        """

    /// Inserts nothing where the UUID is another's.
    static let insert: SQLText = """
        INSERT INTO platform /* platforms.insert */ (
            uuid, application_id, kind, mode, name, secret_hash, credentials, credentials_version, created_at_ms,
            description, facts)
        VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, $10)
            ON CONFLICT (uuid) DO NOTHING
        RETURNING id
        """

    private static let columns: SQLText = """
        id, uuid, application_id, kind, mode, name, secret_hash, credentials,
               credentials_version, parked_cause, parked_detail, parked_since_ms, created_at_ms, description,
               has_imports, web_access, probe_at_ms, probe_count, parked_services, facts
        """

    static let byKey: SQLText = "SELECT \(columns) /* platforms.by_key */ FROM platform WHERE id = $1"

    /// Scans `platform_application`.
    static let ofApplication: SQLText = """
        SELECT \(columns) /* platforms.of_application */ FROM platform
         WHERE application_id = $1 AND NOT is_deleted
         ORDER BY id
        """

    /// Scans `platform_parked`.
    static let parked: SQLText = """
        SELECT \(columns) /* platforms.parked */ FROM platform
         WHERE (parked_cause IS NOT NULL OR parked_services IS NOT NULL) AND NOT is_deleted
           AND NOT (SELECT is_being_deleted FROM application WHERE application.id = application_id)
         ORDER BY id
         LIMIT $1
        """

    static let application: SQLText = "SELECT application_id /* platforms.application */ FROM platform WHERE id = $1"

    static let applicationByUUID: SQLText = """
        SELECT application_id /* platforms.application_by_uuid */ FROM platform WHERE uuid = $1 AND NOT is_deleted
        """

    /// The tenant of a platform that is not being deleted.
    static let tenant: SQLText = """
        SELECT tenant_id /* platforms.tenant */
          FROM platform JOIN application ON application.id = application_id
         WHERE platform.id = $1 AND NOT is_being_deleted AND NOT is_deleted
        """

    /// The platforms that exist; they are not deleted while they are locked. Their other columns may change.
    static let hold: SQLText = """
        SELECT platform.id /* platforms.hold */
          FROM platform JOIN application ON application.id = application_id
         WHERE platform.id \(among: "$1") AND NOT is_being_deleted AND NOT is_deleted
         ORDER BY platform.id
           \(SQLText.forKeyShare)
        """

    /// Waits for transactions that have locked it.
    static let lockForUpdate: SQLText = """
        SELECT application_id /* platforms.lock_for_update */
          FROM platform JOIN application ON application.id = application_id
         WHERE platform.id = $1 AND NOT is_being_deleted AND NOT is_deleted
           \(postgres: "FOR UPDATE OF platform")
        """

    static let exists: SQLText = "SELECT 1 /* platforms.exists */ FROM platform WHERE id = $1 AND NOT is_deleted"

    static let replaceCredentials: SQLText = """
        UPDATE platform /* platforms.replace_credentials */
           SET credentials = $1, facts = $2, credentials_version = credentials_version + 1
         WHERE id = $3
        """

    static let noteFacts: SQLText = """
        UPDATE platform /* platforms.note_facts */ SET facts = $1
         WHERE id = $2 AND credentials_version = $3
        """

    static let park: SQLText = """
        UPDATE platform /* platforms.park */
           SET parked_cause = $1, parked_detail = $2, parked_since_ms = $3, probe_at_ms = $5, probe_count = $6
         WHERE id = $4
        """

    /// The first batch that fails determines the time.
    static let parkUnlessParked: SQLText = """
        UPDATE platform /* platforms.park_unless_parked */
           SET parked_cause = $1, parked_detail = $2, parked_since_ms = $3, probe_at_ms = $6, probe_count = $7
         WHERE id = $4 AND parked_cause IS NULL AND credentials_version = $5
        """

    /// Whether its devices were declared dead in numbers that are not believed.
    static let isDoubted: SQLText =
        "SELECT 1 /* platforms.is_doubted */ FROM platform WHERE id = $1 AND parked_cause = 'dead_tokens'"

    static let resume: SQLText = """
        UPDATE platform /* platforms.resume */
           SET credentials_version = credentials_version + CASE WHEN parked_cause = 'dead_tokens' THEN 1 ELSE 0 END,
               parked_cause = NULL, parked_detail = NULL, parked_since_ms = NULL, probe_at_ms = NULL, probe_count = 0,
               parked_services = NULL
         WHERE id = $1 AND (parked_cause IS NOT NULL OR parked_services IS NOT NULL)
        """

    /// Scans `batch_due`. A batch with a `claim_count` is a lease.
    static let releaseBatches: SQLText = """
        UPDATE batch /* platforms.release_batches */
           SET due_at_ms = (SELECT accepted_at_ms FROM push WHERE push.id = push_id)
         WHERE is_open = true AND lane = $1 AND platform_id = $2 AND due_at_ms > $3 AND claim_count = 0
        """
}
