extension Store {
    /// The person of an identity.
    package func person(_ identity: PersonIdentity) async throws -> Person? {
        try await read { db in
            try db.prepared(IdentityStatements.person).first(identity.issuer, identity.subject, as: Person.init)
        }
    }

    /// The person of the identity, with the given role. A person with the e-mail address and no identity of the issuer is linked
    /// to this one; without such a person, one without a password is created, with the given role or that of an invitation.
    ///
    /// The last operator who may log in keeps that role. Throws `SignOnRefusal.noAccount` and `.otherIdentity`.
    package func signOn(_ signOn: SignOn) async throws -> Person {
        let identity = signOn.identity
        return try await writeChange { write in
            let known = try write.prepared(IdentityStatements.person)
                .first(identity.issuer, identity.subject, as: Person.init)
            if let known { return try write.raise(known, to: signOn.role) }
            guard let email = signOn.email else { throw SignOnRefusal.noAccount }
            let person: Person
            if let old = try write.prepared(PersonStatements.byEmail).first(email.text, as: Person.init) {
                guard try !write.prepared(IdentityStatements.isTaken).hasRow(old.key, identity.issuer) else {
                    throw SignOnRefusal.otherIdentity
                }
                guard signOn.role?.bounds.contains(old.bounds) != false else { throw SignOnRefusal.widerAccount }
                try write.endOtherWaysIn(of: old)
                person = try write.give(signOn.role, to: old.knownByIssuer)
            } else {
                person = try write.create(signOn, email)
            }
            try write.prepared(IdentityStatements.insert).send(identity.issuer, identity.subject, person.key)
            return person
        }
    }
}

extension WriteSession {
    func give(_ role: SignOn.Role?, to person: Person) throws -> Person {
        guard let role, role != person.role else { return person }
        // A key that the person is making at this moment is found below, or is refused.
        _ = try held(person.key)
        try endIssued(by: person.key, beyond: role)
        try change(
            PersonStatements.setRole, role.scope.rawValue, role.bounds.tenant, role.bounds.application, person.key,
            of: "person \(person.key)")
        return Person(
            key: person.key, email: person.email, name: person.name, scope: role.scope, bounds: role.bounds,
            passwordHash: person.passwordHash, createdAt: person.createdAt, lastLoginAt: person.lastLoginAt,
            disabledAt: person.disabledAt, hasTwoFactor: person.hasTwoFactor,
            timeZone: person.timeZone)
    }

    /// Revokes the admin keys and deletes the links of a person that allow more than the person's new role.
    private func endIssued(by person: Key<Person>, beyond role: SignOn.Role) throws {
        for id in try prepared(AdminKeyStatements.livingOfAuthor).all(person, as: role.beyond).compactMap(\.self) {
            try prepared(AdminKeyStatements.revoke).send(now, id)
        }
        for id in try prepared(InvitationStatements.ofAuthor).all(person, as: role.beyond).compactMap(\.self) {
            try prepared(InvitationStatements.withdraw).send(id)
        }
    }

    /// Gives a known person the role of an issuer. A wider role than before needs a login by the issuer: a password that a person with
    /// fewer rights set, or made a link for, does not open it.
    fileprivate func raise(_ person: Person, to role: SignOn.Role?) throws -> Person {
        if let role, role.scope != .operator, person.scope == .operator, try operators() == [person.key] {
            throw Unchanged(person)
        }
        guard let role, let old = person.role, role.isWider(than: old) else { return try give(role, to: person) }
        try endOtherWaysIn(of: person)
        return try give(role, to: person.knownByIssuer)
    }

    /// Ends the password, the second factor, the sessions and the links of a person who gets a role elsewhere, or whom an issuer vouches
    /// for from now on: the account may have been made by another person with that e-mail address.
    func endOtherWaysIn(of person: Person) throws {
        try change(PersonStatements.setPassword, "", person.key, of: "person \(person.key)")
        try change(PersonStatements.removeTwoFactor, person.key, of: "person \(person.key)")
        try prepared(PersonStatements.deleteRecoveryCodes).send(person.key)
        try prepared(SessionStatements.endOthers).send(person.key, Key<DashboardSession>(0))
        try prepared(InvitationStatements.deleteOfPersonsPassword).send(person.key)
    }

    /// A person without a password, of the role that was given, or else of their invitation.
    fileprivate func create(_ signOn: SignOn, _ email: EmailAddress) throws -> Person {
        let invited = try prepared(InvitationStatements.useOfEmail).first(email.text, now) { row in
            guard let scope = AdminKey.Scope(rawValue: row.text(0)) else {
                throw StoreError.damaged("invitation of \(email.text)")
            }
            return try SignOn.Role(
                scope,
                AdminKey.Bounds(
                    tenant: row.integerIfAny(1).map { Key($0) }, application: row.integerIfAny(2).map { Key($0) }))
        }
        guard let role = signOn.role ?? invited else { throw SignOnRefusal.noAccount }
        return try insert(
            try NewPerson(
                email: email, name: Name(signOn.name), scope: role.scope, bounds: role.bounds, passwordHash: ""))
    }
}

extension SignOn.Role {
    /// The id of a key or link that allows more. Columns: id, scope, tenant_id, application_id.
    fileprivate func beyond(_ row: some SQLRow) -> Int64? {
        let bounds = AdminKey.Bounds(
            tenant: row.integerIfAny(2).map { Key($0) }, application: row.integerIfAny(3).map { Key($0) })
        guard let scope = AdminKey.Scope(rawValue: row.text(1)), covers(scope, bounds) else { return row.integer(0) }
        return nil
    }
}

enum IdentityStatements {
    static let person: SQLText = """
        SELECT id, email, name, scope, tenant_id, application_id, password_hash, created_at_ms, last_login_at_ms,
               disabled_at_ms, two_factor_secret IS NOT NULL, time_zone /* identities.person */
          FROM person
         WHERE id = (SELECT person_id FROM person_identity WHERE issuer = $1 AND subject = $2)
        """

    /// Scans `person_identity_person`.
    static let isTaken: SQLText = """
        SELECT 1 /* identities.is_taken */ FROM person_identity WHERE person_id = $1 AND issuer = $2
        """

    static let insert: SQLText = """
        INSERT INTO person_identity /* identities.insert */ (issuer, subject, person_id) VALUES ($1, $2, $3)
        """
}
