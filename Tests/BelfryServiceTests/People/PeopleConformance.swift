import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct PeopleConformance {
    @Test(arguments: Engine.allCases)
    func `a person has an address and shows within their bounds`(
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
            try await store.setName(of: root.key, to: try Name("Ada"))
            #expect(try await store.person(root.key)?.name == "Ada")
            await #expect(throws: StoreError.self) { try await store.setName(of: Key(999), to: try Name("Ada")) }
            let end = fixture.clock.now + .seconds(60)
            try await store.create(try NewInvitation.sample(1, "new@a.example", until: end))
            try await store.create(try NewInvitation.sample(2, "root@a.example", person: root.key, until: end))
            for taken in ["own@a.example", "new@a.example"] {
                await #expect(throws: StoreError.conflict("this address cannot be used: choose another")) {
                    try await store.setEmail(of: root.key, to: try EmailAddress(taken))
                }
            }
            try await store.setEmail(of: root.key, to: try EmailAddress("Ada@a.example"))
            #expect(try await store.invitation(tokenHash: [2])?.email?.text == "ada@a.example")
            #expect(try await store.person(root.key)?.email.text == "ada@a.example")
            #expect(try await store.person(EmailAddress("root@a.example")) == nil)
            try await store.create(try NewInvitation.sample(3, "late@a.example", .appAdmin, bounds, until: end))
            try await store.delete(app.key, force: true)
            #expect(try await store.invitation(tokenHash: [3]) == nil, "nothing is left that it leads to")
            #expect(try await store.invitation(tokenHash: [1]) != nil)
            #expect(try await store.person(own.key)?.disabledAt == fixture.clock.now)
            #expect(try await store.person(root.key)?.disabledAt == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a session is found by token hash until it ends`(
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
            await #expect(throws: StoreError.self, "a change that began before its session ended") {
                try await store.setPassword(of: person.key, to: "late", keeping: second.key)
            }
            #expect(try await store.session(tokenHash: [3])?.person.passwordHash == "new")
            try await store.setDisabled(true, person.key)
            #expect(try await store.session(tokenHash: [3]) == nil)
            try await store.setDisabled(false, person.key)
            #expect(try await store.session(tokenHash: [3]) == nil, "it ended for good")
            #expect(try await store.person(person.key)?.disabledAt == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a login with the password from before begins nothing`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let ann = try await store.create(try NewPerson.sample("ann@a.example", hash: "old"))
            func begin(_ hash: String?) async throws {
                _ = try await store.begin(
                    NewDashboardSession(person: ann.key, passwordHash: hash, tokenHash: [1], address: nil, agent: ""))
            }
            try await store.setPassword(of: ann.key, to: "new", keeping: nil)
            await #expect(throws: StoreError.self) { try await begin("old") }
            #expect(try await store.sessions(of: ann.key).isEmpty)
            try await begin("new")
            try await store.setDisabled(true, ann.key)
            await #expect(throws: StoreError.self) { try await begin(nil) }
            #expect(try await store.sessions(of: ann.key).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a person keeps a time zone, through a new role`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            _ = try await store.create(try NewPerson.sample("root@a.example"))
            let ann = try await store.create(try NewPerson.sample("ann@a.example"))
            _ = try await store.begin(.sample(ann, 1))
            try await store.setTimeZone(of: ann.key, to: ZoneInfo("Europe/Vienna", field: ""))
            let found = try #require(try await store.session(tokenHash: [1])?.person)
            #expect(found.timeZone == "Europe/Vienna")
            let bounds = AdminKey.Bounds.tenant(fixture.application.tenantKey)
            let changed = try await store.setRole(of: found, to: SignOn.Role(.sender, bounds))
            #expect(changed.timeZone == "Europe/Vienna")
            #expect(try await store.person(ann.key)?.timeZone == "Europe/Vienna")
            try await store.setTimeZone(of: ann.key, to: nil)
            #expect(try await store.person(ann.key)?.timeZone == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `ending all sessions also voids password links`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let ann = try await store.create(try NewPerson.sample("ann@a.example"))
            let bob = try await store.create(try NewPerson.sample("bob@a.example"))
            for number: UInt8 in 1...3 { _ = try await store.begin(.sample(number == 3 ? bob : ann, number)) }
            for (number, person) in [(UInt8(4), ann), (5, bob)] {
                try await store.create(
                    try NewInvitation.sample(
                        number, person.email.text, person: person.key, until: fixture.clock.now + .seconds(60)))
            }
            #expect(try await store.endSessions(of: ann.key) == 2)
            #expect(try await store.endSessions(of: ann.key) == 0)
            #expect(try await store.sessions(of: ann.key).isEmpty)
            #expect(try await store.session(tokenHash: [3]) != nil, "somebody else's goes on")
            #expect(try await store.invitation(tokenHash: [4]) == nil)
            #expect(try await store.invitation(tokenHash: [5]) != nil)
            try await store.setPassword(of: bob.key, to: "new", keeping: nil)
            #expect(try await store.invitation(tokenHash: [5]) == nil, "a new password ends it too")
        }
    }

    @Test(arguments: Engine.allCases)
    func `a role changes from the seen one; one operator stays`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application)
            let ann = try await store.create(try NewPerson.sample("ann@a.example"))
            _ = try await store.begin(.sample(ann, 1))
            let sender = try SignOn.Role(.sender, .application(app.key, of: app.tenantKey))
            let root = try SignOn.Role(.operator, .everything)
            await #expect(throws: ann.isLastOperator) { try await store.setRole(of: ann, to: sender) }
            await #expect(throws: ann.isLastOperator) {
                try await store.setDisabled(true, ann.key, keepsOperator: true, endsIssued: true)
            }
            #expect(try await store.person(ann.key)?.disabledAt == nil)
            #expect(try await store.setRole(of: ann, to: root) == store.person(ann.key), "the same role takes nothing")

            let bob = try await store.create(try NewPerson.sample("bob@a.example"))
            try await store.setDisabled(true, bob.key)
            await #expect(throws: ann.isLastOperator) { try await store.setRole(of: ann, to: sender) }
            #expect(try await store.setRole(of: bob, to: sender).role == sender, "they cannot log in anyway")
            let carl = try await store.create(try NewPerson.sample("carl@a.example"))

            try await store.create(
                try NewInvitation.sample(
                    7, "ann@a.example", person: ann.key, until: fixture.clock.now + .seconds(60)))
            let changed = try await store.setRole(of: ann, to: sender)
            #expect(changed.role == sender && changed.email == ann.email)
            #expect(try await store.person(ann.key) == changed)
            #expect(try await store.session(tokenHash: [1])?.person == changed)
            #expect(try await store.invitation(tokenHash: [7]) == nil, "it was for the password of an operator")
            await #expect(throws: ann.roleHasChanged) { try await store.setRole(of: ann, to: root) }
            #expect(try await store.person(ann.key) == changed)
            await #expect(throws: carl.isLastOperator) { try await store.setRole(of: carl, to: sender) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a narrower role ends keys and links beyond it`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app, end) = (fixture.store, fixture.application, fixture.clock.now + .seconds(60))
            let (tenant, place) = (
                AdminKey.Bounds.tenant(app.tenantKey), AdminKey.Bounds.application(app.key, of: app.tenantKey)
            )
            _ = try await store.create(try NewPerson.sample("root@a.example"))
            let ann = try await store.create(try NewPerson.sample("ann@a.example"))
            for (id, scope, bounds) in [
                ("all", AdminKey.Scope.operator, .everything), ("tenant", .tenantAdmin, tenant),
                ("app", .appAdmin, place), ("sender", .sender, place),
            ] {
                _ = try await store.create(
                    try NewAdminKey(
                        id: id, name: Name("a key"), scope: scope, bounds: bounds, secretHash: [1], author: ann.key))
                try await store.create(
                    try NewInvitation(
                        tokenHash: Array(id.utf8), email: EmailAddress("\(id)@a.example"), scope: scope, bounds: bounds,
                        expiresAt: end, author: ann.key))
            }
            func living() async throws -> [String] {
                var living: [String] = []
                for id in ["all", "tenant", "app", "sender"] {
                    let hasLink = try await store.invitation(tokenHash: Array(id.utf8)) != nil
                    guard try await store.adminKey(id)?.revokedAt == nil else {
                        #expect(!hasLink, "\(id)")
                        continue
                    }
                    #expect(hasLink, "\(id)")
                    living.append(id)
                }
                return living
            }
            let admin = try await store.setRole(of: ann, to: SignOn.Role(.tenantAdmin, tenant))
            #expect(try await living() == ["tenant", "app", "sender"])
            // What somebody does who was let in before is refused now.
            func lateKey(_ scope: AdminKey.Scope, _ bounds: AdminKey.Bounds) throws -> NewAdminKey {
                try NewAdminKey(
                    id: "late", name: Name("a key"), scope: scope, bounds: bounds, secretHash: [1], author: ann.key)
            }
            await #expect(throws: admin.roleHasChanged) { try await store.create(try lateKey(.operator, .everything)) }
            _ = try await store.setRole(of: admin, to: SignOn.Role(.sender, place))
            #expect(try await living() == ["sender"])
            try await store.setDisabled(true, ann.key)
            await #expect(throws: admin.isShutOut) { try await store.create(try lateKey(.sender, place)) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a role elsewhere ends the ways in from before`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application)
            let place = AdminKey.Bounds.application(app.key, of: app.tenantKey)
            let bob = try await store.create(
                try NewPerson(
                    email: EmailAddress("bob@a.example"), name: Name("Bob"), scope: .readOnly, bounds: place,
                    passwordHash: "hash"))
            _ = try await store.begin(.sample(bob, 1))
            let sender = try await store.setRole(of: bob, to: SignOn.Role(.sender, place))
            #expect(sender.hasPassword)
            #expect(try await store.session(tokenHash: [1])?.person == sender)
            let root = try await store.setRole(of: sender, to: SignOn.Role(.operator, .everything))
            #expect(!root.hasPassword)
            #expect(try await store.person(bob.key) == root)
            #expect(try await store.session(tokenHash: [1]) == nil)
            // A link that somebody with fewer rights was making for the old role.
            await #expect(throws: root.roleHasChanged) {
                try await store.create(
                    try NewInvitation.sample(
                        2, "bob@a.example", person: bob.key, .sender, place, until: fixture.clock.now + .seconds(60)))
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `two operators demoting each other leave one`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, tenant) = (fixture.store, fixture.application.tenantKey)
            let reader = try SignOn.Role(.readOnly, .tenant(tenant))
            let people = [
                try await store.create(try NewPerson.sample("ann@a.example")),
                try await store.create(try NewPerson.sample("bob@a.example")),
            ]
            let taken = await withTaskGroup(of: Bool.self) { group in
                for person in people {
                    group.addTask { (try? await store.setRole(of: person, to: reader)) != nil }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(taken == 1)
            let left = try await store.people(within: .everything, after: nil, limit: 10)
            #expect(left.count { $0.scope == .operator } == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a person's sessions are bounded and the oldest go`(engine: Engine) async throws {
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
    func `a second factor is sealed, and each code works once`(
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
            let table = try #require(try await store.copiedTables().first { $0.name == "recovery_code" })
            let last = try #require(try await store.lastKey(of: table))
            #expect(try await store.rows(of: table, after: last, limit: 9).isEmpty)

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
    func
        `a person from an issuer is found, linked or created`(
            engine: Engine
        ) async throws
    {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application)
            func signOn(
                _ subject: String, _ email: String?, _ role: SignOn.Role? = nil, issuer: String = "https://a.example"
            ) throws -> SignOn {
                SignOn(
                    identity: PersonIdentity(issuer: issuer, subject: subject),
                    email: try email.map { try EmailAddress($0) }, name: "A person", role: role)
            }
            for email in [nil, "a@a.example"] {
                await #expect(throws: SignOnRefusal.noAccount) { try await store.signOn(try signOn("1", email)) }
            }
            let role = try SignOn.Role(.appAdmin, .application(app.key, of: app.tenantKey))
            let created = try await store.signOn(try signOn("1", "a@a.example", role))
            #expect(!created.hasPassword && created.role == role)
            #expect(try await store.person(created.key) == created)
            #expect(try await store.person(PersonIdentity(issuer: "https://a.example", subject: "1")) == created)
            #expect(try await store.person(PersonIdentity(issuer: "https://b.example", subject: "1")) == nil)
            // The same subject is the same person, whatever the address is; the role is the one that was given last.
            let higher = try SignOn.Role(.operator, .everything)
            let again = try await store.signOn(try signOn("1", "b@a.example", higher))
            #expect(again.key == created.key && again.email == created.email && again.role == higher)
            #expect(try await store.signOn(try signOn("1", nil)).role == higher)
            #expect(try await store.signOn(try signOn("1", nil, role)).role == higher, "it is the last operator")
            await #expect(throws: SignOnRefusal.otherIdentity) {
                try await store.signOn(try signOn("2", "a@a.example", role))
            }
            #expect(try await store.person(created.key)?.role == higher)
            let elsewhere = try signOn("2", "a@a.example", issuer: "https://b.example")
            #expect(try await store.signOn(elsewhere).key == created.key)

            let old = try await store.create(try NewPerson.sample("old@a.example"))
            let linked = try await store.signOn(try signOn("3", "OLD@a.example"))
            #expect(linked == old.knownByIssuer && linked.role == old.role, "the role stays, the password does not")
            #expect(try await store.person(old.key) == linked)
            #expect(try await store.signOn(try signOn("1", nil, role)).role == role, "another operator is there")

            let end = fixture.clock.now + .seconds(60)
            for number: UInt8 in [1, 2] {
                try await store.create(try NewInvitation.sample(number, "new\(number)@a.example", until: end))
            }
            #expect(try await store.signOn(try signOn("4", "new1@a.example")).scope == .operator)
            #expect(try await store.invitation(tokenHash: [1]) == nil)
            fixture.clock.advance(by: .seconds(60))
            await #expect(throws: SignOnRefusal.noAccount) {
                try await store.signOn(try signOn("5", "new2@a.example"))
            }
        }
    }

    /// Somebody may make an account with the e-mail address of another, and wait.
    @Test(arguments: Engine.allCases)
    func `the author of an account does not share issuer rights`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app, now) = (fixture.store, fixture.application, fixture.clock.now)
            let role = try SignOn.Role(.sender, .application(app.key, of: app.tenantKey))
            func signOn(_ email: String, _ role: SignOn.Role?, issuer: String = "https://a.example") throws -> SignOn {
                SignOn(
                    identity: PersonIdentity(issuer: issuer, subject: email), email: try EmailAddress(email), name: "A",
                    role: role)
            }
            let email = "boss@a.example"
            _ = try await store.create(try NewPerson.sample("root@a.example"))
            let made = try await store.create(
                try NewPerson(
                    email: EmailAddress(email), name: Name("x"), scope: role.scope, bounds: role.bounds,
                    passwordHash: "p"))
            func wayIn(_ number: UInt8) async throws {
                try await store.setPassword(of: made.key, to: "p", keeping: nil)
                try await store.setTwoFactor(
                    of: made.key, to: Sealed(bytes: [1]), lastStep: 1, recoveryCodeHashes: [[1]])
                _ = try await store.begin(
                    NewDashboardSession(person: made.key, tokenHash: [number], address: nil, agent: ""))
                try await store.create(
                    try NewInvitation.sample(
                        number, email, person: made.key, role.scope, role.bounds, until: now + .seconds(60)))
            }
            func isOpen(_ number: UInt8) async throws -> Bool {
                let person = try await store.person(made.key)
                let (session, link) = (
                    try await store.session(tokenHash: [number]), try await store.invitation(tokenHash: [number])
                )
                return person?.hasPassword == true || person?.hasTwoFactor == true || session != nil || link != nil
            }
            try await wayIn(1)
            let wider = try SignOn.Role(.operator, .everything)
            #expect(try await store.signOn(try signOn(email, wider)).role == wider)
            #expect(try await !isOpen(1))
            await #expect(throws: StoreError.self, "a second factor whose password has ended") {
                try await store.setTwoFactor(of: made.key, to: Sealed(bytes: [1]), lastStep: 1, recoveryCodeHashes: [])
            }
            // The same where the issuer raises somebody whom it knows; a role that is no wider ends nothing.
            #expect(try await store.signOn(try signOn(email, role)).role == role)
            try await wayIn(2)
            #expect(try await store.signOn(try signOn(email, role)).role == role)
            #expect(try await isOpen(2))
            #expect(try await store.signOn(try signOn(email, wider)).role == wider)
            #expect(try await !isOpen(2))
            // An issuer whose rules reach one application takes no account of a wider one.
            await #expect(throws: SignOnRefusal.widerAccount) {
                try await store.signOn(try signOn(email, role, issuer: "https://b.example"))
            }
            #expect(try await store.person(made.key)?.role == wider)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an invitation works once, timely, without address only initially`(
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
            #expect(try await store.invitation(tokenHash: [2]) == nil, "nobody is the first any more")
            // One for somebody who is there sets their password alone.
            try await store.create(
                try NewInvitation.sample(3, "a@a.example", person: person.key, until: now + .seconds(60)))
            let reset = try #require(try await store.invitation(tokenHash: [3]))
            _ = try await store.accept(reset.key, as: try NewPerson.sample("a@a.example", hash: "other"))
            #expect(try await store.person(person.key)?.passwordHash == "other")
            await #expect(throws: StoreError.conflict("there is a person with the e-mail address a@a.example")) {
                try await store.create(try NewInvitation.sample(6, "a@a.example", until: now + .seconds(60)))
            }
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

    @Test(arguments: Engine.allCases)
    func `joining voids earlier links, and a link may be withdrawn`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, now) = (fixture.store, fixture.clock.now)
            let tenant = fixture.application.tenantKey
            let bounds = AdminKey.Bounds.application(fixture.application.key, of: tenant)
            try await store.create(
                try NewInvitation.sample(1, "a@a.example", .sender, bounds, until: now + .seconds(60)))
            try await store.create(try NewInvitation.sample(2, "b@a.example", until: now + .seconds(60)))
            let old = try #require(try await store.invitation(tokenHash: [1]))
            _ = try await store.create(try NewPerson.sample("a@a.example"))
            await #expect(throws: StoreError.self) {
                try await store.accept(old.key, as: try NewPerson.sample("a@a.example", hash: "taken over"))
            }
            #expect(try await store.person(try EmailAddress("a@a.example"))?.passwordHash == "hash")

            try await store.create(
                try NewInvitation.sample(3, "c@a.example", .sender, bounds, until: now + .seconds(60)))
            #expect(
                try await store.invitations(within: .everything, before: nil, limit: 10).map(\.email?.text) == [
                    "c@a.example", "b@a.example",
                ])
            for inner in [bounds, .tenant(tenant)] {
                #expect(
                    try await store.invitations(within: inner, before: nil, limit: 10).map(\.email?.text) == [
                        "c@a.example"
                    ])
            }
            let open = try #require(try await store.invitation(tokenHash: [3]))
            #expect(try await store.withdraw(open.key))
            #expect(try await store.withdraw(open.key) == false)
            #expect(try await store.invitation(tokenHash: [3]) == nil)

            await #expect(throws: Invitation.madeByOthers(try EmailAddress("b@a.example"))) {
                try await store.create(
                    try NewInvitation.sample(4, "b@a.example", .sender, bounds, until: now + .seconds(60)))
            }
            let person = try #require(try await store.person(try EmailAddress("a@a.example")))
            try await store.create(
                try NewInvitation.sample(5, "a@a.example", person: person.key, until: now + .seconds(60)))
            try await store.setDisabled(true, person.key)
            #expect(try await store.invitation(tokenHash: [5]) == nil, "who is shut out uses no link")
            await #expect(throws: person.isShutOut) {
                try await store.create(
                    try NewInvitation.sample(6, "a@a.example", person: person.key, until: now + .seconds(60)))
            }
            fixture.clock.advance(by: .seconds(61))
            #expect(try await store.invitations(within: .everything, before: nil, limit: 10).isEmpty)
        }
    }
}

