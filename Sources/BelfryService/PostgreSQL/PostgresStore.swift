package import FoundationEssentials
package import Logging
package import PostgreSQL
import Synchronization

/// The store in PostgreSQL, for any number of nodes that share it.
///
/// Nodes share PostgreSQL and are equal: none leads, and none depends on another. Rows are claimed with locks that
/// others skip, and settled by the number of the claim. Each write is a transaction of its own, except registrations and
/// pushes, which share one (`TransactionQueue`).
package final class PostgresStore: Store {
    let pool: ConnectionPool
    /// Searches have a connection of their own, so that none takes one from deliveries.
    private let searches: PostgresSearchConnection
    /// The clock that due times use: the database's, or a given one.
    package let clock: any WallClock
    private let databaseClock: DatabaseClock?
    package let registryCache = ApplicationCache(ageMax: .seconds(3))
    package let secrets: Secrets
    package let pushes = PushCache()
    private let topicCache = PostgresTopicCache()
    package let quotaCounts: QuotaCounts
    let listeners: WebhookListeners
    package let userReads = ReadCoalescer<UsersOnPlatforms, DevicesByPlatform>()
    let sharedUse = SharedUse()
    let observer: any StoreObserver
    package let signals = WorkHints()
    package let damagedRows: DamagedRows
    let registrations = TransactionQueue(exclusive: \.exclusive) { (session, entries: [RegistrationEntry]) in
        var registrar = PostgresRegistrar(session: session, entries: entries)
        return try registrar.register()
    }
    let acceptances = TransactionQueue(exclusive: { [$0.receiptID] }) { (session, pushes: [NewPush]) in
        try PushInserter(session: session).accept(pushes)
    }
    /// All settlements of a platform count in the same row: those that share a transaction do not wait for one another.
    let settlements = TransactionQueue(exclusive: { $0.map(\.batch.key) }) { (session, entries: [[Settlement]]) in
        var settled = try SettlementWriter(session: session).settle(entries.flatMap(\.self))[...]
        return entries.map { entry in
            defer { settled.removeFirst(entry.count) }
            return .success(Array(settled.prefix(entry.count)))
        }
    }
    private let claims = Atomic(0)
    /// The name of this node for other nodes.
    package let node = UUID()
    private let logger: Logger
    private let changeNotifier: ChangeNotifier
    private let maintenance: PostgresMaintenance?

    package struct Options: Sendable {
        /// As `ConnectionOptions.string`.
        package var connection: String
        package var connectionsMax: Int
        /// nil for the database's own.
        package var clock: (any WallClock)?
        package var use: StoreUse
        package var quotas: Quotas
        package var observer: any StoreObserver
        package var pooling: DatabasePooling
        package var searchLimit = SearchBudget.longest

        package init(
            connection: String, connectionsMax: Int = 8, pooling: DatabasePooling = .auto,
            clock: (any WallClock)? = nil, use: StoreUse = .serving,
            quotas: Quotas = .standard, observer: any StoreObserver = NoStoreObserver()
        ) {
            self.connection = connection
            self.connectionsMax = connectionsMax
            self.clock = clock
            self.use = use
            self.quotas = quotas
            self.observer = observer
            self.pooling = pooling
        }
    }

    /// Connects.
    ///
    /// - Parameter migrate: brings the schema up to date first. Without it, a schema that is not up to date throws
    ///   `StoreError.unavailable`.
    package static func open(_ options: Options, logger: Logger, migrate: Bool) async throws -> PostgresStore {
        if migrate { try await self.migrate(options.connection) }
        let connecting = ConnectionOptions(
            options.connection, setup: [PostgresSessionStatements.setup], pooling: options.pooling.option,
            transactionSetup: PostgresSessionStatements.transactionSetup)
        let pool = ConnectionPool(connecting, size: options.connectionsMax)
        do {
            let (secrets, listeners, now, isPooled) = try await pool.run { connection in
                try PostgresSchema.version(of: connection).check()
                try DatabaseImport.check(connection, of: shown(options.connection), for: options.use)
                return (
                    try Secrets(of: connection), try WebhookListeners(of: connection), try connection.now(),
                    connection.isPooled
                )
            }
            if isPooled, options.use == .serving {
                logger.notice(
                    "a pooler stands before the database: statements are not prepared, and other nodes are heard by polling once a second",
                    metadata: ["pooling": "\(options.pooling.rawValue)"])
            }
            return try PostgresStore(
                pool: pool, searches: PostgresSearchConnection(connecting, longest: options.searchLimit),
                secrets: secrets, listeners: listeners, now: now, connecting: connecting, options: options,
                logger: logger)
        } catch {
            await pool.close()
            throw error.asStoreError
        }
    }

    /// Compares the migrations of the database with those of this program.
    package static func schemaVersion(of connection: String) async throws -> SchemaVersion {
        try await once(ConnectionOptions(connection)) { try PostgresSchema.version(of: $0) }
    }

    /// Throws when the database is not to be served from; while its schema is not current, when tables cannot be made in it.
    package static func demandServable(_ connection: String, isCurrent: Bool) async throws {
        try await once(ConnectionOptions(connection)) {
            if isCurrent { try DatabaseImport.check($0, of: shown(connection), for: .serving) }
            guard try !$0.prepared(PostgresSessionStatements.readOnly).hasRow() else {
                throw StoreError.unavailable("it cannot be written: it is a standby, or read-only for this role")
            }
            guard try isCurrent || !$0.prepared(PostgresSessionStatements.tableless).hasRow() else {
                throw StoreError.unavailable(
                    "this role may not make tables in it: it needs CREATE on the schema that its search_path has first")
            }
        }
    }

    /// Throws where a pooler does not give a node all the connections that it keeps: one in session mode with a small pool.
    ///
    /// - Parameter attempts: how often they are asked for. Another node or a command may have taken the pool for a moment.
    package static func demandConnections(
        _ connection: String, connectionsMax: Int, pooling: DatabasePooling, attempts: Int
    ) async throws {
        guard pooling != .transaction else { return }
        let options = ConnectionOptions(connection)
        for attempt in 1... {
            let fault = try await once(options) { poolFault(beside: $0, options, connectionsMax: connectionsMax) }
            guard let fault else { return }
            guard attempt < attempts else { throw StoreError.unavailable(fault) }
            // Nodes that start together hold parts of the pool: one of them asks again before the others.
            try await Task.sleep(for: .milliseconds(.random(in: 500...3_000)))
        }
    }

    private static func poolFault(
        beside first: Connection, _ options: ConnectionOptions, connectionsMax: Int
    ) -> String? {
        guard first.isPooled else { return nil }
        let more = PostgresSearchConnection.placesMax + ChangeNotifier.connections
        var held = [first]
        while held.count < connectionsMax + more {
            do { held.append(try Connection(options)) } catch {
                return "a pooler gives \(held.count) of the \(connectionsMax + more) connections that a node keeps "
                    + "(database.connections and \(more)). In session mode its default_pool_size has to be "
                    + "\(connectionsMax + more) for each node, and as many for commands: \(error)"
            }
        }
        return nil
    }

    /// The fault of the URL of a database, in words that hold no secret; nil for a sound one.
    package static func fault(of url: String) -> String? { ConnectionOptions.fault(of: url) }

    /// The URL, where it holds no password.
    private static func shown(_ connection: String) -> String {
        let authority = connection.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
        let user = authority.contains("@") ? authority.prefix { $0 != "@" } : ""
        return user.contains(":") || connection.contains("password=") ? "postgres://…" : connection
    }

    /// The first secrets of a kind.
    package static func sealedSecrets(
        of connection: String, _ kind: SealedSecret.Kind, limit: Int
    ) async throws -> [SealedSecret] {
        try await once(ConnectionOptions(connection)) { try $0.sealedSecrets(kind, after: nil, limit: limit) }
    }

    /// Migrating a large database takes long, and other nodes wait for the one that migrates.
    private static let migrationTimeout = Duration.seconds(3_600)

    private static func migrate(_ connection: String) async throws {
        try await once(ConnectionOptions(connection, answerTimeout: migrationTimeout)) {
            try PostgresSchema.migrate($0)
        }
    }

    private static func once<Value: Sendable>(
        _ connecting: ConnectionOptions, _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> Value {
        let pool = ConnectionPool(connecting, size: 1)
        let outcome: Result<Value, any Error>
        do { outcome = .success(try await pool.run(body)) } catch { outcome = .failure(error.asStoreError) }
        await pool.close()
        return try outcome.get()
    }

    private init(
        pool: ConnectionPool, searches: PostgresSearchConnection, secrets: Secrets, listeners: WebhookListeners,
        now: Instant, connecting: ConnectionOptions, options: Options, logger: Logger
    ) throws {
        let clock = options.clock
        quotaCounts = QuotaCounts(options.quotas)
        observer = options.observer
        self.pool = pool
        self.searches = searches
        self.secrets = secrets
        self.listeners = listeners
        self.logger = logger
        damagedRows = DamagedRows { row, fault in
            logger.error("a damaged row was left out", metadata: ["row": "\(row)", "fault": "\(fault)"])
        }
        databaseClock = clock == nil ? DatabaseClock(now) : nil
        self.clock = clock ?? databaseClock ?? DatabaseClock(now)
        changeNotifier = try ChangeNotifier(
            node: node, pool: pool, connecting: connecting, registryCache: registryCache, listeners: listeners,
            signals: signals, logger: logger)
        maintenance =
            options.use == .serving ? PostgresMaintenance(changeNotifier: changeNotifier, logger: logger) : nil
        maintenance?.start(self)
    }

    /// Finishes waiting writes and closes the connections.
    package func close() async {
        maintenance?.stop()
        // A command ends before the next maintenance round could announce its changes.
        changeNotifier.flush()
        changeNotifier.close()
        signals.close()
        await searches.close()
        if sharedUse.isUnwritten {
            do {
                try await pool.run { [sharedUse, quotaCounts] in try sharedUse.writeDown(on: $0, quotaCounts) }
            } catch {
                logger.debug("the use of quotas was not written down", metadata: ["error": "\(error)"])
            }
        }
        await pool.close()
    }

    /// Begins a transaction, and reads the clock.
    func begin(on connection: Connection) throws -> PostgresWriteSession {
        try connection.begin(PostgresSessionStatements.begin)
        return PostgresWriteSession(
            db: connection, now: try time(on: connection), secrets: secrets, pushes: pushes,
            topicCache: topicCache, quotaCounts: quotaCounts, listeners: listeners, sharedUse: sharedUse)
    }

    package func search<Value: Sendable>(
        for application: Key<Application>?, isShort: Bool,
        _ body: @Sendable @escaping (Connection, SearchBudget) throws -> Value
    ) async throws -> Value { try await searches.search(for: application, body) }

    package func unwrittenUse(_ account: QuotaAccount) -> Int? { sharedUse.unwrittenUse(account) }

    package func nextTurn() -> Int { claims.add(1, ordering: .relaxed).newValue & .max }

    /// Announces the effects of a transaction, here and to other nodes.
    func publish(_ effects: Effects) {
        for row in effects.damaged {
            logger.error("a damaged row was set aside for an hour", metadata: ["row": "\(row)"])
        }
        if effects.unmirrored > 0 { observer.unmirrored(effects.unmirrored) }
        quotaCounts.apply(effects.quotas)
        sharedUse.add(effects.quotas)
        if !effects.wanted.isEmpty {
            listeners.apply(effects.wanted)
            changeNotifier.notify(.listeners)
        }
        if effects.registryChanged {
            registryCache.forget()
            changeNotifier.notify(.registryCache)
        }
        if !effects.due.isEmpty {
            signals.fire(effects.due)
            changeNotifier.notify(.due)
        }
    }

    private func time(on connection: Connection) throws -> Instant {
        guard let databaseClock else { return clock.now }
        let now = try connection.now()
        databaseClock.note(now)
        return now
    }
}

/// Poolers between a node and its PostgreSQL, as `database.pooling` has them.
package enum DatabasePooling: String, Sendable, CaseIterable {
    case auto, session, transaction

    fileprivate var option: ConnectionOptions.Pooling {
        switch self {
        case .auto: .auto
        case .session: .session
        case .transaction: .transaction
        }
    }
}

extension Connection {
    /// The database's clock.
    func now() throws -> Instant {
        let now = try prepared(PostgresSessionStatements.now).first { Instant(milliseconds: $0.integer(0)) }
        guard let now else { throw StoreError.unavailable("the database returned no time") }
        return now
    }
}

/// The time of the database, which all nodes share whatever their own clocks say.
///
/// Between two readings of the database it advances with this machine's monotonic clock.
final class DatabaseClock: WallClock {
    private struct Mark {
        let time: Instant
        let at: ContinuousClock.Instant
    }

    private let mark: Mutex<Mark>

    init(_ time: Instant) { mark = Mutex(Mark(time: time, at: .now)) }

    var now: Instant { mark.withLock { $0.time + $0.at.duration(to: .now) } }

    /// Called with each time that the database returned, right after it did.
    func note(_ time: Instant) { mark.withLock { $0 = Mark(time: time, at: .now) } }

    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
