/// A resource that all callers use together and that a single caller could exhaust.
package enum Share: String, Sendable, Hashable, CaseIterable {
    /// Open event streams.
    case streams
    /// Lists and searches that scan many rows.
    case searches
    /// Answers that are written while a whole list is read.
    case exports
    /// Requests that write many rows at once.
    case batches
    /// Test pushes, and tests of credentials.
    case tests
    /// Registrations that wait until a push service has taken the push that proves them.
    case proofs
    /// Answers of gateways that wait for the verdict of a provider; those beyond do not wait.
    case verdicts
    /// Devices that wait for messages at their endpoints; those beyond are answered at once.
    case fetches
    /// Credentials that are being opened: a p12 file itself decides how much work its keys are.
    case credentials
    /// KiB of request bodies that are being read or worked on.
    case uploads
}

/// The limits on the concurrent use of a share.
package struct ShareLimit: Sendable, Hashable {
    /// For one application, and for one admin key.
    package let perCaller: Int
    /// For all applications and keys of one tenant.
    package let tenant: Int
    package let total: Int

    /// - Parameters:
    ///   - perCaller: 1 or more; a larger number than a quarter of `total` raises that.
    ///   - total: a tenant has a quarter of it, whatever one application has.
    package init(perCaller: Int, total: Int) {
        precondition(perCaller > 0, "a share is at least 1")
        self.perCaller = perCaller
        self.total = max(perCaller * Self.tenantsAtOnce, total)
        tenant = self.total / Self.tenantsAtOnce
    }

    /// The number of tenants that can have their whole part at once.
    private static let tenantsAtOnce = 4

    /// Generous for one application, and small compared with the resources of the server.
    package static let standard: [Share: ShareLimit] = [
        .streams: ShareLimit(perCaller: 32, total: 256), .searches: ShareLimit(perCaller: 2, total: 16),
        .exports: ShareLimit(perCaller: 4, total: 32), .batches: ShareLimit(perCaller: 4, total: 32),
        .tests: ShareLimit(perCaller: 4, total: 32), .proofs: ShareLimit(perCaller: 32, total: 128),
        .verdicts: ShareLimit(perCaller: 64, total: 256), .fetches: ShareLimit(perCaller: 64, total: 256),
        .credentials: ShareLimit(perCaller: 2, total: 8),
        .uploads: ShareLimit(perCaller: 20 << 10, total: 256 << 10),
    ]
}

/// The error for a caller who uses as much of a share as the limit allows, or when all callers together do.
package struct ShareExceeded: Error, Sendable, Hashable {
    package let share: Share
    package let excess: ShareCounts.Excess
    package let limit: ShareLimit

    package init(share: Share, excess: ShareCounts.Excess, limit: ShareLimit) {
        self.share = share
        self.excess = excess
        self.limit = limit
    }
}

/// The callers that the use of a share is counted for.
package struct ShareHolder: Sendable, Hashable {
    package let application: Key<Application>?
    package let tenant: Key<Tenant>?
    package let key: Key<AdminKey>?
    package let account: Key<CarmaAccount>?

    /// - Parameter tenant: nil for operators, whose customers' apps may belong to several tenants.
    package init(
        application: Key<Application>?, tenant: Key<Tenant>?, key: Key<AdminKey>? = nil,
        account: Key<CarmaAccount>? = nil
    ) {
        self.application = application
        self.tenant = tenant
        self.key = key
        self.account = account
    }

    package init(_ application: Application) {
        self.init(application: application.key, tenant: application.tenantKey)
    }
}

/// Counts the use of each share. Only shares in use take memory.
package struct ShareCounts: Sendable {
    /// The limit that was reached.
    package enum Excess: Sendable, Hashable {
        case application, key, account, tenant, total
    }

    private enum Party: Hashable {
        case application(Key<Application>)
        case key(Key<AdminKey>)
        case account(Key<CarmaAccount>)
        case tenant(Key<Tenant>)
        case all
    }

    private struct Account: Hashable {
        let share: Share
        let party: Party
    }

    private var used: [Account: Int] = [:]

    package init() {}

    package var isEmpty: Bool { used.isEmpty }

    package func total(of share: Share) -> Int { used[Account(share: share, party: .all)] ?? 0 }

    /// Takes an amount of a share; takes nothing when a limit would be exceeded, and returns which.
    package mutating func take(
        _ amount: Int, of share: Share, for holder: ShareHolder, under limit: ShareLimit
    ) -> Excess? {
        let bounds = Self.bounds(holder, limit)
        for (party, most, excess) in bounds {
            let before = used[Account(share: share, party: party)] ?? 0
            // An amount larger than a whole limit is admitted alone.
            if before > 0, before + min(amount, most) > most { return excess }
        }
        for (party, _, _) in bounds { used[Account(share: share, party: party), default: 0] += amount }
        return nil
    }

    package mutating func giveBack(_ amount: Int, of share: Share, for holder: ShareHolder, under limit: ShareLimit) {
        for (party, _, _) in Self.bounds(holder, limit) {
            let account = Account(share: share, party: party)
            let left = (used[account] ?? 0) - amount
            used[account] = left > 0 ? left : nil
        }
    }

    private static func bounds(_ holder: ShareHolder, _ limit: ShareLimit) -> [(Party, Int, Excess)] {
        let own: [(Party, Int, Excess)?] = [
            holder.application.map { (.application($0), limit.perCaller, .application) },
            holder.key.map { (.key($0), limit.perCaller, .key) },
            holder.account.map { (.account($0), limit.perCaller, .account) },
            holder.tenant.map { (.tenant($0), limit.tenant, .tenant) },
        ]
        return own.compactMap(\.self) + [(.all, limit.total, .total)]
    }
}
