extension SQLStore {
    package func create(_ new: NewPerson) async throws -> Person {
        try await write { try $0.insert(new) }
    }

    package func person(_ key: Key<Person>) async throws -> Person? {
        try await read { db in try db.prepared(PersonStatements.byKey).first(key, as: Person.init) }
    }

    package func person(_ email: EmailAddress) async throws -> Person? {
        try await read { db in try db.prepared(PersonStatements.byEmail).first(email.text, as: Person.init) }
    }

    package func people(within bounds: AdminKey.Bounds, after: Key<Person>?, limit: Int) async throws -> [Person] {
        try await read { [damagedRows] db in
            try DamagedRows.slice(of: limit, after: after ?? Key(0)) { after, limit in
                try db.people(within: bounds, after: after, limit: limit, damagedRows)
            }
        }
    }

    package func setPassword(
        of person: Key<Person>, to hash: String, keeping session: Key<DashboardSession>?
    ) async throws {
        try await write { write in
            try write.change(PersonStatements.setPassword, hash, person, of: "person \(person)")
            try write.prepared(SessionStatements.endOthers).send(person, session ?? Key(0))
        }
    }

    package func setDisabled(
        _ isDisabled: Bool, _ person: Key<Person>, keepsOperator: Bool, endsIssued: Bool
    ) async throws {
        try await write { write in
            if isDisabled, keepsOperator, try write.operators() == [person],
                let last = try write.prepared(PersonStatements.byKey).first(person, as: Person.init)
            {
                throw last.isLastOperator
            }
            let since: Instant? = isDisabled ? write.now : nil
            try write.change(PersonStatements.setDisabled, since, person, of: "person \(person)")
            guard isDisabled else { return }
            try write.prepared(SessionStatements.endOthers).send(person, Key<DashboardSession>(0))
            try write.prepared(InvitationStatements.deleteOfPersonsPassword).send(person)
            guard endsIssued else { return }
            try write.prepared(InvitationStatements.deleteOfAuthor).send(person)
            try write.prepared(AdminKeyStatements.revokeOfAuthor).send(write.now, person)
        }
    }
}

extension SQLStore {
    package func issued(by person: Key<Person>) async throws -> Person.Issued {
        let now = clock.now
        return try await read { db in
            Person.Issued(
                keys: Int(try db.prepared(AdminKeyStatements.countOfAuthor).first(person) { $0.integer(0) } ?? 0),
                links: Int(
                    try db.prepared(InvitationStatements.countOfAuthor).first(person, now) { $0.integer(0) } ?? 0))
        }
    }

    package func setRole(of person: Person, to role: SignOn.Role) async throws -> Person {
        try await write { write in
            let operators = try write.operators()
            guard let stored = try write.prepared(PersonStatements.byKey).first(person.key, as: Person.init) else {
                throw StoreError.unknown("person \(person.key)")
            }
            guard stored.role == person.role else { throw person.roleHasChanged }
            guard role.scope == .operator || operators != [person.key] else { throw person.isLastOperator }
            try write.prepared(InvitationStatements.deleteOfPersonsPassword).send(person.key)
            guard stored.bounds.contains(role.bounds) else {
                try write.endOtherWaysIn(of: stored)
                return try write.give(role, to: stored.knownByIssuer)
            }
            return try write.give(role, to: stored)
        }
    }
}

extension WriteSession {
    /// Operators who may log in. Locks them in one order: two operators cannot take the role from each other at the same moment.
    fileprivate func operators() throws -> [Key<Person>] {
        try prepared(PersonStatements.operators).all { Key<Person>($0.integer(0)) }
    }
}

// MARK: - Two factors

extension SQLStore {
    package func twoFactor(of person: Key<Person>) async throws -> TwoFactor? {
        try await read { db in
            try db.prepared(PersonStatements.twoFactor).first(person) { row in
                TwoFactor(
                    secret: Sealed(bytes: row.blob(0)), lastStep: row.integer(1), recoveryCodeCount: Int(row.integer(2))
                )
            }
        }
    }

    package func setTwoFactor(
        of person: Key<Person>, to secret: Sealed, lastStep: Int64, recoveryCodeHashes: [[UInt8]]
    ) async throws {
        try await write { write in
            try write.change(
                PersonStatements.setTwoFactor, secret.bytes, lastStep, person, of: "person \(person)")
            try write.prepared(PersonStatements.deleteRecoveryCodes).send(person)
            for hash in recoveryCodeHashes {
                try write.prepared(PersonStatements.insertRecoveryCode).send(person, hash)
            }
        }
    }

