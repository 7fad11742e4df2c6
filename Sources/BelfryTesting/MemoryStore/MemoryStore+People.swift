package import BelfryService

extension MemoryStore {
    package func create(_ new: NewPerson) async throws -> Person {
        let now = clock.now
        return try transaction { try $0.insert(new, at: now) }
    }

    package func person(_ key: Key<Person>) async throws -> Person? { contents.people.people[key] }

    package func person(_ email: EmailAddress) async throws -> Person? {
        contents.people.people.values.first { $0.email == email }
    }

    package func people(within bounds: AdminKey.Bounds, after: Key<Person>?, limit: Int) async throws -> [Person] {
        let found = contents.people.people.values.filter { person in
            person.bounds.isWithin(bounds) && (after.map { person.key > $0 } ?? true)
        }
        return Array(found.sorted { $0.key < $1.key }.prefix(limit))
    }

    package func setPassword(
        of person: Key<Person>, to hash: String, keeping session: Key<DashboardSession>?
    ) async throws {
        try transaction { contents in
            guard let old = contents.people.people[person] else { throw StoreError.unknown("person \(person)") }
            contents.people.people[person] = old.with(hash: hash)
            contents.people.endSessions(of: person, except: session)
        }
    }

    package func setDisabled(
        _ isDisabled: Bool, _ person: Key<Person>, keepsOperator: Bool, endsIssued: Bool
    ) async throws {
        let now = clock.now
        try transaction { contents in
            guard let old = contents.people.people[person] else { throw StoreError.unknown("person \(person)") }
            guard !isDisabled || !keepsOperator || contents.people.operators != [person] else {
                throw old.isLastOperator
            }
            contents.people.people[person] = old.with(disabled: .some(isDisabled ? now : nil))
            guard isDisabled else { return }
            contents.people.endSessions(of: person, except: nil)
            contents.people.invitations = contents.people.invitations.filter {
                $0.value.person != person && !(endsIssued && contents.people.authors[$0.key] == person)
            }
            if endsIssued { contents.revokeKeys(at: now, of: person) }
        }
    }

    package func issued(by person: Key<Person>) async throws -> Person.Issued {
        let (now, contents) = (clock.now, contents)
        return Person.Issued(
            keys: contents.adminKeys.values.count { $0.author == person && $0.revokedAt == nil },
            links: contents.people.invitations.count {
                contents.people.authors[$0.key] == person && $0.value.expiresAt > now
            })
    }

    package func setRole(of person: Person, to role: SignOn.Role) async throws -> Person {
        let now = clock.now
        return try transaction { contents in
            guard let stored = contents.people.people[person.key] else {
                throw StoreError.unknown("person \(person.key)")
            }
            guard stored.role == person.role else { throw person.roleHasChanged }
            guard role.scope == .operator || contents.people.operators != [person.key] else {
                throw person.isLastOperator
            }
            contents.people.invitations = contents.people.invitations.filter { $0.value.person != person.key }
            guard stored.bounds.contains(role.bounds) else {
                return contents.give(role, to: contents.endOtherWaysIn(of: stored), at: now)
            }
            return contents.give(role, to: stored, at: now)
        }
    }

    package func twoFactor(of person: Key<Person>) async throws -> TwoFactor? {
        contents.people.twoFactors[person]?.shown
    }

    package func setTwoFactor(
        of person: Key<Person>, to secret: Sealed, lastStep: Int64, recoveryCodeHashes: [[UInt8]]
    ) async throws {
        try transaction { contents in
            guard let old = contents.people.people[person] else { throw StoreError.unknown("person \(person)") }
            contents.people.twoFactors[person] = PeopleTables.TwoFactorRow(
                secret: secret, lastStep: lastStep, recoveryCodes: Set(recoveryCodeHashes))
            contents.people.people[person] = old.with(twoFactor: true)
        }
    }

    package func removeTwoFactor(of person: Key<Person>) async throws {
        try transaction { contents in
            guard let old = contents.people.people[person] else { throw StoreError.unknown("person \(person)") }
            contents.people.twoFactors[person] = nil
            contents.people.people[person] = old.with(twoFactor: false)
        }
    }

