extension Store {
    /// Throws `StoreError.conflict` when someone has the e-mail address.
    package func create(_ new: NewPerson) async throws -> Person {
        try await write { try $0.insert(new) }
    }

    package func person(_ key: Key<Person>) async throws -> Person? {
        try await read { db in try db.prepared(PersonStatements.byKey).first(key, as: Person.init) }
    }

    package func person(_ email: EmailAddress) async throws -> Person? {
        try await read { db in try db.prepared(PersonStatements.byEmail).first(email.text, as: Person.init) }
    }

    /// People within these bounds, in the order they were created, after `after`.
    package func people(within bounds: AdminKey.Bounds, after: Key<Person>?, limit: Int) async throws -> [Person] {
        try await read { [damagedRows] db in
            try DamagedRows.slice(of: limit, after: after ?? Key(0)) { after, limit in
                try db.people(within: bounds, after: after, limit: limit, damagedRows)
            }
        }
    }

    package func setName(of person: Key<Person>, to name: Name) async throws {
        try await write { write in
            try write.change(PersonStatements.setName, name.text, person, of: "person \(person)")
        }
    }

    /// Gives a person another e-mail address, also in links for a new password. Throws `StoreError.conflict`, which does not name it, when
    /// another person has it or is invited by it.
    package func setEmail(of person: Key<Person>, to email: EmailAddress) async throws {
        try await write { write in
            guard try !write.prepared(PersonStatements.isTaken).hasRow(email.text),
                try !write.prepared(InvitationStatements.openOf).hasRow(email.text, write.now)
            else { throw StoreError.conflict("this address cannot be used: choose another") }
            try write.change(PersonStatements.setEmail, email.text, person, of: "person \(person)")
            try write.prepared(InvitationStatements.setEmail).send(email.text, person)
        }
    }

    /// Replaces the password, ends all sessions but one, and deletes links for a new password. Throws `StoreError.conflict` where that one
    /// has ended: a change that was under way does not open the account again.
    package func setPassword(
        of person: Key<Person>, to hash: String, keeping session: Key<DashboardSession>?
    ) async throws {
        try await write { write in
            try write.change(PersonStatements.setPassword, hash, person, of: "person \(person)")
            if let session, try write.prepared(SessionStatements.noteUse).run(write.now, session) == 0 {
                throw StoreError.conflict("this login has ended meanwhile: log in again")
            }
            try write.prepared(SessionStatements.endOthers).send(person, session ?? Key(0))
            try write.prepared(InvitationStatements.deleteOfPersonsPassword).send(person)
        }
    }

    /// - Parameter zone: nil for the browser's.
    package func setTimeZone(of person: Key<Person>, to zone: ZoneInfo?) async throws {
        try await write { try $0.change(PersonStatements.setTimeZone, zone?.name, person, of: "person \(person)") }
    }

    /// Disables or enables the person; disabling ends their sessions.
    ///
    /// - Parameters:
    ///   - keepsOperator: whether `StoreError.conflict` is thrown instead where no operator could log in any more.
    ///   - endsIssued: whether disabling deletes the links that the person made, and revokes the admin keys that they or one of
    ///     those keys made.
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

    /// Counts the keys and links that `setDisabled` ends with `endsIssued`.
    package func issued(by person: Key<Person>) async throws -> Person.Issued {
        let now = clock.now
        return try await read { db in
            Person.Issued(
                keys: Int(try db.prepared(AdminKeyStatements.countOfAuthor).first(person) { $0.integer(0) } ?? 0),
                links: Int(
                    try db.prepared(InvitationStatements.countOfAuthor).first(person, now) { $0.integer(0) } ?? 0))
        }
    }