    package func removeTwoFactor(of person: Key<Person>) async throws {
        try await write { write in
            try write.change(PersonStatements.removeTwoFactor, person, of: "person \(person)")
            try write.prepared(PersonStatements.deleteRecoveryCodes).send(person)
        }
    }

    package func takeCode(ofStep step: Int64, of person: Key<Person>) async throws -> Bool {
        try await write { try $0.prepared(PersonStatements.takeCode).run(step, person) > 0 }
    }

    package func takeRecoveryCode(_ hash: [UInt8], of person: Key<Person>) async throws -> Bool {
        try await write { try $0.prepared(PersonStatements.takeRecoveryCode).run(person, hash) > 0 }
    }
}

extension WriteSession {
    func checkIsFree(_ email: EmailAddress) throws {
        guard try !prepared(PersonStatements.isTaken).hasRow(email.text) else {
            throw StoreError.conflict("there is a person with the e-mail address \(email.text)")
        }
    }

    func checkIsLetIn(_ key: Key<Person>) throws {
        guard let person = try prepared(PersonStatements.byKey).first(key, as: Person.init) else {
            throw StoreError.unknown("person \(key)")
        }
        guard person.disabledAt == nil else { throw person.isShutOut }
    }

    /// Throws where the author of a key or link got a narrower role since the request was let in.
    func checkMayIssue(_ scope: AdminKey.Scope, _ bounds: AdminKey.Bounds, _ author: Key<Person>?) throws {
        guard let author else { return }
        guard let person = try prepared(PersonStatements.byKey).first(author, as: Person.init) else {
            throw StoreError.unknown("person \(author)")
        }
        guard person.role?.covers(scope, bounds) == true else { throw person.roleHasChanged }
    }

    func insert(_ new: NewPerson) throws -> Person {
        try checkIsFree(new.email)
        if let tenant = new.bounds.tenant {
            try checkRoom(.people, PersonStatements.countOfTenant, tenant, RowLimit.people.most)
        }
        try prepared(InvitationStatements.deleteOfPerson).send(new.email.text)
        let key = try insert(
            PersonStatements.insert, new.email.text, new.name, new.scope.rawValue, new.bounds.tenant,
            new.bounds.application, new.passwordHash, now)
        return Person(
            key: Key(key), email: new.email, name: new.name, scope: new.scope, bounds: new.bounds,
            passwordHash: new.passwordHash, createdAt: now, lastLoginAt: nil, disabledAt: nil)
    }
}

extension SQLConnection {
    fileprivate func people(
        within bounds: AdminKey.Bounds, after: Key<Person>, limit: Int, _ damaged: DamagedRows
    ) throws -> [(position: Key<Person>, value: Person?)] {
        func person(_ row: some SQLRow) throws -> (position: Key<Person>, value: Person?) {
            let key = Key<Person>(row.integer(0))
            return (key, try damaged.readable("person \(key)") { try Person(row) })
        }
        return switch bounds {
        case .everything: try prepared(PersonStatements.all).all(after, limit, as: person)
        case .tenant(let tenant): try prepared(PersonStatements.ofTenant).all(after, limit, tenant, as: person)
        case .application(let application, _):
            try prepared(PersonStatements.ofApplication).all(after, limit, application, as: person)
        }
    }
}

extension Person {
    /// From the columns of `PersonStatements.all` and its like.
    init(_ row: some SQLRow) throws {
        guard let scope = AdminKey.Scope(rawValue: row.text(3)) else {
            throw StoreError.damaged("person \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), email: EmailAddress(stored: row.text(1)), name: row.text(2), scope: scope,
            bounds: AdminKey.Bounds(
                tenant: row.integerIfAny(4).map { Key($0) }, application: row.integerIfAny(5).map { Key($0) }),
            passwordHash: row.text(6), createdAt: Instant(milliseconds: row.integer(7)),
            lastLoginAt: row.instantIfAny(8), disabledAt: row.instantIfAny(9),
            hasTwoFactor: row.bool(10))
    }
}

enum PersonStatements {
    static let insert: SQLText = """
        INSERT INTO person /* people.insert */ (
            email, name, scope, tenant_id, application_id, password_hash, created_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        RETURNING id
        """

    static let isTaken: SQLText = "SELECT 1 /* people.is_taken */ FROM person WHERE email = $1"

