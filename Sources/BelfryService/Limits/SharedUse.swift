import Logging
import PostgreSQL
import Synchronization

/// The devices and bytes of content that this node has added to applications since it last stored that, and the
/// comparison of all counts in memory with other nodes.
///
/// If every registration changed a row for each application, registrations would wait for one another. So each node stores its additions
/// once a second, and reads the sum of all. A crash loses the additions since then: the use is then off by that much.
final class SharedUse: Sendable {
    private struct State {
        var deltas: [QuotaAccount: Int] = [:]
        var isComparing = false
    }

    private let state = Mutex(State())

    /// Quotas whose use is stored; the others are counted in their tables.
    static func isWrittenDown(_ quota: Quota) -> Bool { quota == .devices || quota == .content }

    var isUnwritten: Bool { state.withLock { !$0.deltas.isEmpty } }

    /// Quota use that is not stored yet; nil for a quota that is counted in its table.
    func unwrittenUse(_ account: QuotaAccount) -> Int? {
        guard Self.isWrittenDown(account.quota) else { return nil }
        return state.withLock { $0.deltas[account] ?? 0 }
    }

    /// Called with the changes of each committed transaction.
    func add(_ changes: QuotaChanges) {
        guard !changes.deltas.isEmpty else { return }
        state.withLock { state in
            for (account, delta) in changes.deltas where Self.isWrittenDown(account.quota) {
                state.deltas[account, default: 0] += delta
            }
        }
    }

    /// Stores the additions, and recounts accounts that other nodes may have changed, unless that is under way.
    func compare(in store: PostgresStore, _ logger: Logger) {
        let stale = store.quotaCounts.stale()
        let isDue = state.withLock { state in
            guard !state.isComparing, !state.deltas.isEmpty || !stale.isEmpty else { return false }
            state.isComparing = true
            return true
        }
        guard isDue else { return }
        store.pool.enqueue { [self, weak store] connection in
            guard let store else { return }
            try writeDown(on: connection, store.quotaCounts)
            try count(stale, on: connection, store.quotaCounts)
        } then: { [self] result in
            state.withLock { $0.isComparing = false }
            guard case .failure(let error) = result else { return }
            logger.debug("the use of quotas was not compared", metadata: ["error": "\(error)"])
        }
    }

    /// Recounts accounts that other nodes may have changed.
    func count(_ accounts: [QuotaAccount], on connection: Connection, _ counts: QuotaCounts) throws {
        for account in accounts {
            counts.beginCounting(account)
            let use = try connection.quotaUse(account) + (unwrittenUse(account) ?? 0)
            if counts.isOverdue(account) { counts.learn(use, of: account) } else { counts.endCounting(account, use) }
        }
    }

    /// Stores the additions. They are durable when it returns.
    func writeDown(on connection: Connection, _ counts: QuotaCounts) throws {
        let deltas = state.withLock { $0.deltas }
        let applications = Set(deltas.keys.compactMap(\.application)).sorted()
        guard !applications.isEmpty else { return }
        try connection.begin(PostgresSessionStatements.begin)
        var sums: [QuotaAccount: Int] = [:]
        for application in applications {
            let accounts = [QuotaAccount(.devices, of: application), QuotaAccount(.content, of: application)]
            try connection.prepared(SharedUseStatements.add).each(
                application, deltas[accounts[0]] ?? 0, deltas[accounts[1]] ?? 0
            ) { row in
                for (index, account) in accounts.enumerated() { sums[account] = Int(row.integer(Int32(index))) }
            }
        }
        try connection.prepared(PostgresSessionStatements.commit).run()
        let left = state.withLock { state in
            for (account, delta) in deltas {
                let left = (state.deltas[account] ?? 0) - delta
                state.deltas[account] = left == 0 ? nil : left
            }
            return state.deltas
        }
        for (account, sum) in sums where counts.use(account) != nil {
            counts.learn(sum + (left[account] ?? 0), of: account)
        }
    }
}

enum SharedUseStatements {
    /// Does nothing for a deleted application.
    static let add = """
        INSERT INTO application_use /* shared_use.add */ (application_id, device_count, content_bytes)
        SELECT id, greatest(0, $2), greatest(0, $3) FROM application WHERE id = $1
            ON CONFLICT (application_id) DO UPDATE
           SET device_count = greatest(0, application_use.device_count + $2),
               content_bytes = greatest(0, application_use.content_bytes + $3)
        RETURNING device_count, content_bytes
        """
}