    /// Gives the person another role, which their sessions have from now on.
    ///
    /// Links for a new password of the person are deleted: their makers may not have been allowed to make them for the new role. Keys
    /// and links that the person made end where they allow more than the new role. Where the role lies outside the old bounds, the
    /// password, the second factor and the sessions end too: people with fewer rights could have set them.
    ///
    /// Throws `StoreError.conflict` when the role is no longer that of `person`, and when no operator who may log in would be left.
    package func setRole(of person: Person, to role: SignOn.Role) async throws -> Person {
        try await write { write in
            let operators = try write.operators()
            let stored = try write.held(person.key)
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

    // MARK: Two factors

    /// nil when the password alone is enough.
    package func twoFactor(of person: Key<Person>) async throws -> TwoFactor? {
        try await read { db in
            try db.prepared(PersonStatements.twoFactor).first(person) { row in
                TwoFactor(
                    secret: Sealed(bytes: row.blob(0)), lastStep: row.integer(1), recoveryCodeCount: Int(row.integer(2))
                )
            }
        }
    }

    /// Requires codes by this secret from now on, with these recovery codes in place of earlier ones.
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

    /// Removes the second factor: the password alone is enough again.
    package func removeTwoFactor(of person: Key<Person>) async throws {
        try await write { write in
            try write.change(PersonStatements.removeTwoFactor, person, of: "person \(person)")
            try write.prepared(PersonStatements.deleteRecoveryCodes).send(person)
        }
    }

    /// Accepts the code of a step. Returns false when that or a later one was accepted before.
    package func takeCode(ofStep step: Int64, of person: Key<Person>) async throws -> Bool {
        try await write { try $0.prepared(PersonStatements.takeCode).run(step, person) > 0 }
    }

    /// Uses a recovery code up. Returns false when the person has none of this hash.
    package func takeRecoveryCode(_ hash: [UInt8], of person: Key<Person>) async throws -> Bool {
        try await write { try $0.prepared(PersonStatements.takeRecoveryCode).run(person, hash) > 0 }
    }
}

extension WriteSession {
    /// Operators who may log in. Locks them in one order: two operators cannot take the role from each other at the same moment.
    func operators() throws -> [Key<Person>] {
        try prepared(PersonStatements.operators).all { Key<Person>($0.integer(0)) }
    }

    func checkIsFree(_ email: EmailAddress) throws {
        guard try !prepared(PersonStatements.isTaken).hasRow(email.text) else {
            throw StoreError.conflict("there is a person with the e-mail address \(email.text)")
        }
    }

    /// Throws where the author of a key or link was disabled, or got a narrower role, since the request was let in.
    func checkMayIssue(_ scope: AdminKey.Scope, _ bounds: AdminKey.Bounds, _ author: Key<Person>?) throws {
        guard let author else { return }
        let person = try letIn(author)
        guard person.role?.covers(scope, bounds) == true else { throw person.roleHasChanged }
    }

    /// The person, whose role and state stay until the end of the transaction. Throws where the person is disabled.
    func letIn(_ key: Key<Person>) throws -> Person {
        let person = try held(key)
        guard person.disabledAt == nil else { throw person.isShutOut }
        return person
    }

    func held(_ key: Key<Person>) throws -> Person {
        guard let person = try prepared(PersonStatements.held).first(key, as: Person.init) else {
            throw StoreError.unknown("person \(key)")
        }
        return person
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
            hasTwoFactor: row.bool(10), timeZone: row.textIfAny(11))
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

    static let byKey = select("by_key", where: "id = $1")
    static let held = select("held", where: "id = $1 \(SQLText.forNoKeyUpdate)")
    static let byEmail = select("by_email", where: "email = $1")
    static let all = select("all", where: "id > $1 ORDER BY id LIMIT $2")
    /// Scans `person_tenant`.
    static let ofTenant = select("of_tenant", where: "id > $1 AND tenant_id = $3 ORDER BY id LIMIT $2")
    /// Scans `person_application`.
    static let ofApplication = select("of_application", where: "id > $1 AND application_id = $3 ORDER BY id LIMIT $2")

    private static func select(_ name: String, where condition: SQLText) -> SQLText {
        """
        SELECT id, email, name, scope, tenant_id, application_id, password_hash, created_at_ms, last_login_at_ms,
               disabled_at_ms, two_factor_secret IS NOT NULL, time_zone /* people.\(name) */
          FROM person
         WHERE \(condition)
        """
    }

    /// Scans `person_tenant`.
    static let countOfTenant: SQLText = """
        SELECT count(*) /* people.count_of_tenant */
          FROM (SELECT 1 FROM person WHERE tenant_id = $1 LIMIT $2) AS found
        """

    static let setName: SQLText = """
        UPDATE person /* people.set_name */ SET name = $1 WHERE id = $2
        """

    static let setEmail: SQLText = """
        UPDATE person /* people.set_email */ SET email = $1 WHERE id = $2
        """

    static let setPassword: SQLText = """
        UPDATE person /* people.set_password */ SET password_hash = $1 WHERE id = $2
        """

    static let setTimeZone: SQLText = """
        UPDATE person /* people.set_time_zone */ SET time_zone = $1 WHERE id = $2
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

    /// Changes nothing where the password has ended since it was proved.
    static let setTwoFactor: SQLText = """
        UPDATE person /* people.set_two_factor */ SET two_factor_secret = $1, two_factor_step = $2
         WHERE id = $3 AND password_hash <> ''
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

    /// Changes nothing where the password was changed since it was looked at.
    static let noteLogin: SQLText = """
        UPDATE person /* people.note_login */ SET last_login_at_ms = $1
         WHERE id = $2 AND disabled_at_ms IS NULL AND password_hash = coalesce($3, password_hash)
        """
}

extension AdminService {
    /// Gives a person another role, which their open sessions have at once.
    ///
    /// - Parameter person: as the caller saw them; a different role by now is a `StoreError.conflict`, and so is demoting
    ///   the last operator.
    package func setRole(of person: Person, to role: SignOn.Role, by author: AuditAuthor) async throws -> Person {
        let change = AuditedChange(
            by: author, "person.set_role", person.email.text, of: Permission.Subject(role.bounds),
            ["scope": role.scope.rawValue, "scope_before": person.scope.rawValue])
        return try await store.audited(change) { try await store.setRole(of: person, to: role) }
    }

    /// Disables or enables a person.
    ///
    /// - Parameters:
    ///   - keepsOperator: see `Store.setDisabled`.
    ///   - endsIssued: see there too.
    package func setDisabled(
        _ isDisabled: Bool, _ person: Person, keepsOperator: Bool = true, endsIssued: Bool = true,
        by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(
            by: author, isDisabled ? "person.disable" : "person.enable", person,
            isDisabled ? ["links_and_keys": endsIssued ? "end" : "stay"] : [:])
        try await store.audited(change) {
            try await store.setDisabled(
                isDisabled, person.key, keepsOperator: keepsOperator, endsIssued: endsIssued)
        }
    }
}

/// The second factor of a person's login: an authenticator app that shares a secret with the server, and codes on paper in case its
/// phone is lost.
package struct TwoFactor: Sendable, Hashable {
    /// The secret that the app shares, sealed.
    package let secret: Sealed
    /// The step of the last code that was accepted: no code is accepted twice.
    package let lastStep: Int64
    /// The recovery codes that are left.
    package let recoveryCodeCount: Int
}

/// A code that is good for one login without the authenticator app.
package struct RecoveryCode: Sendable, Hashable {
    /// As it is shown: `abcde-fghjk`.
    package let text: String

    package static let count = 10
    private static let half = 5
    /// Without letters that look like digits. 10 of 32 are 50 bits.
    private static let alphabet = Array("abcdefghjkmnpqrstuvwxyz123456789")

    package static func random(using random: inout some RandomNumberGenerator) -> RecoveryCode {
        let letters = (0..<2 * half).compactMap { _ in alphabet.randomElement(using: &random) }
        return RecoveryCode(letters)
    }

    private init(_ letters: [Character]) {
        text = "\(String(letters.prefix(Self.half)))-\(String(letters.dropFirst(Self.half)))"
    }

    /// Reads a code that a person typed. Capitals, spaces and dashes do not matter. nil when it cannot be such a code.
    package init?(typed text: String) {
        guard text.utf8.count <= 64 else { return nil }
        let letters = text.lowercased().filter { $0 != "-" && $0 != " " }
        guard letters.count == 2 * Self.half, letters.allSatisfy(Self.alphabet.contains) else { return nil }
        self.init(Array(letters))
    }
}