    static let byKey: SQLText = """
        SELECT id, email, name, scope, tenant_id, application_id, password_hash, created_at_ms, last_login_at_ms,
               disabled_at_ms, two_factor_secret IS NOT NULL /* people.by_key */
          FROM person
         WHERE id = $1
        """

    static let byEmail: SQLText = """
        SELECT id, email, name, scope, tenant_id, application_id, password_hash, created_at_ms, last_login_at_ms,
               disabled_at_ms, two_factor_secret IS NOT NULL /* people.by_email */
          FROM person
         WHERE email = $1
        """

    static let all: SQLText = """
        SELECT id, email, name, scope, tenant_id, application_id, password_hash, created_at_ms, last_login_at_ms,
               disabled_at_ms, two_factor_secret IS NOT NULL /* people.all */
          FROM person
         WHERE id > $1
         ORDER BY id
         LIMIT $2
        """

    /// Scans `person_tenant`.
    static let ofTenant: SQLText = """
        SELECT id, email, name, scope, tenant_id, application_id, password_hash, created_at_ms, last_login_at_ms,
               disabled_at_ms, two_factor_secret IS NOT NULL /* people.of_tenant */
          FROM person
         WHERE id > $1 AND tenant_id = $3
         ORDER BY id
         LIMIT $2
        """

    /// Scans `person_application`.
    static let ofApplication: SQLText = """
        SELECT id, email, name, scope, tenant_id, application_id, password_hash, created_at_ms, last_login_at_ms,
               disabled_at_ms, two_factor_secret IS NOT NULL /* people.of_application */
          FROM person
         WHERE id > $1 AND application_id = $3
         ORDER BY id
         LIMIT $2
        """

    /// Scans `person_tenant`.
    static let countOfTenant: SQLText = """
        SELECT count(*) /* people.count_of_tenant */
          FROM (SELECT 1 FROM person WHERE tenant_id = $1 LIMIT $2) AS found
        """

    static let setPassword: SQLText = """
        UPDATE person /* people.set_password */ SET password_hash = $1 WHERE id = $2
        """

    static let setDisabled: SQLText = """
        UPDATE person /* people.set_disabled */ SET disabled_at_ms = $1 WHERE id = $2
        """

    /// Operators who may log in. Walks all people: this is done by hand, now and then.
    static let operators: SQLText = """
        SELECT id /* people.operators */ FROM person
         WHERE scope = 'operator' AND disabled_at_ms IS NULL
         ORDER BY id \(SQLText.forUpdate)
        """

    static let setRole: SQLText = """
        UPDATE person /* people.set_role */ SET scope = $1, tenant_id = $2, application_id = $3 WHERE id = $4
        """

    static let disableOfTenant: SQLText = """
        UPDATE person /* people.disable_of_tenant */ SET disabled_at_ms = $1
         WHERE tenant_id = $2 AND disabled_at_ms IS NULL
        """

    static let disableOfApplication: SQLText = """
        UPDATE person /* people.disable_of_application */ SET disabled_at_ms = $1
         WHERE application_id = $2 AND disabled_at_ms IS NULL
        """

    static let twoFactor: SQLText = """
        SELECT two_factor_secret, two_factor_step,
               (SELECT count(*) FROM recovery_code WHERE person_id = $1) /* people.two_factor */
          FROM person
         WHERE id = $1 AND two_factor_secret IS NOT NULL
        """

    static let setTwoFactor: SQLText = """
        UPDATE person /* people.set_two_factor */ SET two_factor_secret = $1, two_factor_step = $2 WHERE id = $3
        """

    static let removeTwoFactor: SQLText = """
        UPDATE person /* people.remove_two_factor */ SET two_factor_secret = NULL, two_factor_step = NULL WHERE id = $1
        """

    static let takeCode: SQLText = """
        UPDATE person /* people.take_code */ SET two_factor_step = $1 WHERE id = $2 AND two_factor_step < $1
        """

    static let insertRecoveryCode: SQLText = """
        INSERT INTO recovery_code /* people.insert_recovery_code */ (person_id, code_hash) VALUES ($1, $2)
        """

    static let deleteRecoveryCodes: SQLText = """
        DELETE FROM recovery_code /* people.delete_recovery_codes */ WHERE person_id = $1
        """

    static let takeRecoveryCode: SQLText = """
        DELETE FROM recovery_code /* people.take_recovery_code */ WHERE person_id = $1 AND code_hash = $2
        """

    static let noteLogin: SQLText = "UPDATE person /* people.note_login */ SET last_login_at_ms = $1 WHERE id = $2"
}