extension Store {
    fileprivate func setDisabled(_ isDisabled: Bool, _ person: Key<Person>) async throws {
        try await setDisabled(isDisabled, person, keepsOperator: false, endsIssued: true)
    }
}

extension NewPerson {
    static func sample(
        _ email: String, _ scope: AdminKey.Scope = .operator, _ bounds: AdminKey.Bounds = .everything,
        hash: String = "hash"
    ) throws -> NewPerson {
        try NewPerson(
            email: EmailAddress(email), name: Name("A person"), scope: scope, bounds: bounds, passwordHash: hash)
    }
}

extension NewDashboardSession {
    static func sample(_ person: Person, _ number: UInt8) -> NewDashboardSession {
        NewDashboardSession(person: person.key, tokenHash: [number], address: "192.0.2.1", agent: "a browser")
    }
}

extension NewInvitation {
    static func sample(
        _ number: UInt8, _ email: String?, person: Key<Person>? = nil, _ scope: AdminKey.Scope = .operator,
        _ bounds: AdminKey.Bounds = .everything, until end: Instant
    ) throws -> NewInvitation {
        try NewInvitation(
            tokenHash: [number], email: email.map { try EmailAddress($0) }, person: person, scope: scope,
            bounds: bounds, expiresAt: end)
    }
}
