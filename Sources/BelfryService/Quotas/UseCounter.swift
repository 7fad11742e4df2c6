import GRDB
import Synchronization

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
