/// The identity of a person at an issuer of OpenID Connect, which never gives a subject to another person. Source: OpenID Connect
/// Core 1.0 §2.
package struct PersonIdentity: Sendable, Hashable {
    package let issuer: String
    package let subject: String

    /// Source: OpenID Connect Core 1.0 §2, `sub`.
    package static let subjectBytesMax = 255
}

/// An issuer's statement about a person who logs in by it.
package struct SignOn: Sendable, Hashable {
    package let identity: PersonIdentity
    /// nil unless the issuer vouches for it; without it, only a known identity can log in.
    package let email: EmailAddress?
    package let name: String
    /// The person's role from now on. nil keeps the role of an account or of an invitation, and refuses all others.
    package let role: Role?

    package struct Role: Sendable, Hashable {
        package let scope: AdminKey.Scope
        package let bounds: AdminKey.Bounds

        package init(_ scope: AdminKey.Scope, _ bounds: AdminKey.Bounds) throws(InvalidInput) {
            try scope.check(bounds)
            self.scope = scope
            self.bounds = bounds
        }
    }
}

/// The reason why a person with an identity at an issuer may not log in.
package enum SignOnRefusal: Error, Sendable, Hashable {
    case noAccount
    case disabled
    /// Another identity of the same issuer has the e-mail address.
    case otherIdentity
    /// The account of the e-mail address has rights beyond the role that the issuer gives.
    case widerAccount
}

extension SignOn.Role {
    /// Whether it allows something that the other does not.
    package func isWider(than other: SignOn.Role) -> Bool { !other.covers(scope, bounds) }

    /// Whether it allows all that a key or link of this scope and these bounds does.
    package func covers(_ other: AdminKey.Scope, _ otherBounds: AdminKey.Bounds) -> Bool {
        let ranks = AdminKey.Scope.allCases
        return bounds.contains(otherBounds) && ranks.firstIndex(of: scope) ?? 0 <= ranks.firstIndex(of: other) ?? 0
    }
}

extension Person {
    /// Whether the person can log in with a password. A person made by an issuer's log-in has none.
    package var hasPassword: Bool { !passwordHash.isEmpty }
    package var role: SignOn.Role? { try? SignOn.Role(scope, bounds) }
    /// Without a password and a second factor.
    package var knownByIssuer: Person {
        Person(
            key: key, email: email, name: name, scope: scope, bounds: bounds, passwordHash: "", createdAt: createdAt,
            lastLoginAt: lastLoginAt, disabledAt: disabledAt, hasTwoFactor: false,
            timeZone: timeZone)
    }
}
