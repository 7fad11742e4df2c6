import Crypto

/// A credential of the admin API, with the rights of its holder and their bounds.
package struct AdminKey: Sendable, Hashable {
    package let key: Key<AdminKey>
    /// The public half of the key's text, by which it is found, listed and written into the audit log.
    package let id: String
    package let name: String
    package let scope: Scope
    package let bounds: Bounds
    /// SHA-256 of the secret half. The secret itself is shown once, when it is made.
    package let secretHash: [UInt8]
    /// The secret before the last rotation, for as long as it is still accepted.
    package let previous: Previous?
    package let createdAt: Instant
    /// Written at most once in each `usePrecision`.
    package let lastUsedAt: Instant?
    package let revokedAt: Instant?
    /// The person who made it at the dashboard, or made the key that made it.
    package var author: Key<Person>?

    /// The rights of a holder. `Permission` says what each allows.
    package enum Scope: String, Sendable, Hashable, CaseIterable {
        case `operator`
        case tenantAdmin = "tenant-admin"
        case appAdmin = "app-admin"
        case sender
        case readOnly = "read-only"
    }

    /// The tenant or application that a holder's rights are limited to.
    package enum Bounds: Sendable, Hashable {
        case everything
        case tenant(Key<Tenant>)
        case application(Key<Application>, of: Key<Tenant>)
    }

    /// The secret that a rotation replaced.
    package struct Previous: Sendable, Hashable {
        package let secretHash: [UInt8]
        package let validUntil: Instant
    }

    /// The time that `lastUsedAt` may lag: a key in constant use costs one write in this time.
    package static let usePrecision = Duration.seconds(60)
    /// The longest that a rotated key's old secret is accepted.
    package static let graceMax = Duration.seconds(30 * 86_400)

    /// The hashes that are accepted at this moment; none once the key is revoked.
    package func secretHashes(at now: Instant) -> [[UInt8]] {
        guard revokedAt == nil else { return [] }
        guard let previous, now < previous.validUntil else { return [secretHash] }
        return [secretHash, previous.secretHash]
    }

    /// Whether a use at this moment should be written down.
    package func isUseWorthNoting(at now: Instant) -> Bool {
        guard let lastUsedAt else { return true }
        return now >= lastUsedAt + Self.usePrecision
    }
}

extension AdminKey.Bounds {
    /// Restores bounds from their two columns; an application's bounds include its tenant.
    package init(tenant: Key<Tenant>?, application: Key<Application>?) {
        switch (tenant, application) {
        case (let tenant?, let application?): self = .application(application, of: tenant)
        case (let tenant?, nil): self = .tenant(tenant)
        case (nil, _): self = .everything
        }
    }

    package var tenant: Key<Tenant>? {
        switch self {
        case .everything: nil
        case .tenant(let tenant), .application(_, let tenant): tenant
        }
    }

    package var application: Key<Application>? {
        if case .application(let application, _) = self { application } else { nil }
    }

    /// Whether the other bounds are these or lie within them.
    package func contains(_ other: AdminKey.Bounds) -> Bool {
        switch self {
        case .everything: true
        case .tenant(let tenant): other.tenant == tenant
        case .application: other == self
        }
    }
}

extension AdminKey.Scope {
    /// Throws unless keys of this scope may have these bounds.
    package func check(_ bounds: AdminKey.Bounds) throws(InvalidInput) {
        let isFitting =
            switch (self, bounds) {
            case (.operator, .everything), (.tenantAdmin, .tenant), (.appAdmin, .application): true
            case (.sender, .tenant), (.sender, .application), (.readOnly, .tenant), (.readOnly, .application): true
            default: false
            }
        guard !isFitting else { return }
        let needed =
            switch self {
            case .operator: "takes neither tenant nor application"
            case .tenantAdmin: "needs a tenant"
            case .appAdmin: "needs an application"
            case .sender, .readOnly: "needs a tenant or an application"
            }
        throw InvalidInput(field: "scope", "is \(rawValue), which \(needed)")
    }
}

/// A key before it is made.
package struct NewAdminKey: Sendable, Hashable {
    package let id: String
    package let name: String
    package let scope: AdminKey.Scope
    package let bounds: AdminKey.Bounds
    package let secretHash: [UInt8]
    /// See `AdminKey.author`.
    package let author: Key<Person>?

    package init(
        id: String, name: Name, scope: AdminKey.Scope, bounds: AdminKey.Bounds, secretHash: [UInt8],
        author: Key<Person>? = nil
    ) throws(InvalidInput) {
        try scope.check(bounds)
        self.id = id
        self.name = name.text
        self.scope = scope
        self.bounds = bounds
        self.secretHash = secretHash
        self.author = author
    }
}

