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
    package let author: Key<Person>?

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

        package init(secretHash: [UInt8], validUntil: Instant) {
            self.secretHash = secretHash
            self.validUntil = validUntil
        }
    }

    /// The time that `lastUsedAt` may lag: a key in constant use costs one write in this time.
    package static let usePrecision = Duration.seconds(60)
    /// The longest that a rotated key's old secret is accepted.
    package static let graceMax = Duration.seconds(30 * 86_400)

    package init(
        key: Key<AdminKey>, id: String, name: String, scope: Scope, bounds: Bounds, secretHash: [UInt8],
        previous: Previous?, createdAt: Instant, lastUsedAt: Instant?, revokedAt: Instant?, author: Key<Person>? = nil
    ) {
        self.key = key
        self.id = id
        self.name = name
        self.scope = scope
        self.bounds = bounds
        self.secretHash = secretHash
        self.previous = previous
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.revokedAt = revokedAt
        self.author = author
    }

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
