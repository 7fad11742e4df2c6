/// One line of the audit log: who changed what, when, and from where. Never changed, and never holds a secret.
package struct AuditEntry: Sendable, Hashable {
    package let key: Key<AuditEntry>
    package let at: Instant
    package let change: AuditedChange

    package init(key: Key<AuditEntry>, at: Instant, change: AuditedChange) {
        self.key = key
        self.at = at
        self.change = change
    }
}

/// Who makes a change, as the audit log names them.
package struct AuditAuthor: Sendable, Hashable {
    /// The id of the admin key that asks for it; nil for a command on the server's own machine.
    package let keyID: String?
    /// Where the request comes from, as far as it is known; `local:` and the system user's name for a command on the server's
    /// own machine.
    package let address: String?
    /// Whose word counts of addresses within the operator's network.
    package let credentials: CredentialsAuthor

    package init(_ key: AdminKey, address: String?) {
        keyID = key.id
        self.address = address
        credentials = key.bounds == .everything ? .operator : .tenant
    }

    private init(systemUser: String) {
        keyID = nil
        address = "local:\(systemUser)"
        credentials = .operator
    }

    /// The operator at the server's own machine.
    package static func local(systemUser: String) -> AuditAuthor { AuditAuthor(systemUser: systemUser) }
}

/// What the audit log is told of a change.
package struct AuditedChange: Sendable, Hashable {
    /// As `AuditAuthor` has it.
    package let keyID: String?
    /// As `AuditAuthor` has it.
    package let address: String?
    /// Noun and verb, such as `app.create`.
    package let action: String
    /// The thing changed, by the id that callers know.
    package let subject: String
    /// Whose log it belongs to: nil is the operator's alone.
    package let tenant: Key<Tenant>?
    /// Kept by its number, so that the line outlives the application.
    package let application: Key<Application>?
    /// The new values, by field. No secret is ever among them.
    package let details: [String: String]

    package init(
        keyID: String?, address: String?, action: String, subject: String, tenant: Key<Tenant>?,
        application: Key<Application>?, details: [String: String] = [:]
    ) {
        self.keyID = keyID
        self.address = address
        self.action = action
        self.subject = subject
        self.tenant = tenant
        self.application = application
        self.details = details
    }
}

extension AuditedChange {
    /// - Parameter owner: whose log it belongs to.
    package init(
        by author: AuditAuthor, _ action: String, _ subject: String, of owner: Permission.Subject,
        _ details: [String: String] = [:]
    ) {
        self.init(
            keyID: author.keyID, address: author.address, action: action, subject: subject, tenant: owner.tenant,
            application: owner.application, details: details)
    }

    /// A change of an application itself, or of something of it that is named in the details.
    package init(
        by author: AuditAuthor, _ action: String, _ application: Application, _ details: [String: String] = [:]
    ) {
        self.init(
            by: author, action, application.uuid.lowercased, of: Permission.Subject(application), details)
    }

    /// A change of a platform.
    package init(
        by author: AuditAuthor, _ action: String, _ platform: Platform, of application: Application,
        _ details: [String: String] = [:]
    ) {
        self.init(by: author, action, platform.uuid.lowercased, of: Permission.Subject(application), details)
    }
}

extension Permission.Subject {
    package init(_ application: Application) { self = .application(application.key, of: application.tenantKey) }

    fileprivate var tenant: Key<Tenant>? {
        switch self {
        case .everything: nil
        case .tenant(let tenant), .application(_, let tenant): tenant
        }
    }

    fileprivate var application: Key<Application>? {
        if case .application(let application, _) = self { application } else { nil }
    }
}

/// Which lines of the audit log are wanted, newest first.
package struct AuditQuery: Sendable, Hashable {
    package var bounds: AdminKey.Bounds
    package var keyID: String?
    package var from: Instant
    /// Exclusive.
    package var until: Instant
    package var before: Key<AuditEntry>?
    package var limit: Int

    package init(
        bounds: AdminKey.Bounds, keyID: String? = nil, from: Instant = .distantPast, until: Instant = .distantFuture,
        before: Key<AuditEntry>? = nil, limit: Int
    ) {
        self.bounds = bounds
        self.keyID = keyID
        self.from = from
        self.until = until
        self.before = before
        self.limit = limit
    }
}
