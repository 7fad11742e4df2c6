/// A person who uses the dashboard, with a scope and bounds like those of an admin key.
package struct Person: Sendable, Hashable {
    package let key: Key<Person>
    package let email: EmailAddress
    package let name: String
    package let scope: AdminKey.Scope
    package let bounds: AdminKey.Bounds
    /// The form that `PasswordHashing` makes: its parameters, the salt and the derived key. Never the password.
    package let passwordHash: String
    package let createdAt: Instant
    package let lastLoginAt: Instant?
    /// When the person was disabled; nil while they may log in.
    package let disabledAt: Instant?
    /// Whether a login needs a code besides the password.
    package var hasTwoFactor = false
    /// The IANA name of the zone by whose clocks pages show times; nil for the browser's.
    package var timeZone: String?

    /// The number of unrevoked admin keys and usable links that a person made.
    package struct Issued: Sendable, Hashable {
        package let keys: Int
        package let links: Int

        package init(keys: Int, links: Int) { (self.keys, self.links) = (keys, links) }
    }
}

/// A person before they are created.
package struct NewPerson: Sendable, Hashable {
    package let email: EmailAddress
    package let name: String
    package let scope: AdminKey.Scope
    package let bounds: AdminKey.Bounds
    package let passwordHash: String

    package init(
        email: EmailAddress, name: Name, scope: AdminKey.Scope, bounds: AdminKey.Bounds, passwordHash: String
    ) throws(InvalidInput) {
        try scope.check(bounds)
        self.email = email
        self.name = name.text
        self.scope = scope
        self.bounds = bounds
        self.passwordHash = passwordHash
    }
}

/// An e-mail address, in lower case, by which a person logs in. No mail is ever sent to it.
package struct EmailAddress: Sendable, Hashable {
    package let text: String

    /// Source: RFC 5321 §4.5.3.1.3.
    package static let bytesMax = 254

    package init(_ text: String, field: String = "email") throws(InvalidInput) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.utf8.count <= Self.bytesMax,
            text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F })
        else {
            throw InvalidInput(
                field: field, "has to be an address such as ann@example.com, of at most \(Self.bytesMax) bytes")
        }
        self.text = text.lowerCase
    }

    /// An address that was checked before it was stored.
    package init(stored text: String) { self.text = text }
}

/// A password as a person typed it.
package struct Password: Sendable {
    package let text: String

    /// Long enough that a guesser who is slowed down never gets there; NIST SP 800-63B-4 §3.1.1 asks for 8 at least.
    package static let charactersMin = 10
    package static let bytesMax = 1_024

    package init(_ text: String, field: String = "password") throws(InvalidInput) {
        guard text.count >= Self.charactersMin else {
            throw InvalidInput(field: field, "has \(text.count) characters, it needs at least \(Self.charactersMin)")
        }
        guard text.utf8.count <= Self.bytesMax else {
            throw InvalidInput(field: field, "is \(text.utf8.count) bytes, the limit is \(Self.bytesMax)")
        }
        self.text = text
    }

    /// Takes a password that was checked by other rules.
    init(checked text: String) { self.text = text }
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