    package func takeCode(ofStep step: Int64, of person: Key<Person>) async throws -> Bool {
        transaction { contents in
            guard let row = contents.people.twoFactors[person], row.lastStep < step else { return false }
            contents.people.twoFactors[person]?.lastStep = step
            return true
        }
    }

    package func takeRecoveryCode(_ hash: [UInt8], of person: Key<Person>) async throws -> Bool {
        transaction { $0.people.twoFactors[person]?.recoveryCodes.remove(hash) != nil }
    }

    package func person(_ identity: PersonIdentity) async throws -> Person? {
        contents.people.identities[identity].flatMap { contents.people.people[$0] }
    }

    package func signOn(_ signOn: SignOn) async throws -> Person {
        let now = clock.now
        return try transaction { contents in
            if let key = contents.people.identities[signOn.identity], let known = contents.people.people[key] {
                guard let role = signOn.role, let old = known.role, role.isWider(than: old) else {
                    return contents.give(signOn.role, to: known, at: now)
                }
                return contents.give(role, to: contents.endOtherWaysIn(of: known), at: now)
            }
            guard let email = signOn.email else { throw SignOnRefusal.noAccount }
            let invited = contents.people.invitations.first { $0.value.email == email && $0.value.expiresAt > now }
            let old = contents.people.people.values.first { $0.email == email }
            let person: Person
            if let old {
                let isTaken = contents.people.identities.contains {
                    $0.value == old.key && $0.key.issuer == signOn.identity.issuer
                }
                guard !isTaken else { throw SignOnRefusal.otherIdentity }
                guard signOn.role?.bounds.contains(old.bounds) != false else { throw SignOnRefusal.widerAccount }
                person = contents.give(signOn.role, to: contents.endOtherWaysIn(of: old), at: now)
            } else {
                let role = try signOn.role ?? invited.map { try SignOn.Role($0.value.scope, $0.value.bounds) }
                guard let role else { throw SignOnRefusal.noAccount }
                person = try contents.insert(
                    try NewPerson(
                        email: email, name: Name(signOn.name), scope: role.scope, bounds: role.bounds, passwordHash: ""),
                    at: now)
                if let invited { contents.people.invitations[invited.key] = nil }
            }
            contents.people.identities[signOn.identity] = person.key
            return person
        }
    }

    package func begin(_ new: NewDashboardSession) async throws -> DashboardSession {
        let now = clock.now
        return try transaction { contents in
            guard let old = contents.people.people[new.person] else { throw StoreError.unknown("person") }
            let session = DashboardSession(
                key: contents.nextKey(), person: new.person, createdAt: now, lastSeenAt: now, address: new.address,
                agent: new.agent)
            contents.people.people[new.person] = old.with(login: now)
            contents.people.sessions[new.tokenHash] = session
            let own = contents.people.sessions.values.filter { $0.person == new.person }.map(\.key).sorted().reversed()
            let ended = Set(own.dropFirst(DashboardSession.perPersonMax))
            contents.people.sessions = contents.people.sessions.filter { !ended.contains($0.value.key) }
            return session
        }
    }

    package func session(tokenHash: [UInt8]) async throws -> (session: DashboardSession, person: Person)? {
        let people = contents.people
        guard let session = people.sessions[tokenHash], let person = people.people[session.person],
            person.disabledAt == nil
        else { return nil }
        return (session, person)
    }

    package func sessions(of person: Key<Person>) async throws -> [DashboardSession] {
        contents.people.sessions.values.filter { $0.person == person }.sorted { $0.key > $1.key }
    }

    package func noteUse(of session: Key<DashboardSession>) async throws {
        let now = clock.now
        transaction { contents in
            guard let (hash, old) = contents.people.sessions.first(where: { $0.value.key == session }) else { return }
            contents.people.sessions[hash] = DashboardSession(
                key: old.key, person: old.person, createdAt: old.createdAt, lastSeenAt: now, address: old.address,
                agent: old.agent)
        }
    }

