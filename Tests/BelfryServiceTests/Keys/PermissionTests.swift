import Testing

@testable import BelfryService

@Suite struct PermissionTests {
    private static let mine = Key<Tenant>(1)
    private static let theirs = Key<Tenant>(2)
    private static let shop = Permission.Subject.application(Key(10), of: mine)
    private static let sister = Permission.Subject.application(Key(11), of: mine)
    private static let stranger = Permission.Subject.application(Key(20), of: theirs)
    private static let tenantBounds = AdminKey.Bounds.tenant(mine)
    private static let shopBounds = AdminKey.Bounds.application(Key(10), of: mine)

    struct Case: Sendable, CustomStringConvertible {
        let scope: AdminKey.Scope
        let bounds: AdminKey.Bounds
        /// The actions allowed within its bounds.
        let actions: Set<Permission.Action>

        var description: String { "\(scope) of \(bounds)" }
    }

    static let cases: [Case] = [
        Case(scope: .operator, bounds: .everything, actions: [.read, .send, .change, .administer]),
        Case(scope: .tenantAdmin, bounds: tenantBounds, actions: [.read, .send, .change, .administer]),
        Case(scope: .appAdmin, bounds: shopBounds, actions: [.read, .send, .change, .administer]),
        Case(scope: .sender, bounds: tenantBounds, actions: [.read, .send]),
        Case(scope: .sender, bounds: shopBounds, actions: [.read, .send]),
        Case(scope: .readOnly, bounds: tenantBounds, actions: [.read]),
        Case(scope: .readOnly, bounds: shopBounds, actions: [.read]),
    ]

    private func verdict(
        _ held: Case, _ action: Permission.Action, _ subject: Permission.Subject
    ) -> Permission.Verdict {
        Permission.verdict(scope: held.scope, bounds: held.bounds, for: action, on: subject)
    }

    @Test(arguments: cases, Permission.Action.allCases)
    func `a key does its scope's work within its bounds`(held: Case, action: Permission.Action) {
        let expected: Permission.Verdict = held.actions.contains(action) ? .allowed : .forbidden
        #expect(verdict(held, action, Self.shop) == expected)
        #expect(verdict(held, action, Permission.Subject(held.bounds)) == expected)
    }

    @Test(arguments: cases.filter { $0.scope != .operator }, Permission.Action.allCases)
    func `another tenant's things do not exist`(held: Case, action: Permission.Action) {
        #expect(verdict(held, action, Self.stranger) == .notFound)
        #expect(verdict(held, action, .tenant(Self.theirs)) == .notFound)
    }

    @Test(arguments: cases.filter { $0.scope != .operator }, Permission.Action.allCases)
    func `a key knows what stands above it, without access`(held: Case, action: Permission.Action) {
        #expect(verdict(held, action, .everything) == .forbidden)
        if held.bounds == Self.shopBounds { #expect(verdict(held, action, .tenant(Self.mine)) == .forbidden) }
    }

    @Test(arguments: cases)
    func `an application's key does not see the tenant's other applications`(held: Case) {
        #expect((verdict(held, .read, Self.sister) == .notFound) == (held.bounds == Self.shopBounds))
    }

    @Test(arguments: AdminKey.Scope.allCases)
    func `a scope takes the bounds that make sense for it`(scope: AdminKey.Scope) {
        let all: [AdminKey.Bounds] = [.everything, Self.tenantBounds, Self.shopBounds]
        let taken = all.filter { bounds in Self.cases.contains { $0.scope == scope && $0.bounds == bounds } }
        for bounds in all {
            let isTaken = (try? scope.check(bounds)) != nil
            #expect(isTaken == taken.contains(bounds), "\(bounds)")
        }
    }
}

@Suite struct AdminKeyTests {
    private func key(
        previousUntil: Instant? = nil, lastUsedAt: Instant? = nil, revokedAt: Instant? = nil
    ) -> AdminKey {
        AdminKey(
            key: Key(1), id: "a", name: "a", scope: .operator, bounds: .everything, secretHash: [1],
            previous: previousUntil.map { AdminKey.Previous(secretHash: [2], validUntil: $0) }, createdAt: .zero,
            lastUsedAt: lastUsedAt, revokedAt: revokedAt)
    }

    @Test func `the old secret lasts its grace; a revoked key none`() {
        let end = Instant(milliseconds: 1_000)
        #expect(key(previousUntil: end).secretHashes(at: Instant(milliseconds: 999)) == [[1], [2]])
        #expect(key(previousUntil: end).secretHashes(at: end) == [[1]])
        #expect(key(previousUntil: end, revokedAt: .zero).secretHashes(at: .zero).isEmpty)
    }

    @Test func `a use is worth a write once a minute`() {
        let used = Instant(milliseconds: 5_000)
        #expect(key().isUseWorthNoting(at: .zero))
        #expect(!key(lastUsedAt: used).isUseWorthNoting(at: used + .milliseconds(59_999)))
        #expect(key(lastUsedAt: used).isUseWorthNoting(at: used + .seconds(60)))
    }
}

@Suite struct InstantTextTests {
    @Test func `a time is written readably and read back`() {
        let moment = Instant(milliseconds: 1_700_000_000_123)
        #expect(moment.text == "2023-11-14T22:13:20.123Z")
        #expect(Instant(text: moment.text) == moment)
        #expect(Instant(text: "2023-11-14T23:13:20+01:00") == Instant(milliseconds: 1_700_000_000_000))
        #expect(Instant(text: "tomorrow") == nil)
        #expect(Instant.distantFuture.text.hasPrefix("9999-12-31"))
        #expect(Instant.distantPast.text.hasPrefix("0001-01-0"))
    }
}
