import Synchronization

/// What a quota is counted for: an application's, or for `Quota.idempotencyKeys` any caller's.
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

    /// nil when it is not an application's.
    package var application: Key<Application>? { owner.kind == .sender ? Key(owner.id) : nil }
}

/// What a transaction adds to the use of quotas, and takes from it.
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

/// The use of quotas as far as it was counted: once from the database, from then on by what is committed.
package final class QuotaCounts: Sendable {
    private struct Entry {
        var use: Int
        var countedAt: ContinuousClock.Instant
    }

    package let quotas: Quotas
    private let entries = Mutex<[QuotaAccount: Entry]>([:])

    package init(_ quotas: Quotas) { self.quotas = quotas }

    /// nil while it was not counted.
    package func use(_ account: QuotaAccount) -> Int? { entries.withLock { $0[account]?.use } }

    package func learn(_ use: Int, of account: QuotaAccount) {
        entries.withLock { $0[account] = Entry(use: max(0, use), countedAt: .now) }
    }

    /// To be told of what a transaction changed once it is committed.
    package func apply(_ changes: QuotaChanges) {
        guard !changes.deltas.isEmpty else { return }
        entries.withLock { entries in
            for (account, delta) in changes.deltas {
                guard let entry = entries[account] else { continue }
                entries[account]?.use = max(0, entry.use + delta)
            }
        }
    }

    package func forget(_ account: QuotaAccount) { entries.withLock { $0[account] = nil } }

    package func forgetAll() { entries.withLock { $0 = [:] } }

    /// Those to be counted again where others share the database: those that use half of their limit often, the others seldom.
    package func stale(at now: ContinuousClock.Instant = .now) -> [QuotaAccount] {
        entries.withLock { entries in
            entries.filter { account, entry in
                let limit = quotas[account.quota] ?? .max
                let ageMax = entry.use >= limit / 2 ? Self.ageNearLimit : Self.age
                return entry.countedAt.duration(to: now) >= ageMax
            }.map(\.key)
        }
    }

    package static let ageNearLimit = Duration.seconds(5)
    package static let age = Duration.seconds(60)
}
