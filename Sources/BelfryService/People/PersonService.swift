/// People of the dashboard: creates and invites them, logs them in and out. Each change leaves its line in the audit log.
package struct PersonService: Sendable {
    package let store: any Store
    private let passwords: any PasswordHashing
    private let vault: any Vault
    /// SHA-256, of random tokens.
    private let hash: @Sendable (String) -> [UInt8]
    private let authentication: OneTimeCode.Authentication
    private let clock: any WallClock
    private let lifetime: SessionLifetime

    package init(
        store: any Store, passwords: any PasswordHashing, vault: any Vault,
        hash: @escaping @Sendable (String) -> [UInt8], authentication: @escaping OneTimeCode.Authentication,
        clock: any WallClock, lifetime: SessionLifetime = SessionLifetime()
    ) {
        self.store = store
        self.passwords = passwords
        self.vault = vault
        self.hash = hash
        self.authentication = authentication
        self.clock = clock
        self.lifetime = lifetime
    }

    /// A session with the person it is of.
    package struct Login: Sendable {
        package let token: String
        package let session: DashboardSession
        package let person: Person
    }

    // MARK: Logging in

    /// The person with this password. nil when the e-mail address or the password is wrong, or the person is disabled: callers are
    /// not told which. A person with a second factor is not logged in yet.
    package func person(email: String, password: String, for caller: DerivationCaller) async throws -> Person? {
        let known = try? EmailAddress(email)
        let person = if let known { try await store.person(known) } else { Person?.none }
        let isRight = try await isPassword(password, of: person, for: caller)
        guard let person, isRight, person.disabledAt == nil else { return nil }
        return person
    }

    /// Checks a password. A person without one takes as long as a wrong password.
    package func isPassword(
        _ password: String, of person: Person?, for caller: DerivationCaller
    ) async throws -> Bool {
        guard password.utf8.count <= Password.bytesMax else { return false }
        let hash = person.flatMap { $0.hasPassword ? $0.passwordHash : nil }
        return try await passwords.matches(password, hash, for: caller)
    }

    /// Begins a session with a token of its own, so that no token from before the login is worth anything.
    ///
    /// - Parameters:
    ///   - factor: the second factor that was proved.
    ///   - issuer: who vouches for the person, in place of a password.
    package func begin(
        _ person: Person, factor: Factor? = nil, issuer: String? = nil, address: String?, agent: String
    ) async throws -> Login {
        let token = [UInt8].random(count: 32).hex
        let new = NewDashboardSession(
            person: person.key, passwordHash: issuer == nil ? person.passwordHash : nil, tokenHash: hash(token),
            address: address, agent: agent)
        let change = AuditedChange(
            by: AuditAuthor(person, address: address), "person.login", person,
            ["factor": factor?.rawValue, "issuer": issuer].compactMapValues(\.self))
        let session = try await store.audited(change) { try await store.begin(new) }
        return Login(token: token, session: session, person: person)
    }

    /// The living session of a token.
    ///
    /// - Parameter isUse: false for a request that a page makes by itself, which leaves the session idle.
    package func login(token: String, isUse: Bool = true) async throws -> Login? {
        guard token.utf8.count == 64, let found = try await store.session(tokenHash: hash(token)) else { return nil }
        let now = clock.now
        guard !lifetime.isOver(found.session, at: now) else {
            _ = try await store.end(found.session.key, of: found.person.key)
            return nil
        }
        if isUse, now >= found.session.lastSeenAt + DashboardSession.usePrecision {
            try await store.noteUse(of: found.session.key)
        }
        return Login(token: token, session: found.session, person: found.person)
    }

    /// Whether the session is still valid, and its person may do this now. Asking does not count as use.
    package func may(
        _ action: Permission.Action, on subject: Permission.Subject, in login: Login
    ) async throws -> Bool {
        guard let found = try await store.session(tokenHash: hash(login.token)),
            !lifetime.isOver(found.session, at: clock.now)
        else { return false }
        let (scope, bounds) = (found.person.scope, found.person.bounds)
        return Permission.verdict(scope: scope, bounds: bounds, for: action, on: subject) == .allowed
    }

    package func logout(_ login: Login, by author: AuditAuthor) async throws {
        _ = try await end(login.session.key, of: login.person, by: author)
    }

    /// Returns false if the person has no such session.
    package func end(
        _ session: Key<DashboardSession>, of person: Person, by author: AuditAuthor
    ) async throws -> Bool {
        guard try await store.sessions(of: person.key).contains(where: { $0.key == session }) else { return false }
        let change = AuditedChange(by: author, "person.end_session", person)
        return try await store.audited(change) { try await store.end(session, of: person.key) }
    }

    // MARK: Logging in by an issuer

    /// Begins a session of the person whom an issuer vouches for. No code is required: second factors are up to the issuer.
    ///
    /// - Parameter issuer: its name in the settings, for the audit log.
    /// - Throws: `SignOnRefusal`.
    package func signOn(
        _ signOn: SignOn, issuer: String, address: String?, agent: String
    ) async throws -> Login {
        let known = try await store.person(signOn.identity)
        let before =
            if known == nil, let email = signOn.email { try await store.person(email) } else { known }
        guard before?.disabledAt == nil else { throw SignOnRefusal.disabled }
        let person: Person
        if let known, signOn.role == nil || signOn.role == known.role {
            person = known
        } else {
            guard let email = before?.email ?? signOn.email else { throw SignOnRefusal.noAccount }
            let action = before == nil ? "person.create" : known == nil ? "person.link" : "person.set_role"
            let bounds = signOn.role?.bounds ?? before?.bounds
            let change = AuditedChange(
                by: AuditAuthor(invited: email, address: address), action, email.text,
                of: Permission.Subject(bounds ?? .everything),
                ["issuer": issuer, "scope": (signOn.role?.scope ?? before?.scope)?.rawValue ?? "as invited"])
            person = try await store.audited(change) { try await store.signOn(signOn) }
        }
        return try await begin(person, issuer: issuer, address: address, agent: agent)
    }

    /// Ends the sessions of a person whom their issuer gives no role any more, so that they lose the role that they had.
    ///
    /// - Parameter issuer: its name in the settings, for the audit log.
    package func endSessions(of identity: PersonIdentity, issuer: String, address: String?) async throws {
        guard let person = try await store.person(identity), try await !store.sessions(of: person.key).isEmpty else {
            return
        }
        let change = AuditedChange(
            by: AuditAuthor(person, address: address), "person.end_sessions", person, ["issuer": issuer])
        _ = try await store.audited(change) { try await store.endSessions(of: person.key) }
    }

    /// Seals the state that an issuer returns with its answer, for this visit only.
    package func seal(_ state: String, visit: String) throws -> [UInt8] {
        try vault.seal(Array(state.utf8), for: VaultPurpose.signOn(of: visit)).bytes
    }

    /// nil for a state that was not sealed here, or for another visit.
    package func open(state: [UInt8], visit: String) -> String? {
        (try? vault.open(Sealed(bytes: state), for: VaultPurpose.signOn(of: visit)))
            .map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Visits before the login

    /// The cookie of a visit before the login: random, and sealed, so that a site beside this one can make none.
    package func newVisit() throws -> String {
        try vault.seal([UInt8].random(count: 16), for: VaultPurpose.visit).bytes.hex
    }

    /// Whether this server, or another with its key ring, made the cookie.
    package func isVisit(_ text: String) -> Bool {
        guard text.utf8.count <= 256, let bytes = [UInt8](hex: text.utf8) else { return false }
        return (try? vault.open(Sealed(bytes: bytes), for: VaultPurpose.visit))?.count == 16
    }

    // MARK: Pages

    /// The mark in the forms of a page: this server made them for this person. It outlives the session, and only gives the right
    /// to have the form shown again, filled in.
    package func pageProof(for person: Key<Person>, page: String) throws -> [UInt8] {
        try vault.seal(Array("\(person)".utf8), for: VaultPurpose.page(page)).bytes
    }

    /// The person whom the page was made for; nil where this server did not make it.
    package func person(ofPageProof proof: [UInt8], page: String) -> Key<Person>? {
        (try? vault.open(Sealed(bytes: proof), for: VaultPurpose.page(page)))
            .flatMap { Int64(String(decoding: $0, as: UTF8.self)) }.map { Key($0) }
    }

    // MARK: Browsers that were let in

    /// A browser with which people logged in before. It holds hashes of their e-mail addresses. It may try a password or a code
    /// while strangers wait, and has no other rights.
    private struct KnownBrowser {
        let id: String
        var people: [String]

        static let peopleMax = 5
    }

    /// The time for which a browser is known without a login.
    package static let browserLifetime = Duration.seconds(180 * 86_400)

    /// The number under which a browser's guesses at this account are counted; nil for a browser with which the account did not log in.
    ///
    /// - Parameter text: the browser's cookie.
    package func browserMark(_ text: String?, of email: String) -> Int? {
        guard let browser = browser(text), browser.people.contains(mark(of: email.lowerCase)) else { return nil }
        return browser.id.hashValue
    }

    /// The cookie of a browser with which the person has logged in now.
    ///
    /// - Parameter text: the cookie that it had.
    package func knownBrowser(_ text: String?, with person: Person) throws -> String {
        var browser = browser(text) ?? KnownBrowser(id: [UInt8].random(count: 16).hex, people: [])
        let mark = mark(of: person.email.text)
        browser.people = Array(([mark] + browser.people.filter { $0 != mark }).prefix(KnownBrowser.peopleMax))
        let end = (clock.now + Self.browserLifetime).milliseconds
        let words = ([browser.id, String(end)] + browser.people).joined(separator: " ")
        return try vault.seal(Array(words.utf8), for: VaultPurpose.knownBrowser).bytes.hex
    }

    private func browser(_ text: String?) -> KnownBrowser? {
        guard let text, text.utf8.count <= 1_024, let bytes = [UInt8](hex: text.utf8),
            let opened = try? vault.open(Sealed(bytes: bytes), for: VaultPurpose.knownBrowser)
        else { return nil }
        let parts = String(decoding: opened, as: UTF8.self).split(separator: " ").map(String.init)
        guard parts.count >= 2, let end = Int64(parts[1]), clock.now.milliseconds < end else { return nil }
        return KnownBrowser(id: parts[0], people: Array(parts.dropFirst(2)))
    }

    private func mark(of email: String) -> String { Array(hash("known-browser:\(email)").prefix(16)).hex }

    // MARK: The second factor

    /// The time that a person has between the password and the code.
    package static let halfLoginLifetime = Duration.seconds(300)

    /// The proof that a browser returns together with the code: this person gave the right password a moment ago.
    package func halfLogin(of person: Person, visit: String) throws -> String {
        let text = "\(person.key) \((clock.now + Self.halfLoginLifetime).milliseconds) \(hash(person.passwordHash).hex)"
        return try vault.seal(Array(text.utf8), for: VaultPurpose.halfLogin(of: visit)).bytes.hex
    }

    /// The person of a half login. nil when it is of another visit, its time is over, or the password has changed since.
    package func person(ofHalfLogin text: String, visit: String) async throws -> Person? {
        guard text.utf8.count <= 1_024, let bytes = [UInt8](hex: text.utf8),
            let opened = try? vault.open(Sealed(bytes: bytes), for: VaultPurpose.halfLogin(of: visit))
        else { return nil }
        let parts = String(decoding: opened, as: UTF8.self).split(separator: " ")
        guard parts.count == 3, let key = Int64(parts[0]), let end = Int64(parts[1]), clock.now.milliseconds < end,
            let person = try await store.person(Key<Person>(key)), person.disabledAt == nil,
            hash(person.passwordHash).hex == parts[2]
        else { return nil }
        return person
    }

    /// The second factor that a person proved.
    package enum Factor: String, Sendable { case app, recoveryCode = "recovery code" }

    /// Takes a code of the person's authenticator app, or one of their recovery codes. nil when it is neither, or was used.
    package func takeCode(_ typed: String, of person: Person) async throws -> Factor? {
        guard let factor = try await store.twoFactor(of: person.key) else { return nil }
        if let recovery = RecoveryCode(typed: typed) {
            return try await store.takeRecoveryCode(hash(recovery.text), of: person.key) ? .recoveryCode : nil
        }
        let secret = try vault.open(factor.secret, for: VaultPurpose.twoFactor(of: person.key))
        let step = OneTimeCode.step(
            ofCode: typed, by: secret, at: clock.now, after: factor.lastStep, authentication)
        guard let step, try await store.takeCode(ofStep: step, of: person.key) else { return nil }
        return .app
    }

    /// A secret for an authenticator app. Nothing is kept until a code proves that the app has it.
    package func newTwoFactorSecret() -> [UInt8] { .random(count: OneTimeCode.secretBytes) }

    /// Requires codes from now on. Returns the recovery codes, which are shown this once; nil when the code is not the app's.
    package func setTwoFactor(
        of person: Person, to secret: [UInt8], code: String, by author: AuditAuthor
    ) async throws -> [RecoveryCode]? {
        let step = OneTimeCode.step(ofCode: code, by: secret, at: clock.now, after: 0, authentication)
        guard let step else { return nil }
        var random = SystemRandomNumberGenerator()
        let codes = (0..<RecoveryCode.count).map { _ in RecoveryCode.random(using: &random) }
        let seal = try vault.seal(secret, for: VaultPurpose.twoFactor(of: person.key))
        let change = AuditedChange(by: author, "person.set_two_factor", person)
        try await store.audited(change) {
            try await store.setTwoFactor(
                of: person.key, to: seal, lastStep: step, recoveryCodeHashes: codes.map { hash($0.text) })
        }
        return codes
    }

    package func removeTwoFactor(of person: Person, by author: AuditAuthor) async throws {
        let change = AuditedChange(by: author, "person.remove_two_factor", person)
        try await store.audited(change) { try await store.removeTwoFactor(of: person.key) }
    }

    // MARK: People

    package func create(
        email: EmailAddress, name: Name, scope: AdminKey.Scope, bounds: AdminKey.Bounds, password: Password,
        by author: AuditAuthor
    ) async throws -> Person {
        let new = try NewPerson(
            email: email, name: name, scope: scope, bounds: bounds,
            passwordHash: try await passwords.hash(password, for: author.derivationCaller))
        let change = AuditedChange(
            by: author, "person.create", email.text, of: Permission.Subject(bounds), ["scope": scope.rawValue])
        return try await store.audited(change) { try await store.create(new) }
    }

    package func setName(of person: Person, to name: Name, by author: AuditAuthor) async throws {
        let change = AuditedChange(by: author, "person.set_name", person, ["name": name.text])
        try await store.audited(change) { try await store.setName(of: person.key, to: name) }
    }

    /// Gives a person another e-mail address, by which they log in; sessions go on.
    package func setEmail(of person: Person, to email: EmailAddress, by author: AuditAuthor) async throws {
        let change = AuditedChange(by: author, "person.set_email", person, ["email": email.text])
        try await store.audited(change) { try await store.setEmail(of: person.key, to: email) }
    }

    /// - Parameter session: the one that goes on; nil ends all.
    package func setPassword(
        of person: Person, to password: Password, keeping session: Key<DashboardSession>? = nil, by author: AuditAuthor
    ) async throws {
        let hash = try await passwords.hash(password, for: author.derivationCaller)
        let change = AuditedChange(by: author, "person.set_password", person)
        try await store.audited(change) { try await store.setPassword(of: person.key, to: hash, keeping: session) }
    }

    /// - Parameter zone: nil for the browser's.
    package func setTimeZone(of person: Person, to zone: ZoneInfo?, by author: AuditAuthor) async throws {
        let change = AuditedChange(
            by: author, "person.set_time_zone", person, ["time_zone": zone?.name ?? "the browser's"])
        try await store.audited(change) { try await store.setTimeZone(of: person.key, to: zone) }
    }

    // MARK: Invitations

    /// Makes the token of a link that creates a person; it is shown this once. Throws `StoreError.conflict` when a person
    /// has the e-mail address.
    ///
    /// - Parameter email: nil for the first operator.
    package func invite(
        _ email: EmailAddress?, scope: AdminKey.Scope, bounds: AdminKey.Bounds, by author: AuditAuthor
    ) async throws -> String {
        let change = AuditedChange(
            by: author, "person.invite", email?.text ?? "first operator", of: Permission.Subject(bounds),
            ["scope": scope.rawValue])
        return try await makeLink(for: nil, email, scope, bounds, change, author)
    }

    /// Makes the token of a link with which a person sets a new password; it is shown this once.
    package func makePasswordLink(for person: Person, by author: AuditAuthor) async throws -> String {
        let change = AuditedChange(by: author, "person.make_password_link", person)
        return try await makeLink(for: person.key, person.email, person.scope, person.bounds, change, author)
    }

    private func makeLink(
        for person: Key<Person>?, _ email: EmailAddress?, _ scope: AdminKey.Scope, _ bounds: AdminKey.Bounds,
        _ change: AuditedChange, _ author: AuditAuthor
    ) async throws -> String {
        let token = [UInt8].random(count: 32).hex
        let new = try NewInvitation(
            tokenHash: hash(token), email: email, person: person, scope: scope, bounds: bounds,
            expiresAt: clock.now + Invitation.lifetime, author: author.person)
        try await store.audited(change) { try await store.create(new) }
        return token
    }

    package func withdraw(_ invitation: Invitation, by author: AuditAuthor) async throws {
        let change = AuditedChange(
            by: author, "person.withdraw_link", invitation.email?.text ?? "first operator",
            of: Permission.Subject(invitation.bounds))
        _ = try await store.audited(change) { try await store.withdraw(invitation.key) }
    }

    /// nil when the token is unknown, was used or has expired.
    package func invitation(token: String) async throws -> Invitation? {
        guard token.utf8.count == 64, let found = try await store.invitation(tokenHash: hash(token)) else { return nil }
        return found.expiresAt > clock.now ? found : nil
    }

    /// - Parameter email: the first operator's; an invited person has the address of the invitation.
    package func accept(
        _ invitation: Invitation, email: EmailAddress, name: Name, password: Password, address: String?
    ) async throws -> Person {
        let email = invitation.email ?? email
        let new = try NewPerson(
            email: email, name: name, scope: invitation.scope, bounds: invitation.bounds,
            passwordHash: try await passwords.hash(password, for: .known("invitation \(invitation.key)")))
        let change = AuditedChange(
            by: AuditAuthor(invited: email, address: address), "person.accept_invitation", email.text,
            of: Permission.Subject(invitation.bounds))
        return try await store.audited(change) { try await store.accept(invitation.key, as: new) }
    }
}

extension AuditedChange {
    /// A change of a person, or of something of theirs.
    init(by author: AuditAuthor, _ action: String, _ person: Person, _ details: [String: String] = [:]) {
        self.init(by: author, action, person.email.text, of: Permission.Subject(person.bounds), details)
    }
}
