package import BelfryService
import FoundationEssentials

extension MemoryStore {
    package func create(_ new: NewApplication) async throws -> Application {
        let now = clock.now
        return try transaction { contents in
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

    package func applications() async throws -> [Application] {
        contents.applications.values.sorted { $0.key < $1.key }
    }

    package func application(_ key: Key<Application>) async throws -> Application? { contents.applications[key] }

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
        try change(platform) {
            let version = $0.credentialsVersion + ($0.parked?.cause == .deadTokens ? 1 : 0)
            return $0.with($0.credentials, version: version, parked: nil)
        }
        hasResumed = true
        releaseBatches(of: platform)
    }

    mutating func releaseBatches(of platform: Key<Platform>) {
        for (key, row) in batches where row.batch.platformKey == platform && !row.lease.isHeld {
            guard let dueAt = row.lease.dueAt, let push = pushes[row.batch.pushKey]?.push else { continue }
            batches[key]?.lease.dueAt = min(dueAt, push.acceptedAt)
        }
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
