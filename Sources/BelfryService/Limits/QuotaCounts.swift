import Synchronization

/// The owner of a count: an application, or for `Quota.idempotencyKeys` any caller.
package struct QuotaAccount: Sendable, Hashable {
    package let quota: Quota
    package let owner: Principal

    package init(_ quota: Quota, of owner: Principal) {
        self.quota = quota
        self.owner = owner
    }

    package init(_ quota: Quota, of application: Key<Application>) {
        self.init(quota, of: Principal(.sender, application.rawValue))
    }

    /// nil for other callers.
    package var application: Key<Application>? { owner.kind == .sender ? Key(owner.id) : nil }
}

/// The changes that a transaction makes to the use of quotas.
package struct QuotaChanges: Sendable, Hashable {
    package private(set) var deltas: [QuotaAccount: Int] = [:]

    package init() {}

    package subscript(account: QuotaAccount) -> Int { deltas[account] ?? 0 }

    package mutating func add(_ count: Int, to account: QuotaAccount) {
        if count != 0 { deltas[account, default: 0] += count }
    }

    package mutating func add(_ changes: QuotaChanges) {
        for (account, delta) in changes.deltas { add(delta, to: account) }
    }
}

/// The counted use of quotas: read once from the database, then kept current with each commit.
package final class QuotaCounts: Sendable {
    private struct Entry {
        var use: Int
        var countedAt: ContinuousClock.Instant
    }

    private struct State {
        var entries: [QuotaAccount: Entry] = [:]
        /// Accounts that are being counted, and have not changed since.
        var countings: Set<QuotaAccount> = []
        /// How many transactions that changed an account may be committed, and were not applied yet.
        var commits: [QuotaAccount: Int] = [:]

        mutating func endCommit(_ account: QuotaAccount) {
            guard let count = commits[account] else { return }
            commits[account] = count == 1 ? nil : count - 1
        }

        mutating func learn(_ use: Int, of account: QuotaAccount) {
            entries[account] = Entry(use: use, countedAt: .now)
        }
    }

    package let quotas: Quotas
    private let state = Mutex(State())

    package init(_ quotas: Quotas) { self.quotas = quotas }

    /// nil before it was counted.
    package func use(_ account: QuotaAccount) -> Int? { state.withLock { $0.entries[account]?.use } }

    package func learn(_ use: Int, of account: QuotaAccount) {
        state.withLock { $0.learn(use, of: account) }
    }

    /// Called before the rows of an account are counted while transactions go on.
    package func beginCounting(_ account: QuotaAccount) {
        state.withLock { if $0.commits[account] == nil { $0.countings.insert(account) } }
    }

    /// Whether an account changes so often that each of its counts was dropped: one that is off by what is being committed is better.
    package func isOverdue(_ account: QuotaAccount, at now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { $0.entries[account].map { $0.countedAt.duration(to: now) >= Self.age * 2 } ?? false }
    }

    /// Called before a transaction with the changes is committed, where other nodes share the database. `apply` or `abandon` follows.
    package func beginCommit(_ changes: QuotaChanges) {
        guard !changes.deltas.isEmpty else { return }
        state.withLock { state in
            for account in changes.deltas.keys {
                state.countings.remove(account)
                state.commits[account, default: 0] += 1
            }
        }
    }

    /// Called when the transaction was not committed.
    package func abandon(_ changes: QuotaChanges) {
        guard !changes.deltas.isEmpty else { return }
        state.withLock { state in
            for account in changes.deltas.keys { state.endCommit(account) }
        }
    }

    /// Called once all transactions that the counted rows may include were applied. The count is dropped if it may have
    /// changed in between.
    package func endCounting(_ account: QuotaAccount, _ use: Int) {
        state.withLock { state in
            if state.countings.remove(account) != nil { state.learn(use, of: account) }
        }
    }

    /// Called with the changes of each committed transaction.
    package func apply(_ changes: QuotaChanges) {
        guard !changes.deltas.isEmpty else { return }
        state.withLock { state in
            for (account, delta) in changes.deltas {
                state.countings.remove(account)
                state.endCommit(account)
                // Below zero for a moment where a removal is applied before what it removed.
                state.entries[account]?.use += delta
            }
        }
    }

    package func forget(_ account: QuotaAccount) {
        state.withLock { state in
            state.entries[account] = nil
            state.countings.remove(account)
        }
    }

    package func forgetAll() { state.withLock { $0 = State() } }

    /// The accounts to count again where nodes share the database: often when half of the limit is used, seldom
    /// otherwise.
    package func stale(at now: ContinuousClock.Instant = .now) -> [QuotaAccount] {
        state.withLock { state in
            state.entries.filter { account, entry in
                let limit = quotas[account.quota] ?? .max
                let ageMax = entry.use >= limit / 2 ? Self.ageNearLimit : Self.age
                return entry.countedAt.duration(to: now) >= ageMax
            }.map(\.key)
        }
    }

    package static let ageNearLimit = Duration.seconds(5)
    package static let age = Duration.seconds(60)
}
