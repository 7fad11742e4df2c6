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

/// What the audit log is told of a change.
package struct AuditedChange: Sendable, Hashable {
    /// The id of the admin key that asked for it; nil for the command line on the server's own machine.
    package let keyID: String?
    /// Where the request came from; nil as above.
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
