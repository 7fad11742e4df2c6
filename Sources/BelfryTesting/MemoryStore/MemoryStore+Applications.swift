package import BelfryService
package import FoundationEssentials

extension MemoryStore {
    package func create(_ new: NewApplication) async throws -> Application {
        let now = clock.now
        return try transaction { contents in
            guard contents.tenants[new.tenantKey] != nil else { throw StoreError.unknown("tenant") }
            guard !contents.applications.values.contains(where: { $0.uuid == new.uuid }) else {
                throw StoreError.taken("the application")
            }
            let application = Application(
                key: contents.nextKey(), uuid: new.uuid, name: new.name, apiKeyHash: new.apiKeyHash,
                sharedSecret: new.sharedSecret, createdAt: now, tenantKey: new.tenantKey,
                description: new.description)
            contents.applications[application.key] = application
            return application
        }
    }

    /// Nobody else makes one.
    package func isNew(_ uuid: UUID) async throws -> Bool { false }

    package func applications() async throws -> [Application] {
        contents.applications.values.sorted { $0.key < $1.key }
    }

    package func application(_ uuid: UUID) async throws -> Application? {
        contents.applications.values.first { $0.uuid == uuid }
    }

    package func application(_ key: Key<Application>) async throws -> Application? { contents.applications[key] }

    package func delete(_ application: Key<Application>, force: Bool) async throws {
        let now = clock.now
        try transaction { contents in
            guard contents.applications[application] != nil else { throw StoreError.unknown("application") }
            let platforms = contents.platforms.values.filter { $0.applicationKey == application }.map(\.key)
            guard platforms.isEmpty || force else {
                throw StoreError.hasPlatforms(platforms.count)
            }
            contents.remove(application, platforms: Set(platforms))
            contents.revokeKeys(at: now) { if case .application(application, _) = $0 { true } else { false } }
            contents.disablePeople(at: now) { if case .application(application, _) = $0 { true } else { false } }
        }
    }

    package func create(_ new: NewPlatform) async throws -> Platform {
        let now = clock.now
        return try transaction { contents in
            guard contents.applications[new.applicationKey] != nil else { throw StoreError.unknown("application") }
            guard !contents.platforms.values.contains(where: { $0.uuid == new.uuid }) else {
                throw StoreError.taken("the platform")
            }
            let platform = Platform(
                key: contents.nextKey(), uuid: new.uuid, applicationKey: new.applicationKey, kind: new.kind,
                mode: new.mode, name: new.name, secretHash: new.secretHash, credentials: new.credentials,
                credentialsVersion: 1, parked: nil, createdAt: now, description: new.description, facts: new.facts)
            contents.platforms[platform.key] = platform
            return platform
        }
    }

    package func platforms(of application: Key<Application>) async throws -> [Platform] {
        contents.platforms.values.filter { $0.applicationKey == application }.sorted { $0.key < $1.key }
    }

    package func platform(_ uuid: UUID) async throws -> Platform? {
        contents.platforms.values.first { $0.uuid == uuid }
    }

    package func platform(_ key: Key<Platform>) async throws -> Platform? { contents.platforms[key] }

    package func replaceCredentials(
        of platform: Key<Platform>, with credentials: Sealed, facts: CredentialFacts?
    ) async throws {
        try transaction { contents in
            try contents.change(platform) {
                $0.with(credentials, version: $0.credentialsVersion + 1, parked: $0.parked, facts: .some(facts))
            }
            let row = contents.platforms[platform]
            if row?.parked?.cause.endsWithNewCredentials == true { return try contents.resume(platform) }
            guard row?.parkedServices.isEmpty == false else { return }
            try contents.change(platform) { $0.with(parked: $0.parked, services: []) }
            contents.releaseBatches(of: platform)
        }
        signals.fire(.all)
    }

    package func note(_ facts: CredentialFacts, of platform: Key<Platform>, version: Int64) async throws {
        transaction { contents in
            guard let known = contents.platforms[platform], known.credentialsVersion == version else { return }
            contents.platforms[platform] = known.with(
                known.credentials, version: version, parked: known.parked, facts: facts)
        }
    }

    package func park(_ platform: Key<Platform>, _ parking: Parking) async throws {
        try transaction { try $0.change(platform) { $0.with(parked: parking) } }
    }

    package func resume(_ platform: Key<Platform>) async throws {
        try transaction { try $0.resume(platform) }
        signals.fire(.all)
    }
}

extension Contents {
    fileprivate mutating func change(_ platform: Key<Platform>, _ change: (Platform) -> Platform) throws {
        guard let old = platforms[platform] else { throw StoreError.unknown("platform") }
        platforms[platform] = change(old)
    }

    /// Batches that wait for a later time are due at once, the oldest push first; leases stay.
    mutating func resume(_ platform: Key<Platform>) throws {
        try change(platform) { $0.with(parked: $0.parked, services: []) }
        guard isParked(platform) else { return }
        try change(platform) { $0.with(parked: nil) }
        hasResumed = true
        releaseBatches(of: platform)
    }

    mutating func releaseBatches(of platform: Key<Platform>) {
        for (key, row) in batches where row.batch.platformKey == platform && !row.lease.isHeld {
            guard let dueAt = row.lease.dueAt, let push = pushes[row.batch.pushKey]?.push else { continue }
            batches[key]?.lease.dueAt = min(dueAt, push.acceptedAt)
        }
    }

    fileprivate mutating func remove(_ application: Key<Application>, platforms: Set<Key<Platform>>) {
        schedules = schedules.filter { $0.value.applicationKey != application }
        drafts = drafts.filter { $0.key.application != application }
        let pushes = Set(self.pushes.values.map(\.push).filter { $0.applicationKey == application }.map(\.key))
        batches = batches.filter { !pushes.contains($0.value.batch.pushKey) }
        fanOuts = fanOuts.filter { !pushes.contains($0.key.push) }
        self.pushes = self.pushes.filter { !pushes.contains($0.key) }
        devices = devices.filter { !platforms.contains($0.value.platformKey) }
        holders = holders.filter { !platforms.contains($0.key.platform) }
        topics = topics.filter { $0.value.application != application }
        removeAcrobits(of: application)
        removeCarma(of: application)
        users = users.filter { $0.key.application != application }
        openEndpoints = openEndpoints.filter { $0.value.endpoint.application != application }
        gatewayCredentials = gatewayCredentials.filter { !platforms.contains($0.value.platform) }
        self.platforms = self.platforms.filter { !platforms.contains($0.key) }
        applications[application] = nil
        map.remove(application)
        events.remove(application, platforms: platforms)
    }
}

extension Platform {
    func with(parked: Parking?, services: [ParkedService]? = nil) -> Platform {
        with(credentials, version: credentialsVersion, parked: parked, services: services)
    }

    func with(
        _ credentials: Sealed, version: Int64, parked: Parking?, services: [ParkedService]? = nil,
        facts: CredentialFacts?? = nil
    ) -> Platform {
        Platform(
            key: key, uuid: uuid, applicationKey: applicationKey, kind: kind, mode: mode, name: name,
            secretHash: secretHash, credentials: credentials, credentialsVersion: version, parked: parked,
            createdAt: createdAt, description: description, hasImports: hasImports, webAccess: webAccess,
            parkedServices: services ?? parkedServices, facts: facts ?? self.facts)
    }
}
