package import FoundationEssentials
package import GRDB
import GRDBSQLite
package import Logging
import Synchronization

/// The store in one SQLite file, for a server of one machine.
///
/// Writes of this process go through one `Writer`, which commits them in groups; reads use their own snapshots beside
/// it. Other processes may use the file at the same time.
package final class SQLiteStore: Store {
    let pool: DatabasePool
    let writer: Writer
    /// The id of the node, which all servers of the file share: one at a time works through it, and owns the leases of the last one.
    package let node = UUID(words: 0, 0)
    package let registryCache: ApplicationCache
    package let clock: any WallClock
    package let secrets: Secrets
    package let pushes: PushCache
    package let signals: WorkHints
    package let damagedRows: DamagedRows
    package let quotaCounts: QuotaCounts
    package let userReads = ReadCoalescer<UsersOnPlatforms, DevicesByPlatform>()
    package var path: String { pool.path }
    private let useCounter: UseCounter
    private let maintenance: SQLiteMaintenance?
    private let checkpoints: Checkpoints
    private let searches: SQLiteSearchConnection
    private let claims = Atomic(0)

    /// Opens the file, or creates it.
    ///
    /// - Parameter migrate: brings the schema up to date first. Without it, a schema that is not up to date throws
    ///   `StoreError.unavailable`.
    package static func open(
        at path: String, clock: any WallClock, logger: Logger, migrate: Bool, for use: StoreUse = .serving,
        quotas: Quotas = .standard, observer: any StoreObserver = NoStoreObserver(),
        searchLimit: Duration = SearchBudget.longest
    ) throws -> SQLiteStore {
        do {
            let pool = try DatabasePool(path: path, configuration: .store)
            if migrate { try SQLiteSchema.migrate(pool) }
            try pool.read { try SQLiteSchema.version(of: $0).check() }
            try pool.read { try DatabaseImport.check($0, of: "sqlite:\(path)", for: use) }
            return SQLiteStore(
                pool: pool, flusher: try LogFlusher(path: path),
                checkpoints: try Checkpoints(pool: pool, logger: logger),
                searches: try SQLiteSearchConnection(path: path, longest: searchLimit),
                secrets: try pool.read(Secrets.init), listeners: try pool.read(WebhookListeners.init), clock: clock,
                quotas: quotas, observer: observer, logger: logger, isWatched: use == .serving)
        } catch {
            throw error.asStoreError
        }
    }

    /// The migrations that the file at `path` has; nil when there is no database.
    package static func schemaVersion(at path: String) throws -> SchemaVersion? {
        do {
            var configuration = Configuration()
            configuration.readonly = true
            return try DatabaseQueue(path: path, configuration: configuration).read(SQLiteSchema.version)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN {
            return nil
        } catch {
            throw error.asStoreError
        }
    }

    /// Throws when the database at `path`, whose schema is current, is not to be served from.
    package static func demandServable(at path: String) throws {
        try looking(at: path) { try DatabaseImport.check($0, of: "sqlite:\(path)", for: .serving) }
    }

    /// The database that the one at `path` was copied to; nil where it was not copied.
    package static func move(at path: String) throws -> DatabaseMove? {
        try looking(at: path) { try DatabaseImport.move(of: $0) }
    }

    private static func looking<Value>(at path: String, _ body: (Database) throws -> Value) throws -> Value {
        do {
            var configuration = Configuration()
            configuration.readonly = true
            return try DatabaseQueue(path: path, configuration: configuration).read(body)
        } catch {
            throw error.asStoreError
        }
    }

    /// The first secrets of a kind in the file at `path`, which is only read.
    package static func sealedSecrets(
        at path: String, _ kind: SealedSecret.Kind, limit: Int
    ) throws -> [SealedSecret] {
        try looking(at: path) { try $0.sealedSecrets(kind, after: nil, limit: limit) }
    }

    private init(
        pool: DatabasePool, flusher: LogFlusher, checkpoints: Checkpoints, searches: SQLiteSearchConnection,
        secrets: Secrets, listeners: WebhookListeners,
        clock: any WallClock, quotas: Quotas, observer: any StoreObserver, logger: Logger, isWatched: Bool
    ) {
        self.pool = pool
        self.searches = searches
        self.secrets = secrets
        self.clock = clock
        damagedRows = DamagedRows { row, fault in
            logger.error("a damaged row was left out", metadata: ["row": "\(row)", "fault": "\(fault)"])
        }
        let registryCache = ApplicationCache(ageMax: .seconds(86_400))
        let signals = WorkHints()
        let pushes = PushCache()
        let quotaCounts = QuotaCounts(quotas)
        let writer = Writer(
            pool: pool,
            session: SQLiteWriteSession(
                clock: clock, secrets: secrets, pushes: pushes, quotaCounts: quotaCounts, listeners: listeners),
            flusher: flusher, observer: observer, logger: logger
        ) { effects, session, writer in
            checkpoints.note()
            if effects.registryChanged { registryCache.forget() }
            signals.fire(effects.due)
            for row in effects.damaged {
                logger.error("a damaged row was set aside for an hour", metadata: ["row": "\(row)"])
            }
            guard isWatched else { return }
            if session.mergeIsDue {
                writer.enqueue("posting merge") { try SQLiteSubscriptionMerge(session: $0).stepIfDue() }
            }
            if session.tokensAreDue { writer.enqueue("tokens") { try TokenIndex(session: $0).stepIfDue() } }
        }
        self.registryCache = registryCache
        self.signals = signals
        self.pushes = pushes
        self.quotaCounts = quotaCounts
        self.writer = writer
        useCounter = UseCounter(pool: pool, writer: writer, quotaCounts: quotaCounts)
        self.checkpoints = checkpoints
        maintenance =
            isWatched ? SQLiteMaintenance(writer: writer, pool: pool, naming: secrets.naming, logger: logger) : nil
    }

    /// Finishes the waiting writes, copies the log into the file and closes it.
    package func close() async throws {
        maintenance?.stop()
        signals.close()
        writer.enqueue("content") { try $0.writeDownContentUse() }
        await writer.close()
        do {
            try searches.close()
            try await checkpoints.finish()
            try pool.close()
        } catch {
            throw error.asStoreError
        }
    }

    /// How often a count that changes meanwhile is repeated beside the writer, before the writer does it.
    private static let countingsMax = 3

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (SQLiteWriteSession) throws -> Value
    ) async throws -> Value {
        for _ in 0..<Self.countingsMax {
            do {
                return try await writer.write(body)
            } catch let uncounted as UncountedUse {
                do { try await useCounter.count(uncounted.account) } catch { throw error.asStoreError }
            }
        }
        return try await writer.write { try $0.countingAllRows(body) }
    }

    /// All reads of a snapshot see the same state.
    package func readCommitted<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws
        -> Value
    {
        try await read(body)
    }

    package func search<Value: Sendable>(
        for application: Key<Application>?, isShort: Bool,
        _ body: @Sendable @escaping (Database, SearchBudget) throws -> Value
    ) async throws -> Value {
        guard !isShort else { return try await pool.read(within: SearchBudget(searches.longest), body) }
        return try await searches.search(for: application, body)
    }

    package func nextTurn() -> Int { claims.add(1, ordering: .relaxed).newValue & .max }

    /// Always nil: only the writer knows the use that is not stored yet, and it is small.
    package func unwrittenUse(_ account: QuotaAccount) -> Int? { nil }

    /// Reads from a snapshot, beside the writer.
    package func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        do {
            return try await pool.read(body)
        } catch {
            throw error.asStoreError
        }
    }
}

