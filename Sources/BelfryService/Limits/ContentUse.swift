import GRDB
import Synchronization

/// The bytes of content that were stored and deleted since they were last recorded, by application.
///
/// Recording them with each push would cost a page of the log for each. So `SQLiteMaintenance` records them, 12 times a second. A crash
/// loses the changes since then: the use is then off by that much.
struct ContentUse {
    private var deltas: [Key<Application>: Int] = [:]
    /// Bytes that the open transaction records.
    private var written: [Key<Application>: Int] = [:]

    /// The bytes of an application that its row does not include yet.
    func unwritten(_ application: Key<Application>) -> Int {
        (deltas[application] ?? 0) - (written[application] ?? 0)
    }

    /// Returns the bytes to record; none where the open transaction records some already.
    mutating func beginWriting() -> [Key<Application>: Int] {
        guard written.isEmpty else { return [:] }
        written = deltas
        return written
    }

    /// Called after each commit.
    mutating func commit(_ changes: QuotaChanges) {
        for (application, delta) in written { add(-delta, application) }
        written = [:]
        for (account, delta) in changes.deltas where account.quota == .content {
            if let application = account.application { add(delta, application) }
        }
    }

    /// Called after each rollback.
    mutating func rollBack() { written = [:] }

    private mutating func add(_ delta: Int, _ application: Key<Application>) {
        let sum = (deltas[application] ?? 0) + delta
        deltas[application] = sum == 0 ? nil : sum
    }
}

extension SQLiteWriteSession {
    func writeDownContentUse() throws {
        let add = try prepared(ContentUseStatements.add)
        for (application, delta) in contentUse.beginWriting() { try add.run(application, delta) }
    }
}

enum ContentUseStatements {
    /// Does nothing for a deleted application.
    static let add = """
        INSERT INTO application_use /* content_use.add */ (application_id, content_bytes)
        SELECT id, max(0, ?2) FROM application WHERE id = ?1
            ON CONFLICT (application_id) DO UPDATE SET content_bytes = max(0, content_bytes + ?2)
        """
}

/// Too many rows to count on the writer.
struct UncountedUse: Error {
    let account: QuotaAccount
}

/// Counts rows beside the writer, once for all callers that wait for it.
final class UseCounter: Sendable {
    private let pool: DatabasePool
    private let writer: Writer
    private let quotaCounts: QuotaCounts
    private let countings = Mutex<[QuotaAccount: Task<Void, any Error>]>([:])

    init(pool: DatabasePool, writer: Writer, quotaCounts: QuotaCounts) {
        self.pool = pool
        self.writer = writer
        self.quotaCounts = quotaCounts
    }

    /// Returns when the use is known, unless it changed while it was counted.
    func count(_ account: QuotaAccount) async throws {
        let counting = countings.withLock { countings in
            if let counting = countings[account] { return counting }
            let counting = Task {
                defer { self.countings.withLock { $0[account] = nil } }
                try await countOnce(account)
            }
            countings[account] = counting
            return counting
        }
        try await counting.value
    }

    /// Counts once. Commits of the writer meanwhile reach `quotaCounts` before the writer's next job.
    private func countOnce(_ account: QuotaAccount) async throws {
        quotaCounts.beginCounting(account)
        let use = try await pool.read { try $0.quotaUse(account) }
        try await writer.write { [quotaCounts] _ in quotaCounts.endCounting(account, use) }
    }
}
