package import BelfryService
package import FoundationEssentials

/// A store whose every access waits, counts or fails as a test wants.
package final class InterceptedStore: Store {
    package enum Access: Sendable, Hashable {
        case read, write, search
    }

    package typealias Session = SQLiteWriteSession

    private let base: SQLiteStore
    private let before: @Sendable (Access) async throws -> Void
    private let registering: @Sendable (Registration, UUID?, Platform) async throws -> Void

    /// - Parameters:
    ///   - before: called before each access.
    ///   - registering: called before a device is registered.
    package init(
        _ base: SQLiteStore,
        before: @escaping @Sendable (Access) async throws -> Void = { _ in },
        registering: @escaping @Sendable (Registration, UUID?, Platform) async throws -> Void = { _, _, _ in }
    ) {
        self.base = base
        self.registering = registering
        self.before = before
    }

    package var node: UUID { base.node }
    package var clock: any WallClock { base.clock }
    package var registryCache: ApplicationCache { base.registryCache }
    package var secrets: Secrets { base.secrets }
    package var pushes: PushCache { base.pushes }
    package var damagedRows: DamagedRows { base.damagedRows }
    package var quotaCounts: QuotaCounts { base.quotaCounts }
    package var userReads: ReadCoalescer<UsersOnPlatforms, DevicesByPlatform> { base.userReads }
    package var signals: WorkHints { base.signals }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (SQLiteWriteSession) throws -> Value
    ) async throws -> Value {
        try await before(.write)
        return try await base.write(body)
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (SQLiteWriteSession.Connection) throws -> Value
    ) async throws -> Value {
        try await before(.read)
        return try await base.read(body)
    }

    package func readCommitted<Value: Sendable>(
        _ body: @escaping @Sendable (SQLiteWriteSession.Connection) throws -> Value
    ) async throws -> Value { try await read(body) }

    package func search<Value: Sendable>(
        for application: Key<Application>?, isShort: Bool,
        _ body: @Sendable @escaping (SQLiteWriteSession.Connection, SearchBudget) throws -> Value
    ) async throws -> Value {
        try await before(.search)
        return try await base.search(for: application, isShort: isShort, body)
    }

    package func find(
        _ candidates: [[SubscriberCandidate]], of application: Key<Application>
    ) async throws -> [[SubscriptionPlan.Match]] {
        try await before(.read)
        return try await base.find(candidates, of: application)
    }

    package func holders(
        of tokens: [DeviceToken], on platform: Key<Platform>
    ) async throws -> [DeviceToken: TokenHolder] {
        try await before(.read)
        return try await base.holders(of: tokens, on: platform)
    }

    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        try await before(.write)
        try await registering(registration, uuid, platform)
        return try await base.register(registration, as: uuid, on: platform)
    }

    package func importDevices(_ devices: [DeviceImport], on platform: Platform) async throws -> [ImportVerdict] {
        try await before(.write)
        return try await base.importDevices(devices, on: platform)
    }

    package func accept(_ push: NewPush) async throws -> Push {
        try await before(.write)
        return try await base.accept(push)
    }

    package func settle(_ settlements: [Settlement]) async throws -> [Bool] {
        try await before(.write)
        return try await base.settle(settlements)
    }

    package func unwrittenUse(_ account: QuotaAccount) -> Int? { base.unwrittenUse(account) }

    package func rows(of table: BulkTable, after key: [BulkValue]?, limit: Int) async throws -> [[BulkValue]] {
        try await base.rows(of: table, after: key, limit: limit)
    }

    package func write(_ rows: [[BulkValue]], to table: BulkTable) async throws {
        try await before(.write)
        try await base.write(rows, to: table)
    }

    package func lastNumber(of table: String) async throws -> Int64 { try await base.lastNumber(of: table) }

    package func setLastNumber(_ number: Int64, of table: String) async throws {
        try await base.setLastNumber(number, of: table)
    }

    package func nextTurn() -> Int { base.nextTurn() }
}
