extension Store {
    /// Begins a session, and notes the login. A person with `DashboardSession.perPersonMax` sessions loses the oldest.
    ///
    /// Throws `StoreError.conflict` where the person was disabled, or the password changed, since it was looked at.
    package func begin(_ new: NewDashboardSession) async throws -> DashboardSession {
        try await write { write in
            let now = write.now
            guard try write.prepared(PersonStatements.noteLogin).run(now, new.person, new.passwordHash) > 0 else {
                throw StoreError.conflict("the password was changed, or the person shut out, meanwhile: log in again")
            }
            let key = try write.insert(
                SessionStatements.insert, new.person, new.tokenHash, now, new.address, new.agent)
            try write.prepared(SessionStatements.endOldest).send(new.person, DashboardSession.perPersonMax)
            return DashboardSession(
                key: Key(key), person: new.person, createdAt: now, lastSeenAt: now, address: new.address,
                agent: new.agent)
        }
    }

    /// The session of a token and its person, unless they are disabled.
    package func session(tokenHash: [UInt8]) async throws -> (session: DashboardSession, person: Person)? {
        try await read { db in
            let session = try db.prepared(SessionStatements.byToken).first(tokenHash, as: DashboardSession.init)
            guard let session else { return nil }
            let person = try db.prepared(PersonStatements.byKey).first(session.person, as: Person.init)
            guard let person, person.disabledAt == nil else { return nil }
            return (session, person)
        }
    }

    /// The newest first.
    package func sessions(of person: Key<Person>) async throws -> [DashboardSession] {
        try await read { db in
            try db.prepared(SessionStatements.ofPerson).all(person, as: DashboardSession.init)
        }
    }

    package func noteUse(of session: Key<DashboardSession>) async throws {
        try await write { try $0.prepared(SessionStatements.noteUse).send($0.now, session) }
    }

    /// Ends all sessions of the person, and deletes links for a new password of theirs. Returns the number of the sessions.
    package func endSessions(of person: Key<Person>) async throws -> Int {
        try await write { write in
            let count = try write.prepared(SessionStatements.endOthers).run(person, Key<DashboardSession>(0))
            try write.prepared(InvitationStatements.deleteOfPersonsPassword).send(person)
            return count
        }
    }

    /// Returns false if the person has no such session.
    package func end(_ session: Key<DashboardSession>, of person: Key<Person>) async throws -> Bool {
        try await write { try $0.prepared(SessionStatements.end).run(session, person) > 0 }
    }

    /// Stores the invitation in place of earlier ones for the same e-mail address, and deletes those that expired.
    ///
    /// Throws `StoreError.conflict` when it is for a new person and the address belongs to a person already, or an open
    /// invitation for it has wider bounds; when it is for a disabled person; and beyond `RowLimit.invitations`.
    package func create(_ new: NewInvitation) async throws {
        try await write { write in
            try write.checkMayIssue(new.scope, new.bounds, new.author)
            if let person = new.person {
                let person = try write.letIn(person)
                // A link that was made for a narrower role must not open a wider one.
                guard person.scope == new.scope, person.bounds == new.bounds else { throw person.roleHasChanged }
            } else if let email = new.email {
                try write.checkIsFree(email)
                let open = try write.prepared(InvitationStatements.openOf).all(
                    email.text, write.now, as: Invitation.init)
                guard open.allSatisfy({ new.bounds.contains($0.bounds) }) else { throw Invitation.madeByOthers(email) }
            }
            try write.prepared(InvitationStatements.deleteEarlier).send(write.now, new.email?.text)
            if let tenant = new.bounds.tenant {
                try write.checkRoom(
                    .invitations, InvitationStatements.countOfTenant, tenant, RowLimit.invitations.most)
            }
            _ = try write.prepared(InvitationStatements.insert).run(
                new.tokenHash, new.email?.text, new.person, new.scope.rawValue, new.bounds.tenant,
                new.bounds.application, new.expiresAt, new.author)
        }
    }

