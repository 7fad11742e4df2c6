import BelfryCore
import BelfryTesting
import Foundation
import Testing

@Suite struct PeopleConformance {
    @Test(arguments: Engine.allCases)
    func `a person has an address of their own, and is listed to those whose bounds include theirs`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application)
            let root = try await store.create(try NewPerson.sample("root@a.example"))
            let bounds = AdminKey.Bounds.application(app.key, of: app.tenantKey)
            let own = try await store.create(try NewPerson.sample("own@a.example", .appAdmin, bounds))
            await #expect(throws: StoreError.self) { try await store.create(try NewPerson.sample("ROOT@a.example")) }
            #expect(try await store.person(root.key) == root)
            #expect(try await store.person(EmailAddress("Own@A.example")) == own)
            #expect(try await store.people(within: .everything, after: nil, limit: 10) == [root, own])
            #expect(try await store.people(within: .everything, after: root.key, limit: 10) == [own])
            #expect(try await store.people(within: .tenant(app.tenantKey), after: nil, limit: 10) == [own])
            #expect(try await store.people(within: bounds, after: nil, limit: 10) == [own])
            let elsewhere = AdminKey.Bounds.application(Key(999), of: app.tenantKey)
            #expect(try await store.people(within: elsewhere, after: nil, limit: 10) == [])
            try await store.delete(app.key, force: true)
            #expect(try await store.person(own.key)?.disabledAt == fixture.clock.now)
            #expect(try await store.person(root.key)?.disabledAt == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a session is found by the hash of its token until it ends, its person is shut out or the password changes`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let person = try await store.create(try NewPerson.sample("a@a.example"))
            let first = try await store.begin(.sample(person, 1))
            #expect(try await store.session(tokenHash: [1])?.session == first)
            #expect(try await store.session(tokenHash: [1])?.person.lastLoginAt == fixture.clock.now)
            #expect(try await store.session(tokenHash: [2]) == nil)
            let second = try await store.begin(.sample(person, 2))
            #expect(try await store.sessions(of: person.key) == [second, first])
            #expect(try await store.end(first.key, of: Key(999)) == false)
            #expect(try await store.end(first.key, of: person.key))
            #expect(try await store.session(tokenHash: [1]) == nil)
            let third = try await store.begin(.sample(person, 3))
            try await store.setPassword(of: person.key, to: "new", keeping: third.key)
            #expect(try await store.session(tokenHash: [2]) == nil)
            #expect(try await store.session(tokenHash: [3])?.person.passwordHash == "new")
            try await store.setDisabled(true, person.key)
            #expect(try await store.session(tokenHash: [3]) == nil)
            try await store.setDisabled(false, person.key)
            #expect(try await store.session(tokenHash: [3]) == nil, "it ended for good")
            #expect(try await store.person(person.key)?.disabledAt == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a person has a bounded number of sessions, and the oldest give way`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let person = try await store.create(try NewPerson.sample("a@a.example"))
            for number in 0...DashboardSession.perPersonMax {
                _ = try await store.begin(.sample(person, UInt8(number)))
            }
            #expect(try await store.sessions(of: person.key).count == DashboardSession.perPersonMax)
            #expect(try await store.session(tokenHash: [0]) == nil)
            #expect(try await store.session(tokenHash: [1]) != nil)
            #expect(try await store.session(tokenHash: [UInt8(DashboardSession.perPersonMax)]) != nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a second factor is kept sealed, takes no code twice, and forgets a recovery code with its use`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let person = try await store.create(try NewPerson.sample("a@a.example")).key
            let other = try await store.create(try NewPerson.sample("b@a.example")).key
            #expect(try await store.twoFactor(of: person) == nil)
            #expect(try await store.takeCode(ofStep: 1, of: person) == false)
            try await store.setTwoFactor(
                of: person, to: Sealed(bytes: [1, 2]), lastStep: 100, recoveryCodeHashes: [[1], [2]])
            #expect(
                try await store.twoFactor(of: person)
                    == TwoFactor(secret: Sealed(bytes: [1, 2]), lastStep: 100, recoveryCodeCount: 2))
            #expect(try await store.person(person)?.hasTwoFactor == true)
            #expect(try await store.person(other)?.hasTwoFactor == false)
            #expect(
                try await store.people(within: .everything, after: nil, limit: 9).map(\.hasTwoFactor) == [true, false])

            #expect(try await store.takeCode(ofStep: 100, of: person) == false)
            #expect(try await store.takeCode(ofStep: 101, of: person))
            #expect(try await store.takeCode(ofStep: 101, of: person) == false)
            #expect(try await store.takeRecoveryCode([1], of: other) == false)
            #expect(try await store.takeRecoveryCode([1], of: person))
            #expect(try await store.takeRecoveryCode([1], of: person) == false)
            #expect(try await store.twoFactor(of: person)?.recoveryCodeCount == 1)
            if let copied = store as? any BulkStore,
                let table = BulkTable.all.first(where: { $0.name == "recovery_code" })
            {
                let last = try #require(try await copied.lastKey(of: table))
                #expect(try await copied.rows(of: table, after: last, limit: 9).isEmpty)
            }

            try await store.setTwoFactor(
                of: person, to: Sealed(bytes: [3]), lastStep: 101, recoveryCodeHashes: [[4], [5], [6]])
            #expect(try await store.takeRecoveryCode([2], of: person) == false, "earlier codes are gone")
            try await store.removeTwoFactor(of: person)
            #expect(try await store.twoFactor(of: person) == nil)
            #expect(try await store.takeRecoveryCode([4], of: person) == false)
            #expect(try await store.person(person)?.hasTwoFactor == false)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an invitation is used once, in its time, and one without an address only while nobody is there`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, now) = (fixture.store, fixture.clock.now)
            try await store.create(try NewInvitation.sample(1, nil, until: now + .seconds(60)))
            try await store.create(try NewInvitation.sample(2, nil, until: now + .seconds(60)))
            let invitation = try #require(try await store.invitation(tokenHash: [1]))
            let person = try await store.accept(invitation.key, as: try NewPerson.sample("a@a.example"))
            #expect(try await store.invitation(tokenHash: [1]) == nil)
            await #expect(throws: StoreError.self) {
                try await store.accept(invitation.key, as: try NewPerson.sample("b@a.example"))
            }
            let other = try #require(try await store.invitation(tokenHash: [2]))
            await #expect(throws: StoreError.self) {
                try await store.accept(other.key, as: try NewPerson.sample("b@a.example"))
            }
            // One for somebody who is there sets their password alone.
            try await store.create(try NewInvitation.sample(3, "a@a.example", until: now + .seconds(60)))
            let reset = try #require(try await store.invitation(tokenHash: [3]))
            _ = try await store.accept(reset.key, as: try NewPerson.sample("a@a.example", hash: "other"))
            #expect(try await store.person(person.key)?.passwordHash == "other")
            // A later one takes the place of an earlier one, and one whose time is over is no more.
            try await store.create(try NewInvitation.sample(4, "c@a.example", until: now + .seconds(60)))
            try await store.create(try NewInvitation.sample(5, "c@a.example", until: now + .seconds(60)))
            #expect(try await store.invitation(tokenHash: [4]) == nil)
            let late = try #require(try await store.invitation(tokenHash: [5]))
            fixture.clock.advance(by: .seconds(61))
            await #expect(throws: StoreError.self) {
                try await store.accept(late.key, as: try NewPerson.sample("c@a.example"))
            }
        }
    }
}

extension NewPerson {
    fileprivate static func sample(
        _ email: String, _ scope: AdminKey.Scope = .operator, _ bounds: AdminKey.Bounds = .everything,
        hash: String = "hash"
    ) throws -> NewPerson {
        try NewPerson(
            email: EmailAddress(email), name: Name("A person"), scope: scope, bounds: bounds, passwordHash: hash)
    }
}

extension NewDashboardSession {
    fileprivate static func sample(_ person: Person, _ number: UInt8) -> NewDashboardSession {
        NewDashboardSession(person: person.key, tokenHash: [number], address: "192.0.2.1", agent: "a browser")
    }
}

extension NewInvitation {
    fileprivate static func sample(_ number: UInt8, _ email: String?, until end: Instant) throws -> NewInvitation {
        try NewInvitation(
            tokenHash: [number], email: email.map { try EmailAddress($0) }, scope: .operator, bounds: .everything,
            expiresAt: end)
    }
}
