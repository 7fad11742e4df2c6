import FoundationEssentials
import Synchronization

/// Applications with their platforms, in memory, each from when a request needs it: a tenant may have thousands, and the change of one costs
/// those of others nothing but that they are read again.
///
/// Changes by other nodes are announced (`ChangeNotifier`), or seen at the latest when an entry is too old.
package final class ApplicationCache: Sendable {
    final class Entry: Sendable {
        let application: Application
        /// In the order of creation.
        let platforms: [Platform]
        private let readAt: ContinuousClock.Instant

        init(_ application: Application, _ platforms: [Platform]) {
            (self.application, self.platforms, readAt) = (application, platforms, .now)
        }

        fileprivate func isRecent(_ ageMax: Duration) -> Bool { readAt.duration(to: .now) < ageMax }

        fileprivate var names: [Name] {
            [.key(application.key), .uuid(application.uuid)]
                + platforms.flatMap { [.platform($0.key), .platformUUID($0.uuid)] }
        }
    }

    /// A name by which an application is looked up.
    enum Name: Sendable, Hashable {
        case key(Key<Application>), uuid(UUID), platform(Key<Platform>), platformUUID(UUID)
    }

    private struct State {
        /// Each with the generation at which it was read.
        var entries: [Name: (entry: Entry, generation: Int)] = [:]
        /// Raised by each `forget`: what was read before it is read again.
        var generation = 0
    }

    private let state = Mutex(State())

    private let ageMax: Duration

    private static let namesMax = 131_072

    /// - Parameter ageMax: entries older than this are read again.
    init(ageMax: Duration) { self.ageMax = ageMax }

    func forget() { state.withLock { $0.generation += 1 } }

    /// Whether something had the name when it was last read.
    func has(_ name: Name) -> Bool { state.withLock { $0.entries[name] != nil } }

    func entry(_ name: Name, readBy read: () async throws -> Entry?) async throws -> Entry? {
        let (known, generation) = state.withLock { ($0.entries[name], $0.generation) }
        if let known, known.generation == generation, known.entry.isRecent(ageMax) { return known.entry }
        let entry = try await read()
        state.withLock { state in
            guard state.generation == generation else { return }
            state.entries[name] = nil
            guard let entry else { return }
            if state.entries.count >= Self.namesMax { state.entries = [:] }
            for name in entry.names { state.entries[name] = (entry, generation) }
        }
        return entry
    }
}

extension SQLConnection {
    /// The application that has the name, or a platform that has it; unreadable rows are left out.
    func entry(_ name: ApplicationCache.Name, _ damaged: DamagedRows) throws -> ApplicationCache.Entry? {
        let found: Int64? =
            switch name {
            case .key(let key): key.rawValue
            case .uuid(let uuid): try prepared(ApplicationStatements.byUUID).number(uuid)
            case .platform(let key): try prepared(PlatformStatements.application).number(key)
            case .platformUUID(let uuid): try prepared(PlatformStatements.applicationByUUID).number(uuid)
            }
        guard let found else { return nil }
        let key = Key<Application>(found)
        let row = try prepared(ApplicationStatements.byKey).first(key) { row in
            try damaged.readable("application \(key)") { try Application(row) }
        }
        guard var application = row ?? nil else { return nil }
        application.bindingKeyHashes = try prepared(BrokerStatements.apiKeyHashes).all(application.uuid) { $0.blob(0) }
        let platforms = try prepared(PlatformStatements.ofApplication).all(key) { row in
            try damaged.readable("platform \(row.integer(0))") { try Platform(row) }
        }
        return ApplicationCache.Entry(application, platforms.compactMap(\.self))
    }
}

extension Application {
    /// From the columns of `ApplicationStatements.all`.
    init(_ row: some SQLRow) throws {
        guard let uuid = row.uuid(1) else { throw StoreError.damaged("application \(row.integer(0))") }
        self.init(
            key: Key(row.integer(0)), uuid: uuid, name: row.text(2), apiKeyHash: row.blob(3),
            sharedSecret: Sealed(bytes: row.blob(4)), createdAt: Instant(milliseconds: row.integer(5)),
            tenantKey: Key(row.integer(6)), description: row.text(7),
            previousAPIKey: row.instantIfAny(9).map { PreviousSecret(row.blob(8), validUntil: $0) },
            previousSharedSecret: row.instantIfAny(11).map {
                PreviousSecret(Sealed(bytes: row.blob(10)), validUntil: $0)
            },
            ignoresUnknownFields: row.bool(12),
            deliveryRules: try row.textIfAny(13).map { try DeliveryRules(JSONValue(json: $0.utf8)) } ?? DeliveryRules())
    }
}

extension Platform {
    /// From the columns of `PlatformStatements.byKey`.
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
