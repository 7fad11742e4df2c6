package import FoundationEssentials

/// The store over a database of either engine: `SQLiteStore` and `PostgresStore`.
///
/// What a feature reads and writes is an extension of this protocol, in the folder of the feature; an engine implements only
/// what is specific to it. An operation that has returned is durable: it survives a `kill -9` of the process and a power failure.
package protocol Store: DeliveryPorts {
    associatedtype Session: WriteSession

    /// The id of this process among those that share the database.
    var node: UUID { get }
    /// The clock that due times use.
    var clock: any WallClock { get }
    var registryCache: ApplicationCache { get }
    var secrets: Secrets { get }
    var pushes: PushCache { get }
    var damagedRows: DamagedRows { get }
    var quotaCounts: QuotaCounts { get }
    /// Look up the users that pushes name.
    var userReads: ReadCoalescer<UsersOnPlatforms, DevicesByPlatform> { get }
    /// Signals that something may be due.
    var signals: WorkHints { get }

    /// Runs `body` inside a transaction and returns when that is durable.
    ///
    /// `body` may run more than once; the changes of an earlier run were rolled back then.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Session) throws -> Value) async throws -> Value

    /// Reads from one snapshot.
    func read<Value: Sendable>(_ body: @escaping @Sendable (Session.Connection) throws -> Value) async throws -> Value

    /// Reads the rows that are committed when each statement begins.
    func readCommitted<Value: Sendable>(_ body: @escaping @Sendable (Session.Connection) throws -> Value) async throws
        -> Value

    /// Searches many rows, apart from deliveries, when it is the application's turn.
    ///
    /// - Parameters:
    ///   - application: the application whose rows are searched; nil when there are none.
    ///   - isShort: whether an embedded database needs only a few steps along an index for it.
    func search<Value: Sendable>(
        for application: Key<Application>?, isShort: Bool,
        _ body: @Sendable @escaping (Session.Connection, SearchBudget) throws -> Value
    ) async throws -> Value

    /// The candidates that are devices.
    func find(
        _ candidates: [[SubscriberCandidate]], of application: Key<Application>
    ) async throws -> [[SubscriptionPlan.Match]]

    /// The devices that have the tokens.
    func holders(of tokens: [DeviceToken], on platform: Key<Platform>) async throws -> [DeviceToken: TokenHolder]

    /// Quota use not stored yet, as far as readers know; nil if all is stored.
    func unwrittenUse(_ account: QuotaAccount) -> Int?

    // MARK: Bulk

    /// Imports devices of another server by `ImportRules`; they stay *unseen* until their apps register.
    ///
    /// Returns the result for each, in order. They share a transaction where the engine can do so.
    ///
    /// - Parameter devices: at most `DeviceImport.perWrite`, no two with the same token or UUID.
    func importDevices(_ devices: [DeviceImport], on platform: Platform) async throws -> [ImportVerdict]

    /// The next rows after a key, in the order of the key. A requirement, so that it is specialised for each engine.
    func rows(of table: BulkTable, after key: [BulkValue]?, limit: Int) async throws -> [[BulkValue]]
    /// Appends rows, all or none, and writes what the engine derives from them.
    func write(_ rows: [[BulkValue]], to table: BulkTable) async throws
    /// The last id that a table with an `id` ever assigned; none is assigned twice.
    func lastNumber(of table: String) async throws -> Int64
    func setLastNumber(_ number: Int64, of table: String) async throws

    // MARK: Claims

    /// The number of the next claim of batches or fan-outs, by which applications take turns.
    func nextTurn() -> Int
}

extension Store {
    func search<Value: Sendable>(
        for application: Key<Application>?,
        _ body: @Sendable @escaping (Session.Connection, SearchBudget) throws -> Value
    ) async throws -> Value { try await search(for: application, isShort: false, body) }

    /// Like `write`, for a change that may find nothing to change: then `body` throws `Unchanged` with the value to return, and the
    /// line of the audit log is left out.
    func writeChange<Value: Sendable>(_ body: @escaping @Sendable (Session) throws -> Value) async throws -> Value {
        do {
            return try await write(body)
        } catch let unchanged as Unchanged<Value> {
            PendingAuditEntry.pending?.noteNoChange()
            return unchanged.value
        }
    }

    /// As `writeChange`, for a change of one row: false when there is none.
    func writeIfFound(_ body: @escaping @Sendable (Session) throws -> Bool) async throws -> Bool {
        try await writeChange { session in
            guard try body(session) else { throw Unchanged(false) }
            return true
        }
    }
}

/// The result of a change that found nothing to change; see `writeChange`.
struct Unchanged<Value: Sendable>: Error {
    let value: Value

    init(_ value: Value) { self.value = value }
}

extension Store {
    package func databaseSize() async throws -> DatabaseSize {
        try await readCommitted { db in
            let size = try db.prepared(DatabaseStatements.size).first { row in
                DatabaseSize(bytes: row.integer(0), engineVersion: row.text(1))
            }
            guard let size else { throw StoreError.unavailable("the database does not tell its size") }
            return size
        }
    }
}

enum DatabaseStatements {
    static let size: SQLText = """
        SELECT \(
            sqlite: "page_count * page_size, sqlite_version() /* database.size */ FROM pragma_page_count(), pragma_page_size()",
            postgres: "pg_database_size(current_database()), current_setting('server_version') /* database.size */")
        """
}

/// A page of a longer list, and the length of the whole list.
package struct ListPage<Element: Sendable>: Sendable {
    package let elements: [Element]
    /// Over all pages, not this one alone.
    package let total: Int
    /// Whether time ran out before all were looked at: the total is of those that were.
    package let isPartial: Bool
    /// The key of the last row of a list in the order of keys; nil where no more follow.
    let end: Int64?

    package init(_ elements: [Element], total: Int, isPartial: Bool = false) {
        (self.elements, self.total, self.isPartial, end) = (elements, total, isPartial, nil)
    }

    /// - Parameter rows: up to one more than the page has; a value is nil where it cannot be read.
    init(_ rows: [(key: Int64, value: Element?)], of size: Int, total: Int) {
        let shown = rows.prefix(size)
        (elements, self.total, isPartial) = (shown.compactMap(\.value), total, false)
        end = rows.count > size ? shown.last?.key : nil
    }
}

extension ListPage: Equatable where Element: Equatable {}

/// Receives measurements of a store's writes.
package protocol StoreObserver: Sendable {
    /// The number of waiting writes.
    func writesWaiting(_ count: Int)
    /// The duration of a transaction without the flush.
    func transactionEnded(after duration: Duration)
    /// The number of calls that an old server will never get.
    func unmirrored(_ count: Int)
}

extension StoreObserver {
    package func unmirrored(_ count: Int) {}
}

package struct NoStoreObserver: StoreObserver {
    package init() {}

    package func writesWaiting(_ count: Int) {}
    package func transactionEnded(after duration: Duration) {}
}