extension AdminKey {
    /// An admin key as its holder writes it: `bfy_<id>_<secret>`, so that it is recognised wherever it turns up.
    package struct Text: Sendable, Hashable {
        /// 16 hex digits.
        package let id: String
        /// 64 hex digits: 256 random bits.
        package let secret: String

        private static let mark = "bfy"

        package init(id: String, secret: String) {
            self.id = id
            self.secret = secret
        }

        /// nil when it has another form.
        package init?(_ text: String) {
            let parts = text.split(separator: "_", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == Self.mark, parts[1].utf8.count == 16, parts[2].utf8.count == 64 else {
                return nil
            }
            self.init(id: String(parts[1]), secret: String(parts[2]))
        }

        /// The id in a text that a person entered for a key: the id, or the whole key.
        package static func id(in given: String) -> String { Text(given)?.id ?? given }

        package static func random() -> Text {
            Text(id: [UInt8].random(count: 8).hex, secret: [UInt8].random(count: 32).hex)
        }

        package var text: String { "\(Self.mark)_\(id)_\(secret)" }
    }
}

extension [UInt8] {
    /// From the system's generator, which is suitable for secrets.
    package static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}

/// Decides whether the holder of a key may do something. The table for operators is in docs/AdminAPI.md.
package enum Permission {
    /// The kind of request.
    package enum Action: Sendable, Hashable, CaseIterable {
        /// Read it.
        case read
        /// Send pushes, and cancel scheduled ones.
        case send
        /// Create, change or delete it, or something in it.
        case change
        /// Manage its keys, and read its audit log.
        case administer
    }

    /// The object of a request.
    package enum Subject: Sendable, Hashable {
        /// All tenants, and what belongs to no tenant.
        case everything
        case tenant(Key<Tenant>)
        case application(Key<Application>, of: Key<Tenant>)
    }

    package enum Verdict: Sendable, Hashable {
        case allowed
        /// Denied, but the object's existence may be revealed.
        case forbidden
        /// Denied as if it did not exist, because it belongs to another tenant or application.
        case notFound
    }

    package static func verdict(
        scope: AdminKey.Scope, bounds: AdminKey.Bounds, for action: Action, on subject: Subject
    ) -> Verdict {
        let verdictWithin: Verdict = scope.actions.contains(action) ? .allowed : .forbidden
        return switch (bounds, subject) {
        case (.everything, _): verdictWithin
        case (_, .everything): .forbidden
        case (.tenant(let own), .tenant(let asked)), (.tenant(let own), .application(_, let asked)):
            own == asked ? verdictWithin : .notFound
        case (.application(_, let own), .tenant(let asked)): own == asked ? .forbidden : .notFound
        case (.application(let own, _), .application(let asked, _)): own == asked ? verdictWithin : .notFound
        }
    }
}

extension AdminKey.Scope {
    fileprivate var actions: Set<Permission.Action> {
        switch self {
        case .operator, .tenantAdmin, .appAdmin: [.read, .send, .change, .administer]
        case .sender: [.read, .send]
        case .readOnly: [.read]
        }
    }
}

extension Permission.Subject {
    package init(_ bounds: AdminKey.Bounds) {
        switch bounds {
        case .everything: self = .everything
        case .tenant(let tenant): self = .tenant(tenant)
        case .application(let application, let tenant): self = .application(application, of: tenant)
        }
    }
}

/// The stored form of API keys, platform secrets and admin keys. They are random, so a fast hash is enough.
package enum SecretHash {
    package static func of(_ secret: String) -> [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }

    /// HMAC for the codes of authenticator apps, which know SHA-1 alone. Source: RFC 6238 §1.2.
    package static let authentication: OneTimeCode.Authentication = { key, message in
        Array(HMAC<Insecure.SHA1>.authenticationCode(for: message, using: SymmetricKey(data: key)))
    }

    /// Compared with when there is no hash, so that the time taken reveals nothing. No secret hashes to it.
    static let unmatchable = [UInt8](repeating: 0, count: SHA256.byteCount)
}
