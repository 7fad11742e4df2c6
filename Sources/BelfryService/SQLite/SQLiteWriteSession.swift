package import GRDB
import GRDBSQLite
import Logging

/// The context of a write: the database inside a transaction, and what the writer caches between transactions.
///
/// The cache mirrors committed rows; a rollback, or a commit by another process, clears it.
package final class SQLiteWriteSession: WriteSession, @unchecked Sendable {
    // SAFETY: made before the writer's first job, and used only on the writer's queue afterwards.
    private let clock: any WallClock
    package let secrets: Secrets
    package let pushes: PushCache
    package let quotaCounts: QuotaCounts
    package let listeners: WebhookListeners
    var contentUse = ContentUse()
    /// Topic ids by name, for the applications seen lately.
    var topics = SQLiteTopicCache()
    /// Platforms, once they are needed; nil for one that is being deleted.
    private var statuses: [Key<Platform>: PlatformStatus?] = [:]
    private static let statusesMax = 65_536
    /// See `SQLiteSubscriptionMerge`.
    var mark: PostingMark?
    /// Postings that the running merge has yet to append.
    var gains: PostingAdditions?
    /// See `TokenIndex`.
    var unindexedTokens: UnindexedTokens?
    /// Devices that registered again unchanged, which writes nothing.
    var comebacks = Comebacks()
    /// The newest device that this process has written.
    var newest: Int64?
    /// The newest device at the last round of `SQLiteMaintenance`.
    var lastDeviceSeen: Int64?
    /// The rest of a platform's deletion, at that round.
    var platformRest: PlatformRest?
    /// A device was erased that a segment of the search index, which was read before, may have counted.
    var hasErasedUncounted = false
    package var effects = Effects()
    /// Enough new devices wait to be merged into the posting lists.
    var mergeIsDue = false
    /// Enough tokens of new devices wait to be added to their index.
    var tokensAreDue = false

    /// The most rows that are counted while all writes wait: they take about a millisecond.
    static let rowsCountedMax = 8_192
    private var countsAllRows = false

    /// The present write may be answered at the commit.
    private(set) var answersAtCommit = false
    /// The transaction holds pushes. Messages of a push do not leave before the push is on the disk, though they may be claimed with it.
    var hasPushes = false

    /// The number of transactions begun.
    private(set) var transactions = 0
    private var connection: Database?
    private var dataVersion: Int64?
    /// Rows changed by this connection before the transaction.
    private var changesBefore: Int64 = 0

    /// The status of a platform, for claims and registrations.
    struct PlatformStatus {
        let application: Key<Application>
        let tenant: Key<Tenant>
        let parked: Parking?

        /// Whether its batches may be claimed.
        func isOpen(at now: Instant) -> Bool { parked?.isProbed(at: now) ?? true }
    }

    init(
        clock: any WallClock, secrets: Secrets, pushes: PushCache, quotaCounts: QuotaCounts, listeners: WebhookListeners
    ) {
        self.clock = clock
        self.secrets = secrets
        self.pushes = pushes
        self.quotaCounts = quotaCounts
        self.listeners = listeners
    }

    package var now: Instant { clock.now }

    package var db: Database {
        guard let connection else { preconditionFailure("a write runs inside a transaction") }
        return connection
    }

    /// Whether the transaction, or the last one when none is open, changed a row.
    var hasWritten: Bool { sqlite3_total_changes64(db.sqliteConnection) != changesBefore }

    func prepared(_ sql: String) throws -> SQLiteStatement { try db.prepared(sql) }

    func begin(_ db: Database) throws {
        connection = db
        effects = Effects()
        (mergeIsDue, tokensAreDue, hasPushes) = (false, false, false)
        try db.prepared(SQLiteSessionStatements.begin).run()
        transactions += 1
        changesBefore = sqlite3_total_changes64(db.sqliteConnection)
        do {
            try noticeOthers(db)
        } catch {
            rollback(db)
            throw error
        }
    }

    func commit(_ db: Database) throws -> Effects {
        try tellSettled()
        try effects.activity.write(in: self)
        try db.prepared(SQLiteSessionStatements.commit).run()
        quotaCounts.apply(effects.quotas)
        listeners.apply(effects.wanted)
        contentUse.commit(effects.quotas)
        return effects
    }

    func rollback(_ db: Database) {
        if db.isInsideTransaction {
            do { try db.prepared(SQLiteSessionStatements.rollback).run() } catch { assert(!db.isInsideTransaction) }
        }
        contentUse.rollBack()
        forget()
    }

    /// nil when there is no such platform, or it was deleted.
    func status(of platform: Key<Platform>) throws -> PlatformStatus? {
        if let known = statuses[platform] { return known }
        let found = try prepared(PlatformStatements.byKey).first(platform) { row in try readable { try Platform(row) } }
        let tenant = try prepared(PlatformStatements.tenant).number(platform)
        let status = (found ?? nil).flatMap { found in
            tenant.map { PlatformStatus(application: found.applicationKey, tenant: Key($0), parked: found.parked) }
        }
        if statuses.count >= Self.statusesMax { statuses = [:] }
        statuses.updateValue(status, forKey: platform)
        return status
    }

    package func hold(
        _ platforms: [Key<Platform>], locating devices: [Key<Device>]
    ) throws -> (held: Set<Key<Platform>>, platformOf: [Key<Device>: Key<Platform>]) {
        (Set(try platforms.filter { try status(of: $0) != nil }), try db.platforms(of: devices))
    }

    package func awaitMerge() { gains = nil }

    package func answerAtCommit() { answersAtCommit = true }

    /// Each commit waits for the flush of the one before.
    package func awaitDisk() {}

    /// Runs one write of the transaction, and returns its answer.
    func run(_ job: Writer.Job) throws -> Writer.Answer {
        answersAtCommit = false
        return Writer.Answer(call: try job.run(self), isAtCommit: answersAtCommit)
    }

    package func unwrittenUse(_ account: QuotaAccount) -> Int? {
        account.quota == .content ? account.application.map(contentUse.unwritten) : nil
    }

    /// Throws `UncountedUse` where there are many rows.
    package func countUse(_ account: QuotaAccount) throws -> Int {
        if countsAllRows { return try db.quotaUse(account) }
        guard let use = try db.quotaUse(account, below: Self.rowsCountedMax) else {
            throw UncountedUse(account: account)
        }
        return use
    }

    /// Lets `body` count rows however many there are.
    func countingAllRows<Value>(_ body: (SQLiteWriteSession) throws -> Value) throws -> Value {
        countsAllRows = true
        defer { countsAllRows = false }
        return try body(self)
    }

    package func registryChanged() {
        statuses = [:]
        effects.registryChanged = true
    }

    /// `data_version` changes for this connection when another one has committed; only other processes have one.
    private func noticeOthers(_ db: Database) throws {
        let version = try db.prepared(SQLiteSessionStatements.dataVersion).first { $0.integer(0) }
        defer { dataVersion = version }
        guard version != dataVersion, dataVersion != nil else { return }
        forget()
        quotaCounts.forgetAll()
        try listeners.read(db)
        effects.registryChanged = true
        effects.due = .all
    }

    private func forget() {
        topics = SQLiteTopicCache()
        statuses = [:]
        mark = nil
        gains = nil
        unindexedTokens = nil
        newest = nil
        platformRest = nil
        pushes.clear()
    }
}

enum SQLiteSessionStatements {
    static let begin = "BEGIN IMMEDIATE /* session.begin */"
    static let commit = "COMMIT /* session.commit */"
    static let rollback = "ROLLBACK /* session.rollback */"
    static let dataVersion = "PRAGMA data_version /* session.data_version */"
}

extension SQLiteWriteSession {
    /// Devices of deleted platforms are not counted; see `QuotaStatements.devices`.
    package static let countsDeleted = false
    package static var tables: [StoreTable] { StoreTable.sqlite }
}
