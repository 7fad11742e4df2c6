import FoundationEssentials

/// The store over a database of either engine.
///
/// Port implementations are extensions of this protocol; an engine implements only what is specific to it.
protocol SQLStore: Sendable {
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

    /// Like `write`, but retries while the database is unreachable. Only for idempotent writes.
    func writeRetrying<Value: Sendable>(_ body: @escaping @Sendable (Session) throws -> Value) async throws -> Value

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

    /// The number of the next claim of batches or fan-outs, by which applications take turns.
    func nextTurn() -> Int
}

extension SQLStore {
    func search<Value: Sendable>(
        for application: Key<Application>?,
        _ body: @Sendable @escaping (Session.Connection, SearchBudget) throws -> Value
    ) async throws -> Value { try await search(for: application, isShort: false, body) }
}
