import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct TenantConformance {
    @Test(arguments: Engine.allCases)
    func `a store begins with one tenant, owning applications by default`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let first = try #require(try await fixture.store.tenant(Tenant.first))
            #expect(first.name == "default")
            #expect(fixture.application.tenantKey == Tenant.first)
            let second = try await fixture.store.create(NewTenant(uuid: UUID(), name: try Name("second")))
            let theirs = try await fixture.store.create(
                NewApplication(
                    uuid: UUID(), name: "theirs", apiKeyHash: [1], sharedSecret: Sealed(bytes: [2]),
                    tenantKey: second.key))
            #expect(try await fixture.store.application(theirs.uuid)?.tenantKey == second.key)
            #expect(try await fixture.store.tenants(after: nil, limit: 10) == [first, second])
            #expect(try await fixture.store.tenants(after: first.key, limit: 1) == [second])
            #expect(try await fixture.store.tenant(second.uuid) == second)
            try await fixture.store.rename(second.key, to: try Name("other"))
            #expect(try await fixture.store.tenant(second.key)?.name == "other")
        }
    }

    @Test(arguments: Engine.allCases)
    func `an empty tenant is deleted with its keys`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let tenant = try await store.create(NewTenant(uuid: UUID(), name: try Name("second")))
            let application = try await store.create(
                NewApplication(
                    uuid: UUID(), name: "theirs", apiKeyHash: [1], sharedSecret: Sealed(bytes: [2]),
                    tenantKey: tenant.key))
            let keys = try await [AdminKey.Bounds.tenant(tenant.key), .application(application.key, of: tenant.key)]
                .enumerated().asyncMap { try await store.create(.sample("key\($0.offset)", .sender, $0.element)) }
            await #expect(throws: StoreError.self) { try await store.delete(tenant.key) }
            try await store.delete(application.key, force: false)
            #expect(try await store.adminKey(keys[1].id)?.revokedAt != nil)
            #expect(try await store.adminKey(keys[0].id)?.revokedAt == nil)
            try await store.delete(tenant.key)
            #expect(try await store.adminKey(keys[0].id)?.revokedAt == fixture.clock.now)
            #expect(try await store.tenant(tenant.uuid) == nil)
            await #expect(throws: StoreError.self) { try await store.delete(tenant.key) }
            await #expect(throws: StoreError.self) { try await store.delete(Tenant.first) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `an application of an unknown tenant is refused`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let stranger = NewApplication(
                uuid: UUID(), name: "a", apiKeyHash: [1], sharedSecret: Sealed(bytes: []), tenantKey: Key(99))
            await #expect(throws: StoreError.self) { try await fixture.store.create(stranger) }
        }
    }
}

@Suite struct AdminKeyConformance {
    @Test(arguments: Engine.allCases)
    func `keys are found by id and listed for superiors`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let application = AdminKey.Bounds.application(fixture.application.key, of: Tenant.first)
            let root = try await store.create(.sample("a", .operator, .everything))
            let tenant = try await store.create(.sample("b", .tenantAdmin, .tenant(Tenant.first)))
            let sender = try await store.create(.sample("c", .sender, application))
            let stranger = try await store.create(.sample("d", .readOnly, .tenant(Key(77))))
            #expect(try await store.adminKey("c") == sender)
            #expect(try await store.adminKey("x") == nil)
            let all = [root, tenant, sender, stranger]
            #expect(try await store.adminKeys(within: .everything, after: nil, limit: 10) == all)
            #expect(try await store.adminKeys(within: .everything, after: root.key, limit: 2) == [tenant, sender])
            let own = try await store.adminKeys(within: .tenant(Tenant.first), after: nil, limit: 10)
            #expect(own == [tenant, sender])
            #expect(try await store.adminKeys(within: application, after: nil, limit: 10) == [sender])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a key is rotated with optional grace, used and revoked`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let key = try await store.create(.sample("a", .operator, .everything))
            let end = fixture.clock.now + .seconds(60)
            try await store.rotate(key, to: [2], graceEnd: end)
            let rotated = try #require(try await store.adminKey("a"))
            #expect(rotated.secretHash == [2])
            #expect(rotated.previous == AdminKey.Previous(secretHash: [1], validUntil: end))
            await #expect(throws: StoreError.self) { try await store.rotate(key, to: [9], graceEnd: end) }
            try await store.rotate(rotated, to: [3], graceEnd: nil)
            #expect(try await store.adminKey("a")?.previous == nil)
            try await store.noteUse(of: key.key, at: end)
            #expect(try await store.adminKey("a")?.lastUsedAt == end)
            try await store.revoke(key.key)
            let revoked = try #require(try await store.adminKey("a"))
            #expect(revoked.revokedAt == fixture.clock.now)
            fixture.clock.advance(by: .seconds(1))
            try await store.revoke(key.key)
            #expect(try await store.adminKey("a")?.revokedAt == revoked.revokedAt)
            await #expect(throws: StoreError.self) { try await store.rotate(revoked, to: [4], graceEnd: nil) }
        }
    }
}

