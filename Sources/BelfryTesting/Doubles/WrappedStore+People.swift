package import BelfryService

extension WrappedStore {
    package func create(_ person: NewPerson) async throws -> Person { try await base.create(person) }
    package func person(_ key: Key<Person>) async throws -> Person? { try await base.person(key) }
    package func person(_ email: EmailAddress) async throws -> Person? { try await base.person(email) }
    package func people(within bounds: AdminKey.Bounds, after: Key<Person>?, limit: Int) async throws -> [Person] {
        try await base.people(within: bounds, after: after, limit: limit)
    }
    package func setPassword(
        of person: Key<Person>, to hash: String, keeping session: Key<DashboardSession>?
    ) async throws {
        try await base.setPassword(of: person, to: hash, keeping: session)
    }
    package func setDisabled(
        _ isDisabled: Bool, _ person: Key<Person>, keepsOperator: Bool, endsIssued: Bool
    ) async throws {
        try await base.setDisabled(isDisabled, person, keepsOperator: keepsOperator, endsIssued: endsIssued)
    }
    package func issued(by person: Key<Person>) async throws -> Person.Issued { try await base.issued(by: person) }
    package func setRole(of person: Person, to role: SignOn.Role) async throws -> Person {
        try await base.setRole(of: person, to: role)
    }
    package func twoFactor(of person: Key<Person>) async throws -> TwoFactor? {
        try await base.twoFactor(of: person)
    }
    package func setTwoFactor(
        of person: Key<Person>, to secret: Sealed, lastStep: Int64, recoveryCodeHashes: [[UInt8]]
    ) async throws {
        try await base.setTwoFactor(
            of: person, to: secret, lastStep: lastStep, recoveryCodeHashes: recoveryCodeHashes)
    }
    package func removeTwoFactor(of person: Key<Person>) async throws { try await base.removeTwoFactor(of: person) }
    package func takeCode(ofStep step: Int64, of person: Key<Person>) async throws -> Bool {
        try await base.takeCode(ofStep: step, of: person)
    }
    package func takeRecoveryCode(_ hash: [UInt8], of person: Key<Person>) async throws -> Bool {
        try await base.takeRecoveryCode(hash, of: person)
    }
    package func person(_ identity: PersonIdentity) async throws -> Person? { try await base.person(identity) }
    package func signOn(_ signOn: SignOn) async throws -> Person { try await base.signOn(signOn) }
    package func begin(_ session: NewDashboardSession) async throws -> DashboardSession {
        try await base.begin(session)
    }
    package func session(tokenHash: [UInt8]) async throws -> (session: DashboardSession, person: Person)? {
        try await base.session(tokenHash: tokenHash)
    }
    package func sessions(of person: Key<Person>) async throws -> [DashboardSession] {
        try await base.sessions(of: person)
    }
    package func noteUse(of session: Key<DashboardSession>) async throws { try await base.noteUse(of: session) }
    package func endSessions(of person: Key<Person>) async throws -> Int {
        try await base.endSessions(of: person)
    }
    package func end(_ session: Key<DashboardSession>, of person: Key<Person>) async throws -> Bool {
        try await base.end(session, of: person)
    }
    package func create(_ invitation: NewInvitation) async throws { try await base.create(invitation) }
    package func invitations(
        within bounds: AdminKey.Bounds, before: Key<Invitation>?, limit: Int
    ) async throws -> [Invitation] {
        try await base.invitations(within: bounds, before: before, limit: limit)
    }
    package func invitations(of email: EmailAddress) async throws -> [Invitation] {
        try await base.invitations(of: email)
    }
    package func invitation(_ key: Key<Invitation>) async throws -> Invitation? { try await base.invitation(key) }
    package func withdraw(_ invitation: Key<Invitation>) async throws -> Bool { try await base.withdraw(invitation) }
    package func invitation(tokenHash: [UInt8]) async throws -> Invitation? {
        try await base.invitation(tokenHash: tokenHash)
    }
    package func accept(_ invitation: Key<Invitation>, as person: NewPerson) async throws -> Person {
        try await base.accept(invitation, as: person)
    }
}
