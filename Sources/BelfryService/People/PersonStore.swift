/// The people who use the dashboard, their sessions and their invitations. People are never deleted, so that the audit log stays
/// readable.
package protocol PersonStore: Sendable {
    /// Throws `StoreError.conflict` when someone has the e-mail address.
    func create(_ person: NewPerson) async throws -> Person
    func person(_ key: Key<Person>) async throws -> Person?
    func person(_ email: EmailAddress) async throws -> Person?
    /// People within these bounds, in the order they were created, after `after`.
    func people(within bounds: AdminKey.Bounds, after: Key<Person>?, limit: Int) async throws -> [Person]
    /// Replaces the password, and ends all sessions but one.
    func setPassword(of person: Key<Person>, to hash: String, keeping session: Key<DashboardSession>?) async throws
    /// nil when the password alone is enough.
    func twoFactor(of person: Key<Person>) async throws -> TwoFactor?
    /// Requires codes by this secret from now on, with these recovery codes in place of earlier ones.
    func setTwoFactor(
        of person: Key<Person>, to secret: Sealed, lastStep: Int64, recoveryCodeHashes: [[UInt8]]
    ) async throws
    /// Removes the second factor: the password alone is enough again.
    func removeTwoFactor(of person: Key<Person>) async throws
    /// Accepts the code of a step. Returns false when that or a later one was accepted before.
    func takeCode(ofStep step: Int64, of person: Key<Person>) async throws -> Bool
    /// Uses a recovery code up. Returns false when the person has none of this hash.
    func takeRecoveryCode(_ hash: [UInt8], of person: Key<Person>) async throws -> Bool
    /// Disables or enables the person; disabling ends their sessions.
    ///
    /// - Parameters:
    ///   - keepsOperator: whether `StoreError.conflict` is thrown instead where no operator could log in any more.
    ///   - endsIssued: whether disabling deletes the links that the person made, and revokes the admin keys that they or one of
    ///     those keys made.
    func setDisabled(
        _ isDisabled: Bool, _ person: Key<Person>, keepsOperator: Bool, endsIssued: Bool
    ) async throws
    /// Counts the keys and links that `setDisabled` ends with `endsIssued`.
    func issued(by person: Key<Person>) async throws -> Person.Issued
    /// Gives the person another role, which their sessions have from now on.
    ///
    /// Links for a new password of the person are deleted: their makers may not have been allowed to make them for the new role. Keys
    /// and links that the person made end where they allow more than the new role. Where the role lies outside the old bounds, the
    /// password, the second factor and the sessions end too: people with fewer rights could have set them.
    ///
    /// Throws `StoreError.conflict` when the role is no longer that of `person`, and when no operator who may log in would be left.
    func setRole(of person: Person, to role: SignOn.Role) async throws -> Person

    /// The person of an identity.
    func person(_ identity: PersonIdentity) async throws -> Person?
    /// The person of the identity, with the given role. A person with the e-mail address and no identity of the issuer is linked
    /// to this one; without such a person, one without a password is created, with the given role or that of an invitation.
    ///
    /// Throws `SignOnRefusal.noAccount` and `.otherIdentity`.
    func signOn(_ signOn: SignOn) async throws -> Person

    /// Begins a session, and notes the login. A person with `DashboardSession.perPersonMax` sessions loses the oldest.
    func begin(_ session: NewDashboardSession) async throws -> DashboardSession
    /// The session of a token and its person, unless they are disabled.
    func session(tokenHash: [UInt8]) async throws -> (session: DashboardSession, person: Person)?
    /// The newest first.
    func sessions(of person: Key<Person>) async throws -> [DashboardSession]
    func noteUse(of session: Key<DashboardSession>) async throws
    /// Ends all sessions of the person, and deletes links for a new password of theirs. Returns the number of the sessions.
    func endSessions(of person: Key<Person>) async throws -> Int
    /// Returns false if the person has no such session.
    func end(_ session: Key<DashboardSession>, of person: Key<Person>) async throws -> Bool

    /// Stores the invitation in place of earlier ones for the same e-mail address, and deletes those that expired.
    ///
    /// Throws `StoreError.conflict` when it is for a new person and the address belongs to a person already, or an open
    /// invitation for it has wider bounds; when it is for a disabled person; and beyond `RowLimit.invitations`.
    func create(_ invitation: NewInvitation) async throws
    /// The usable invitations within these bounds, the newest first, before `before`.
    func invitations(
        within bounds: AdminKey.Bounds, before: Key<Invitation>?, limit: Int
    ) async throws -> [Invitation]
    /// The usable invitations for an address.
    func invitations(of email: EmailAddress) async throws -> [Invitation]
    /// nil when it was used or withdrawn, or has expired.
    func invitation(_ key: Key<Invitation>) async throws -> Invitation?
    /// Returns false if there is no such invitation any more.
    func withdraw(_ invitation: Key<Invitation>) async throws -> Bool
    func invitation(tokenHash: [UInt8]) async throws -> Invitation?
    /// Uses the invitation up: creates the person, or sets the new password of the invitation's person.
    ///
    /// A new person makes void all links for their address, and those for the first operator. Throws
    /// `StoreError.unknown` when the invitation was used, withdrawn or made void, or has expired.
    func accept(_ invitation: Key<Invitation>, as person: NewPerson) async throws -> Person
}

/// Stores the texts that people have written in Compose and not sent yet; see `ComposeDraft`.
package protocol DraftStore: Sendable {
    /// Keeps a text in place of the earlier one. Beyond `ComposeDraft.perPersonMax` the person's oldest is deleted.
    func keepDraft(_ text: String, at place: ComposeDraft.Place) async throws
    /// The person's drafts of new pushes, the newest first.
    func drafts(of person: Key<Person>, in application: Key<Application>) async throws -> [ComposeDraft.Entry]
    /// nil where there is none, or it has expired.
    func draft(at place: ComposeDraft.Place) async throws -> ComposeDraft?
    /// Returns false when there is none.
    func deleteDraft(at place: ComposeDraft.Place) async throws -> Bool
}

/// Derives keys from passwords, slowly.
package protocol PasswordHashing: Sendable {
    /// The form that is stored: parameters, salt and key.
    func hash(_ password: Password, for caller: DerivationCaller) async throws -> String
    /// Compares in a time that does not depend on the password, nor on whether there is a hash.
    func matches(_ password: String, _ hash: String?, for caller: DerivationCaller) async throws -> Bool
}

/// Hashes no passwords; for services without any.
package struct NoPasswords: PasswordHashing {
    package init() {}

    package func hash(_ password: Password, for caller: DerivationCaller) async throws -> String {
        throw StoreError.unavailable("passwords are not taken here")
    }

    package func matches(_ password: String, _ hash: String?, for caller: DerivationCaller) async throws -> Bool {
        false
    }
}

extension PersonStore {
    package func setDisabled(_ isDisabled: Bool, _ person: Key<Person>) async throws {
        try await setDisabled(isDisabled, person, keepsOperator: false, endsIssued: true)
    }
}