@Suite struct AuditConformance {
    private func change(
        _ action: String, key: String? = "k", tenant: Key<Tenant>? = nil, application: Key<Application>? = nil
    ) -> AuditedChange {
        AuditedChange(
            keyID: key, address: "192.0.2.1", action: action, subject: "s", tenant: tenant, application: application,
            details: ["name": "n \"quoted\""])
    }

    @Test(arguments: Engine.allCases)
    func `a change leaves one audit line; a failure none`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let made = change("app.create", tenant: Tenant.first)
            let application = try await store.audited(made) { try await store.create(.named("a")) }
            #expect(try await store.application(application.uuid) != nil)
            let log = try await store.auditLog(AuditQuery(bounds: .everything, limit: 10))
            #expect(log.map(\.change) == [made])
            #expect(log.first?.at == fixture.clock.now)
            await #expect(throws: StoreError.self) {
                try await store.audited(change("app.delete")) {
                    try await store.delete(Key<Application>(99), force: true)
                }
            }
            try await store.audited(change("app.look")) { _ = try await store.applications() }
            _ = try await fixture.register("a")
            try await store.audited(change("app.delete")) {
                try await store.delete(fixture.application.key, force: true)
            }
            let actions = try await store.auditLog(AuditQuery(bounds: .everything, limit: 10)).map(\.change.action)
            #expect(actions == ["app.delete", "app.look", "app.create"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `the log is read by bounds, key, time and page`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let start = fixture.clock.now
            let theirs = Key<Tenant>(8)
            let changes = [
                change("1", key: "x", tenant: Tenant.first, application: Key(5)), change("2", tenant: theirs),
                change("3", tenant: Tenant.first), change("4", key: nil),
            ]
            for change in changes {
                try await store.audited(change) {}
                fixture.clock.advance(by: .seconds(1))
            }
            func read(_ query: AuditQuery) async throws -> [String] {
                try await store.auditLog(query).map(\.change.action)
            }
            #expect(try await read(AuditQuery(bounds: .everything, limit: 10)) == ["4", "3", "2", "1"])
            #expect(try await read(AuditQuery(bounds: .tenant(Tenant.first), limit: 10)) == ["3", "1"])
            #expect(try await read(AuditQuery(bounds: .application(Key(5), of: Tenant.first), limit: 10)) == ["1"])
            #expect(try await read(AuditQuery(bounds: .everything, keyID: "x", limit: 10)) == ["1"])
            let middle = AuditQuery(
                bounds: .everything, from: start + .seconds(1), until: start + .seconds(3), limit: 10)
            #expect(try await read(middle) == ["3", "2"])
            let page = try await store.auditLog(AuditQuery(bounds: .everything, limit: 2))
            #expect(try await read(AuditQuery(bounds: .everything, before: page.last?.key, limit: 10)) == ["2", "1"])
        }
    }
}

extension NewAdminKey {
    fileprivate static func sample(
        _ id: String, _ scope: AdminKey.Scope, _ bounds: AdminKey.Bounds
    ) throws -> NewAdminKey {
        try NewAdminKey(id: id, name: try Name("key \(id)"), scope: scope, bounds: bounds, secretHash: [1])
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ make: (Element) async throws -> Result) async throws -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await make(element)) }
        return results
    }
}
