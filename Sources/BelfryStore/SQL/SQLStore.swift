import BelfryCore

/// The store over a database of either engine.
///
/// What implements a port is an extension of this protocol and stands once; an engine implements by itself only what it
/// does in another way.
protocol SQLStore: Sendable {
    associatedtype Session: WriteSession

    /// By which things fall due.
    var clock: any WallClock { get }
    var registryCache: RegistryCache { get }
    var secrets: Secrets { get }
    var pushes: PushCache { get }
    var damagedRows: DamagedRows { get }
    var quotaCounts: QuotaCounts { get }
    /// Something may have fallen due.
    var signals: WorkHints { get }

    /// Runs `body` inside a transaction and returns when that is durable.
    ///
    /// `body` may run more than once; what an earlier run changed was rolled back then.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Session) throws -> Value) async throws -> Value

    /// As `write`, for what counts once however often it is said: a database that cannot be reached is waited for.
    func insist<Value: Sendable>(_ body: @escaping @Sendable (Session) throws -> Value) async throws -> Value

    /// Reads from one snapshot.
    func read<Value: Sendable>(_ body: @escaping @Sendable (Session.Connection) throws -> Value) async throws -> Value

    /// Reads with each statement what is committed by then.
    func glance<Value: Sendable>(_ body: @escaping @Sendable (Session.Connection) throws -> Value) async throws -> Value

    /// Looks through many rows, apart from deliveries, when it is the application's turn.
    ///
    /// - Parameters:
    ///   - application: whose rows are looked at; nil when there are none.
    ///   - isShort: whether an embedded database takes a few steps along an index for it.
    func search<Value: Sendable>(
        for application: Key<Application>?, isShort: Bool,
        _ body: @Sendable @escaping (Session.Connection, SearchBudget) throws -> Value
    ) async throws -> Value

    /// Those of the candidates that are devices.
    func find(
        _ candidates: [[SubscriberCandidate]], of application: Key<Application>
    ) async throws -> [[SubscriptionPlan.Found]]

    /// What rows do not have of the use of a quota yet, as far as readers know; nil where they have all.
    func unwrittenUse(_ account: QuotaAccount) -> Int?

    /// Which application's turn it is when batches or fan-outs are claimed next.
    func nextTurn() -> Int
}

extension SQLStore {
    func search<Value: Sendable>(
        for application: Key<Application>?,
        _ body: @Sendable @escaping (Session.Connection, SearchBudget) throws -> Value
    ) async throws -> Value { try await search(for: application, isShort: false, body) }
}