    /// The usable invitations within these bounds, the newest first, before `before`.
    package func invitations(
        within bounds: AdminKey.Bounds, before: Key<Invitation>?, limit: Int
    ) async throws -> [Invitation] {
        let (now, before) = (clock.now, before ?? Key(.max))
        return try await read { db in
            switch bounds {
            case .everything:
                try db.prepared(InvitationStatements.newest).all(now, before, limit, as: Invitation.init)
            case .tenant(let tenant):
                try db.prepared(InvitationStatements.ofTenant).all(now, before, limit, tenant, as: Invitation.init)
            case .application(let application, _):
                try db.prepared(InvitationStatements.ofApplication)
                    .all(now, before, limit, application, as: Invitation.init)
            }
        }
    }

    /// The usable invitations for an address.
    package func invitations(of email: EmailAddress) async throws -> [Invitation] {
        let now = clock.now
        return try await read { db in
            try db.prepared(InvitationStatements.openOf).all(email.text, now, as: Invitation.init)
        }
    }

    /// nil when it was used or withdrawn, or has expired.
    package func invitation(_ key: Key<Invitation>) async throws -> Invitation? {
        let now = clock.now
        return try await read { db in
            try db.prepared(InvitationStatements.byKey).first(key, now, as: Invitation.init)
        }
    }

    /// Returns false if there is no such invitation any more.
    package func withdraw(_ invitation: Key<Invitation>) async throws -> Bool {
        try await write { try $0.prepared(InvitationStatements.withdraw).run(invitation) > 0 }
    }

    package func invitation(tokenHash: [UInt8]) async throws -> Invitation? {
        try await read { db in
            try db.prepared(InvitationStatements.byToken).first(tokenHash, as: Invitation.init)
        }
    }

    /// Uses the invitation up: creates the person, or sets the new password of the invitation's person.
    ///
    /// A new person makes void all links for their address, and those for the first operator. Throws
    /// `StoreError.unknown` when the invitation was used, withdrawn or made void, or has expired.
    package func accept(_ invitation: Key<Invitation>, as new: NewPerson) async throws -> Person {
        try await write { write in
            let used = try write.prepared(InvitationStatements.use).first(invitation, write.now) { row in
                row.integerIfAny(0).map { Key<Person>($0) }
            }
            guard let used else { throw StoreError.unknown("invitation that may be used") }
            guard let person = used else { return try write.insert(new) }
            try write.change(PersonStatements.setPassword, new.passwordHash, person, of: "person \(person)")
            try write.prepared(SessionStatements.endOthers).send(person, Key<DashboardSession>(0))
            return try write.held(person)
        }
    }
}

extension DashboardSession {
    fileprivate init(_ row: some SQLRow) {
        self.init(
            key: Key(row.integer(0)), person: Key(row.integer(1)), createdAt: Instant(milliseconds: row.integer(2)),
            lastSeenAt: Instant(milliseconds: row.integer(3)), address: row.textIfAny(4), agent: row.text(5))
    }
}

extension Invitation {
    fileprivate init(_ row: some SQLRow) throws {
        guard let scope = AdminKey.Scope(rawValue: row.text(3)) else {
            throw StoreError.damaged("invitation \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), email: row.textIfAny(1).map(EmailAddress.init(stored:)),
            person: row.integerIfAny(2).map { Key($0) }, scope: scope,
            bounds: AdminKey.Bounds(
                tenant: row.integerIfAny(4).map { Key($0) }, application: row.integerIfAny(5).map { Key($0) }),
            expiresAt: Instant(milliseconds: row.integer(6)))
    }
}

enum SessionStatements {
    static let insert: SQLText = """
        INSERT INTO dashboard_session /* sessions.insert */ (
            person_id, token_hash, created_at_ms, last_seen_at_ms, address, agent)
        VALUES ($1, $2, $3, $3, $4, $5)
        RETURNING id
        """

    /// Scans `dashboard_session_person`.
    static let endOldest: SQLText = """
        DELETE FROM dashboard_session /* sessions.end_oldest */
         WHERE person_id = $1 AND id NOT IN (
                SELECT id FROM dashboard_session WHERE person_id = $1 ORDER BY id DESC LIMIT $2)
        """

    static let byToken: SQLText = """
        SELECT id, person_id, created_at_ms, last_seen_at_ms, address, agent /* sessions.by_token */
          FROM dashboard_session
         WHERE token_hash = $1
        """

    /// Scans `dashboard_session_person` backwards.
    static let ofPerson: SQLText = """
        SELECT id, person_id, created_at_ms, last_seen_at_ms, address, agent /* sessions.of_person */
          FROM dashboard_session
         WHERE person_id = $1
         ORDER BY id DESC
        """