extension Configuration {
    fileprivate static var store: Configuration {
        var configuration = Configuration()
        configuration.label = "belfry.store"
        configuration.foreignKeysEnabled = true
        configuration.busyMode = .timeout(Checkpoints.othersWait)
        configuration.maximumReaderCount = 4
        configuration.persistentReadOnlyConnections = true
        configuration.prepareDatabase { db in
            try db.execute(sql: db.configuration.readonly ? PragmaStatements.reader : PragmaStatements.writer)
        }
        return configuration
    }
}

enum PragmaStatements {
    /// The cache holds the token index of a million devices, whose pages are read at random. It is no larger, because
    /// SQLite 3.40 scans all of a cache at a commit that balanced an index, while the file is below 1 GiB. Checkpoints
    /// are made by `Checkpoints`, and flushes by `LogFlusher`.
    static let writer = """
        PRAGMA synchronous = NORMAL;
        PRAGMA cache_size = -24576;
        PRAGMA wal_autocheckpoint = 0;
        PRAGMA temp_store = MEMORY;
        """

    static let reader = "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;"
}

extension SQLiteStore {
    package func write(_ rows: [[BulkValue]], to table: BulkTable) async throws {
        let sql = SQLiteBulkStatements.insert(into: table)
        try await writer.write { session in
            let insert = try session.prepared(sql)
            guard table.derivedColumn != nil else {
                for row in rows { try insert.run(values: row) }
                return
            }
            for row in rows { try insert.run(values: row + [session.secrets.hash(of: row, in: table)]) }
            try TokenIndex(session: session).addAll()
        }
    }

    package func lastNumber(of table: String) async throws -> Int64 {
        try await read { try $0.prepared(SQLiteBulkStatements.lastNumber).number(table) ?? 0 }
    }

    package func setLastNumber(_ number: Int64, of table: String) async throws {
        try await writer.write { session in
            try session.prepared(SQLiteBulkStatements.forgetLastNumber).run(table)
            try session.prepared(SQLiteBulkStatements.setLastNumber).run(table, number)
        }
    }
}

extension Secrets {
    fileprivate func hash(of row: [BulkValue], in table: BulkTable) -> BulkValue {
        guard case .bytes(let token) = row[table.place(of: "token")] else { return .null }
        return .integer(hash(of: DeviceToken(bytes: token)))
    }
}

extension BulkValue: SQLiteValue {
    package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let value): value.bind(to: statement, at: index)
        case .real(let value): value.bind(to: statement, at: index)
        case .text(let value): value.bind(to: statement, at: index)
        case .bytes(let value): value.bind(to: statement, at: index)
        }
    }
}

enum SQLiteBulkStatements {
    static func insert(into table: BulkTable) -> String {
        let columns = table.columns.map(\.name) + (table.derivedColumn.map { [$0] } ?? [])
        let places = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        return
            "INSERT INTO \(table.name) /* bulk.insert */ (\(columns.joined(separator: ", "))) VALUES (\(places))"
    }

    static let lastNumber = "SELECT seq /* bulk.last_number */ FROM sqlite_sequence WHERE name = ?1"

    static let forgetLastNumber = "DELETE FROM sqlite_sequence /* bulk.forget_last_number */ WHERE name = ?1"

    static let setLastNumber = "INSERT INTO sqlite_sequence /* bulk.set_last_number */ (name, seq) VALUES (?1, ?2)"
}