    package func endSessions(of person: Key<Person>) async throws -> Int {
        transaction { contents in
            let count = contents.people.sessions.count
            contents.people.endSessions(of: person, except: nil)
            contents.people.invitations = contents.people.invitations.filter { $0.value.person != person }
            return count - contents.people.sessions.count
        }
    }

    package func end(_ session: Key<DashboardSession>, of person: Key<Person>) async throws -> Bool {
        transaction { contents in
            let count = contents.people.sessions.count
            contents.people.sessions = contents.people.sessions.filter {
                $0.value.key != session || $0.value.person != person
            }
            return contents.people.sessions.count < count
        }
    }

    package func create(_ new: NewInvitation) async throws {
        let now = clock.now
        try transaction { contents in
            try contents.checkMayIssue(new.scope, new.bounds, new.author)
            if let key = new.person {
                guard let person = contents.people.people[key] else { throw StoreError.unknown("person \(key)") }
                guard person.disabledAt == nil else { throw person.isShutOut }
            } else if let email = new.email {
                try contents.checkIsFree(email)
                let open = contents.people.invitations.values.filter { $0.email == email && $0.expiresAt > now }
                guard open.allSatisfy({ new.bounds.contains($0.bounds) }) else { throw Invitation.madeByOthers(email) }
            }
            contents.people.invitations = contents.people.invitations.filter { _, old in
                old.expiresAt > now && (old.email == nil || old.email != new.email)
            }
            if let tenant = new.bounds.tenant {
                try RowLimit.invitations.check(
                    contents.people.invitations.values.count { $0.bounds.tenant == tenant })
            }
            contents.people.authors[new.tokenHash] = new.author
            contents.people.invitations[new.tokenHash] = Invitation(
                key: contents.nextKey(), email: new.email, person: new.person, scope: new.scope, bounds: new.bounds,
                expiresAt: new.expiresAt)
        }
    }

    package func invitations(
        within bounds: AdminKey.Bounds, before: Key<Invitation>?, limit: Int
    ) async throws -> [Invitation] {
        let found = contents.people.invitations.values.filter { link in
            link.expiresAt > clock.now && bounds.contains(link.bounds) && (before.map { link.key < $0 } ?? true)
        }
        return Array(found.sorted { $0.key > $1.key }.prefix(limit))
    }

    package func invitations(of email: EmailAddress) async throws -> [Invitation] {
        contents.people.invitations.values.filter { $0.email == email && $0.expiresAt > clock.now }
    }

    package func invitation(_ key: Key<Invitation>) async throws -> Invitation? {
        contents.people.invitations.values.first { $0.key == key && $0.expiresAt > clock.now }
    }

    package func withdraw(_ invitation: Key<Invitation>) async throws -> Bool {
        transaction { contents in
            let found = contents.people.invitations.first { $0.value.key == invitation }
            if let found { contents.people.invitations[found.key] = nil }
            return found != nil
        }
    }

    package func invitation(tokenHash: [UInt8]) async throws -> Invitation? { contents.people.invitations[tokenHash] }

    package func accept(_ invitation: Key<Invitation>, as new: NewPerson) async throws -> Person {
        let now = clock.now
        return try transaction { contents in
            let found = contents.people.invitations.first { $0.value.key == invitation && $0.value.expiresAt > now }
            guard let found else { throw StoreError.unknown("invitation that may be used") }
            contents.people.invitations[found.key] = nil
            guard let person = found.value.person else { return try contents.insert(new, at: now) }
            guard let old = contents.people.people[person] else { throw StoreError.unknown("person \(person)") }
            contents.people.people[old.key] = old.with(hash: new.passwordHash)
            contents.people.endSessions(of: old.key, except: nil)
            return old
        }
    }
}