    static let noteUse: SQLText = """
        UPDATE dashboard_session /* sessions.note_use */ SET last_seen_at_ms = $1 WHERE id = $2
        """

    static let end: SQLText = "DELETE FROM dashboard_session /* sessions.end */ WHERE id = $1 AND person_id = $2"

    static let endOthers: SQLText = """
        DELETE FROM dashboard_session /* sessions.end_others */ WHERE person_id = $1 AND id <> $2
        """
}

enum InvitationStatements {
    static let insert: SQLText = """
        INSERT INTO invitation /* invitations.insert */ (
            token_hash, email, person_id, scope, tenant_id, application_id, expires_at_ms, author_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """

    static let deleteEarlier: SQLText = """
        DELETE FROM invitation /* invitations.delete_earlier */ WHERE expires_at_ms <= $1 OR email = $2
        """

    /// Deletes the links that have served once a person exists: those of the e-mail address, and the first operator's.
    static let deleteOfPerson: SQLText = """
        DELETE FROM invitation /* invitations.delete_of_person */ WHERE email = $1 OR email IS NULL
        """

    static let byToken = select("by_token", where: "token_hash = $1")
    static let byKey = select("by_key", where: "id = $1 AND expires_at_ms > $2")
    /// Scans the primary key backwards; links last three days.
    static let newest = select("newest", where: "expires_at_ms > $1 AND id < $2 ORDER BY id DESC LIMIT $3")
    /// Scans `invitation_tenant` backwards.
    static let ofTenant = select(
        "of_tenant", where: "tenant_id = $4 AND expires_at_ms > $1 AND id < $2 ORDER BY id DESC LIMIT $3")
    /// Scans `invitation_application` backwards.
    static let ofApplication = select(
        "of_application", where: "application_id = $4 AND expires_at_ms > $1 AND id < $2 ORDER BY id DESC LIMIT $3")

    private static func select(_ name: String, where condition: String) -> SQLText {
        """
        SELECT id, email, person_id, scope, tenant_id, application_id, expires_at_ms /* invitations.\(name) */
          FROM invitation
         WHERE \(condition)
        """
    }

    /// Scans `invitation_tenant`. Those that expired were deleted before.
    static let countOfTenant: SQLText = """
        SELECT count(*) /* invitations.count_of_tenant */
          FROM (SELECT 1 FROM invitation WHERE tenant_id = $1 LIMIT $2) AS found
        """

    /// Scans `invitation_author`.
    static let ofAuthor: SQLText = """
        SELECT id, scope, tenant_id, application_id /* invitations.of_author */ FROM invitation WHERE author_id = $1
        """

    /// Scans `invitation_author`.
    static let deleteOfAuthor: SQLText = """
        DELETE FROM invitation /* invitations.delete_of_author */ WHERE author_id = $1
        """

    /// Scans `invitation_author`.
    static let countOfAuthor: SQLText = """
        SELECT count(*) /* invitations.count_of_author */ FROM invitation WHERE author_id = $1 AND expires_at_ms > $2
        """

    /// Deletes the links to a tenant or an application that is deleted.
    static let deleteOfBounds: SQLText = """
        DELETE FROM invitation /* invitations.delete_of_bounds */ WHERE tenant_id = $1 OR application_id = $2
        """

    /// Scans `invitation_email`.
    static let openOf = select("open_of", where: "email = $1 AND expires_at_ms > $2")

    /// The links with which a person sets a new password.
    static let deleteOfPersonsPassword: SQLText = """
        DELETE FROM invitation /* invitations.delete_of_persons_password */ WHERE person_id = $1
        """

    static let setEmail: SQLText = """
        UPDATE invitation /* invitations.set_email */ SET email = $1 WHERE person_id = $2
        """

    static let withdraw: SQLText = "DELETE FROM invitation /* invitations.withdraw */ WHERE id = $1"

    static let useOfEmail: SQLText = """
        DELETE FROM invitation /* invitations.use_of_email */ WHERE email = $1 AND expires_at_ms > $2
        RETURNING scope, tenant_id, application_id
        """

    static let use: SQLText = """
        DELETE FROM invitation /* invitations.use */ WHERE id = $1 AND expires_at_ms > $2 RETURNING person_id
        """
}
