/// One browser in which a person is logged in.
package struct DashboardSession: Sendable, Hashable {
    package let key: Key<DashboardSession>
    package let person: Key<Person>
    package let createdAt: Instant
    /// Written at most once in each `usePrecision`.
    package let lastSeenAt: Instant
    /// The network address of the login; nil when it was not known.
    package let address: String?
    /// The browser's name for itself, cut to `agentBytesMax`.
    package let agent: String

    package static let usePrecision = Duration.seconds(60)
    package static let agentBytesMax = 255
    /// The most sessions of one person; the oldest end for new ones.
    package static let perPersonMax = 20
}

/// A session before it begins.
package struct NewDashboardSession: Sendable, Hashable {
    package let person: Key<Person>
    /// The hash of the password that was proved; nil where an issuer vouches for the person.
    package let passwordHash: String?
    /// SHA-256 of the token in the browser's cookie.
    package let tokenHash: [UInt8]
    package let address: String?
    package let agent: String

    package init(
        person: Key<Person>, passwordHash: String? = nil, tokenHash: [UInt8], address: String?, agent: String
    ) {
        self.person = person
        self.passwordHash = passwordHash
        self.tokenHash = tokenHash
        self.address = address
        self.agent = String(decoding: Array(agent.utf8.prefix(DashboardSession.agentBytesMax)), as: UTF8.self)
    }
}

/// The limits on the length of a session.
package struct SessionLifetime: Sendable, Hashable {
    /// Without a request.
    package var idle: Duration
    /// Since the login, whatever happens.
    package var absolute: Duration

    package init(idle: Duration = .seconds(8 * 3_600), absolute: Duration = .seconds(7 * 86_400)) {
        self.idle = idle
        self.absolute = absolute
    }

    package func isOver(_ session: DashboardSession, at now: Instant) -> Bool {
        now >= session.createdAt + absolute || now >= session.lastSeenAt + idle + DashboardSession.usePrecision
    }
}

/// A link by which someone sets a password: the first operator, a person who is invited, or one who forgot theirs.
package struct Invitation: Sendable, Hashable {
    package let key: Key<Invitation>
    /// nil for the first operator, who chooses one.
    package let email: EmailAddress?
    /// The person who sets a new password with the invitation; nil makes a new person.
    package let person: Key<Person>?
    package let scope: AdminKey.Scope
    package let bounds: AdminKey.Bounds
    package let expiresAt: Instant

    /// The time in which a link may be used.
    package static let lifetime = Duration.seconds(3 * 86_400)

    /// The error for inviting an address that has an open invitation with wider bounds.
    package static func madeByOthers(_ email: EmailAddress) -> StoreError {
        .conflict(
            "somebody who may do more has invited \(email.text): that link has to be withdrawn (`belfry admin user withdraw --email "
                + "\(email.text)`), used or over first")
    }
}

extension Person {
    /// The error for making a link for a disabled person.
    package var isShutOut: StoreError { .conflict("\(email.text) is shut out: let them in first") }

    /// The error for changing a role that was changed meanwhile.
    package var roleHasChanged: StoreError {
        .conflict("somebody else has changed the role of \(email.text) meanwhile: look again")
    }

    /// The error for demoting the last operator.
    package var isLastOperator: StoreError {
        .conflict("\(email.text) is the last operator who may log in: make another one first")
    }
}

/// An invitation before it is stored.
package struct NewInvitation: Sendable, Hashable {
    package let tokenHash: [UInt8]
    package let email: EmailAddress?
    package let person: Key<Person>?
    package let scope: AdminKey.Scope
    package let bounds: AdminKey.Bounds
    package let expiresAt: Instant
    /// The person who made it at the dashboard.
    package let author: Key<Person>?

    /// - Parameter person: the person who has the address already, for a new password.
    package init(
        tokenHash: [UInt8], email: EmailAddress?, person: Key<Person>? = nil, scope: AdminKey.Scope,
        bounds: AdminKey.Bounds, expiresAt: Instant, author: Key<Person>? = nil
    ) throws(InvalidInput) {
        try scope.check(bounds)
        self.tokenHash = tokenHash
        self.email = email
        self.person = person
        self.scope = scope
        self.bounds = bounds
        self.expiresAt = expiresAt
        self.author = author
    }
}
