import FoundationEssentials
import Synchronization

/// All applications and platforms, in memory: there are few, and each request needs one.
///
/// Changes by other nodes are announced (`ChangeNotifier`), or seen at the latest when the entries are too old.
package final class ApplicationCache: Sendable {
    struct Entries: Sendable {
        let applications: [Application]
        let applicationByUUID: [UUID: Application]
        let platforms: [Key<Platform>: Platform]
        let platformByUUID: [UUID: Platform]
        /// Platforms in the order of creation.
        let platformsByApplication: [Key<Application>: [Platform]]
    }

    private struct State {
        var entries: Entries?
        var readAt = ContinuousClock.now
        /// Raised by each `forget`, so that entries read before it are not cached.
        var generation = 0
    }

    private let state = Mutex(State())

    private let ageMax: Duration

    /// - Parameter ageMax: entries older than this are read again.
    init(ageMax: Duration) { self.ageMax = ageMax }

    func forget() {
        state.withLock { state in
            state.entries = nil
            state.generation += 1
        }
    }

    func entries(readBy read: () async throws -> Entries) async throws -> Entries {
        let now = ContinuousClock.now
        let (known, generation) = state.withLock { state in
            (state.readAt.duration(to: now) < ageMax ? state.entries : nil, state.generation)
        }
        if let known { return known }
        let entries = try await read()
        state.withLock { state in
            guard state.generation == generation else { return }
            state.entries = entries
            state.readAt = now
        }
        return entries
    }
}

extension ApplicationCache.Entries {
    /// Reads applications and platforms, without unreadable rows, which must not fail the others.
    init(of db: some SQLConnection, _ damaged: DamagedRows) throws {
        var bindings: [UUID: [[UInt8]]] = [:]
        try db.prepared(BrokerStatements.apiKeyHashes).each { row in
            if let application = row.uuid(0) { bindings[application, default: []].append(row.blob(1)) }
        }
        let applications = try db.prepared(ApplicationStatements.all).all { row in
            try damaged.readable("application \(row.integer(0))") { try Application(row, bindings) }
        }.compactMap(\.self)
        let platforms = try db.prepared(PlatformStatements.all).all { row in
            try damaged.readable("platform \(row.integer(0))") { try Platform(row) }
        }.compactMap(\.self)
        self.applications = applications
        applicationByUUID = Dictionary(uniqueKeysWithValues: applications.map { ($0.uuid, $0) })
        self.platforms = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0) })
        platformByUUID = Dictionary(uniqueKeysWithValues: platforms.map { ($0.uuid, $0) })
        platformsByApplication = Dictionary(grouping: platforms, by: \.applicationKey)
    }
}

extension Application {
    /// From the columns of `ApplicationStatements.all`.
    ///
    /// - Parameter bindings: the hashes of further API keys, by application.
    init(_ row: some SQLRow, _ bindings: [UUID: [[UInt8]]]) throws {
        guard let uuid = row.uuid(1) else { throw StoreError.damaged("application \(row.integer(0))") }
        self.init(
            key: Key(row.integer(0)), uuid: uuid, name: row.text(2), apiKeyHash: row.blob(3),
            sharedSecret: Sealed(bytes: row.blob(4)), createdAt: Instant(milliseconds: row.integer(5)),
            tenantKey: Key(row.integer(6)), bindingKeyHashes: bindings[uuid] ?? [], description: row.text(7),
            previousAPIKey: row.instantIfAny(9).map { PreviousSecret(row.blob(8), validUntil: $0) },
            previousSharedSecret: row.instantIfAny(11).map {
                PreviousSecret(Sealed(bytes: row.blob(10)), validUntil: $0)
            },
            ignoresUnknownFields: row.bool(12),
            deliveryRules: try row.textIfAny(13).map { try DeliveryRules(JSONValue(json: $0.utf8)) } ?? DeliveryRules())
    }
}

extension Platform {
    /// From the columns of `PlatformStatements.all` and `byKey`.
    init(_ row: some SQLRow) throws {
        guard
            let uuid = row.uuid(1),
            let kind = PlatformKind(rawValue: row.text(3)),
            let mode = Mode(rawValue: row.text(4))
        else { throw StoreError.damaged("platform \(row.integer(0))") }
        let webAccess = try StoreError.reading("platform \(row.integer(0))") {
            try row.textIfAny(15).map { try WebAccess(stored: $0) }
        }
        // Facts that cannot be read are looked for again.
        let facts = row.textIfAny(19).flatMap { try? CredentialFacts(stored: $0) }
        self.init(
            key: Key(row.integer(0)), uuid: uuid, applicationKey: Key(row.integer(2)), kind: kind, mode: mode,
            name: row.text(5), secretHash: row.blob(6), credentials: Sealed(bytes: row.blob(7)),
            credentialsVersion: row.integer(8), parked: Parking(row, from: 9, probe: 16),
            createdAt: Instant(milliseconds: row.integer(12)), description: row.text(13), hasImports: row.bool(14),
            webAccess: webAccess, parkedServices: row.textIfAny(18).map { [ParkedService](stored: $0) } ?? [],
            facts: facts)
    }
}

extension Parking {
    /// From three columns, and two for the next attempt; nil when the first has no cause.
    init?(_ row: some SQLRow, from first: Int32, probe: Int32) {
        guard let cause = row.textIfAny(first).flatMap(Cause.init(rawValue:)) else { return nil }
        self.init(
            cause: cause, detail: row.text(first + 1), since: Instant(milliseconds: row.integer(first + 2)),
            probe: row.instantIfAny(probe).map { Probe(at: $0, count: Int(row.integer(probe + 1))) })
    }
}