/// The people of the dashboard, their sessions and invitations by the hash of their token.
package struct PeopleTables: Sendable {
    var people: [Key<Person>: Person] = [:]
    var sessions: [[UInt8]: DashboardSession] = [:]
    var invitations: [[UInt8]: Invitation] = [:]
    /// The person who made an invitation, by the hash of its token.
    var authors: [[UInt8]: Key<Person>] = [:]
    var twoFactors: [Key<Person>: TwoFactorRow] = [:]
    var identities: [PersonIdentity: Key<Person>] = [:]

    struct TwoFactorRow: Sendable {
        var secret: Sealed
        var lastStep: Int64
        var recoveryCodes: Set<[UInt8]>

        var shown: TwoFactor {
            TwoFactor(secret: secret, lastStep: lastStep, recoveryCodeCount: recoveryCodes.count)
        }
    }

    mutating func endSessions(of person: Key<Person>, except kept: Key<DashboardSession>?) {
        sessions = sessions.filter { $0.value.person != person || $0.value.key == kept }
    }
}

extension Contents {
    fileprivate func checkIsFree(_ email: EmailAddress) throws {
        guard !people.people.values.contains(where: { $0.email == email }) else {
            throw StoreError.conflict("there is a person with the e-mail address \(email.text)")
        }
    }

    fileprivate mutating func insert(_ new: NewPerson, at now: Instant) throws -> Person {
        try checkIsFree(new.email)
        if let tenant = new.bounds.tenant {
            try RowLimit.people.check(people.people.values.count { $0.bounds.tenant == tenant })
        }
        people.invitations = people.invitations.filter { _, old in old.email != nil && old.email != new.email }
        let person = Person(
            key: nextKey(), email: new.email, name: new.name, scope: new.scope, bounds: new.bounds,
            passwordHash: new.passwordHash, createdAt: now, lastLoginAt: nil, disabledAt: nil)
        people.people[person.key] = person
        return person
    }

    func checkMayIssue(_ scope: AdminKey.Scope, _ bounds: AdminKey.Bounds, _ author: Key<Person>?) throws {
        guard let author else { return }
        guard let person = people.people[author] else { throw StoreError.unknown("person \(author)") }
        guard person.role?.covers(scope, bounds) == true else { throw person.roleHasChanged }
    }

    fileprivate mutating func give(_ role: SignOn.Role?, to person: Person, at now: Instant) -> Person {
        guard let role, role != person.role else { return person }
        revokeKeys(at: now, of: person.key, beyond: role)
        let authors = people.authors
        people.invitations = people.invitations.filter {
            authors[$0.key] != person.key || role.covers($0.value.scope, $0.value.bounds)
        }
        let changed = person.with(role: role)
        people.people[person.key] = changed
        return changed
    }

    fileprivate mutating func endOtherWaysIn(of person: Person) -> Person {
        people.people[person.key] = person.knownByIssuer
        people.twoFactors[person.key] = nil
        people.endSessions(of: person.key, except: nil)
        people.invitations = people.invitations.filter { $0.value.person != person.key }
        return person.knownByIssuer
    }

    mutating func disablePeople(at now: Instant, where isMeant: (AdminKey.Bounds) -> Bool) {
        for (key, old) in people.people where isMeant(old.bounds) && old.disabledAt == nil {
            people.people[key] = old.with(disabled: .some(now))
        }
    }
}

extension Person {
    fileprivate func with(
        hash: String? = nil, login: Instant? = nil, disabled: Instant?? = nil, twoFactor: Bool? = nil,
        role: SignOn.Role? = nil
    ) -> Person {
        Person(
            key: key, email: email, name: name, scope: role?.scope ?? scope, bounds: role?.bounds ?? bounds,
            passwordHash: hash ?? passwordHash,
            createdAt: createdAt, lastLoginAt: login ?? lastLoginAt, disabledAt: disabled ?? disabledAt,
            hasTwoFactor: twoFactor ?? hasTwoFactor)
    }
}

extension PeopleTables {
    /// The operators who may log in.
    fileprivate var operators: [Key<Person>] {
        people.values.filter { $0.scope == .operator && $0.disabledAt == nil }.map(\.key)
    }
}
