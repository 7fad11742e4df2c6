import BelfryService
import BelfryTesting
import Foundation
import Testing

/// Rows that tenants make end at a limit, and those that a person made end with the person.
@Suite struct RowLimitConformance {
    private static let tenant = AdminKey.Bounds.tenant(Tenant.first)

    private static func key(_ number: Int, by author: Key<Person>? = nil) throws -> NewAdminKey {
        try NewAdminKey(
            id: "key\(number)", name: Name("a key"), scope: .tenantAdmin, bounds: tenant, secretHash: [1],
            author: author)
    }

    private static func invitation(
        _ number: Int, _ bounds: AdminKey.Bounds = Self.tenant, until end: Instant, by author: Key<Person>? = nil
    ) throws -> NewInvitation {
        try NewInvitation(
            tokenHash: Array("\(number)".utf8), email: EmailAddress("p\(number)@a.example"),
            scope: bounds == .everything ? .operator : .tenantAdmin, bounds: bounds, expiresAt: end, author: author)
    }

    private func isRefused(_ limit: RowLimit, _ body: () async throws -> Void) async throws -> Bool {
        do {
            try await body()
            return false
        } catch StoreError.conflict(let words) {
            return words.contains("\(limit.most) \(limit.things)")
        }
    }

    @Test(arguments: Engine.allCases)
    func `a tenant's open invitations have a limit`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, end) = (fixture.store, fixture.clock.now + .seconds(60))
            for number in 0..<RowLimit.invitations.most {
                try await store.create(try Self.invitation(number, until: end))
            }
            #expect(
                try await isRefused(.invitations) { try await store.create(try Self.invitation(1_000, until: end)) })
            // A later one for the same address takes the place of the earlier.
            try await store.create(try Self.invitation(7, until: end))
            try await store.create(try Self.invitation(1_001, .everything, until: end))
            let first = try await store.invitations(within: .everything, before: nil, limit: 2)
            #expect(first.map(\.email?.text) == ["p1001@a.example", "p7@a.example"])
            let all = try await store.invitations(within: Self.tenant, before: nil, limit: 1_000)
            #expect(all.count == RowLimit.invitations.most && all.allSatisfy { $0.bounds == Self.tenant })
            let page = try await store.invitations(within: Self.tenant, before: all[9].key, limit: 3)
            #expect(page == Array(all[10..<13]))
            #expect(try await store.invitations(of: EmailAddress("p9@a.example")).count == 1)
            #expect(try await store.invitation(all[3].key) == all[3])
            fixture.clock.advance(by: .seconds(61))
            #expect(try await store.invitation(all[3].key) == nil)
            try await store.create(try Self.invitation(1_002, until: fixture.clock.now + .seconds(60)))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a tenant's living admin keys have a limit`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let first = try await store.create(try Self.key(0))
            for number in 1..<RowLimit.adminKeys.most { _ = try await store.create(try Self.key(number)) }
            #expect(try await isRefused(.adminKeys) { _ = try await store.create(try Self.key(5_000)) })
            try await store.revoke(first.key)
            _ = try await store.create(try Self.key(5_001))
        }
    }

    @Test(arguments: Engine.allCases)
    func `open endpoints of an application have a limit`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            func create(_ number: UInt8) async throws {
                _ = try await fixture.store.create(
                    NewOpenEndpoint(
                        kind: .genero, application: fixture.application.key,
                        keyHash: Array(repeating: number, count: 32),
                        allowed: [], options: [:]))
            }
            for number in 0..<UInt8(RowLimit.openEndpoints.most) { try await create(number) }
            #expect(try await isRefused(.openEndpoints) { try await create(255) })
        }
    }

    @Test(arguments: Engine.allCases, [true, false])
    func `shutting out ends a person's links and keys, or not`(
        engine: Engine, endsIssued: Bool
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, end) = (fixture.store, fixture.clock.now + .seconds(60))
            let people = try await [1, 2].asyncMap { number in
                try await store.create(
                    try NewPerson(
                        email: EmailAddress("boss\(number)@a.example"), name: Name("Boss"), scope: .operator,
                        bounds: .everything, passwordHash: ""))
            }
            for (number, person) in people.enumerated() {
                _ = try await store.create(try Self.key(number, by: person.key))
                try await store.create(try Self.invitation(number, until: end, by: person.key))
            }
            _ = try await store.create(try Self.key(9))
            #expect(try await store.adminKey("key0")?.author == people[0].key)
            #expect(try await store.issued(by: people[0].key) == Person.Issued(keys: 1, links: 1))
            try await store.setDisabled(true, people[0].key, keepsOperator: false, endsIssued: endsIssued)
            let left = endsIssued ? 0 : 1
            #expect(try await store.issued(by: people[0].key) == Person.Issued(keys: left, links: left))
            #expect((try await store.adminKey("key0")?.revokedAt != nil) == endsIssued)
            #expect(try await store.invitations(of: EmailAddress("p0@a.example")).isEmpty == endsIssued)
            #expect(try await store.adminKey("key1")?.revokedAt == nil)
            #expect(try await store.adminKey("key9")?.revokedAt == nil)
            #expect(try await store.invitations(of: EmailAddress("p1@a.example")).count == 1)
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
