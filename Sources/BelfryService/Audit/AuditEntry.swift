import Synchronization

/// One line of the audit log: who changed what, when, and from where. Never changed, and never contains a secret.
package struct AuditEntry: Sendable, Hashable {
    package let key: Key<AuditEntry>
    package let at: Instant
    package let change: AuditedChange
}

package struct AuditAuthor: Sendable, Hashable {
    /// The id of the admin key that the request used, or the e-mail address of a person at the dashboard; nil for a command on
    /// the server's own machine.
    package let keyID: String?
    /// The network address of the request, as far as it is known; `local:` and the system user's name for a command on
    /// the server's own machine.
    package let address: String?
    /// Whether the author may name addresses inside the operator's network.
    package let credentials: CredentialsAuthor
    /// The person at the dashboard, or the one who made the key, or the key that made it.
    package let person: Key<Person>?

    package init(_ key: AdminKey, address: String?) {
        keyID = key.id
        self.address = address
        credentials = key.bounds == .everything ? .operator : .tenant
        person = key.author
    }

    /// A person at the dashboard, by their e-mail address.
    package init(_ person: Person, address: String?) {
        keyID = person.email.text
        self.address = address
        credentials = person.bounds == .everything ? .operator : .tenant
        self.person = person.key
    }

    /// A program that knows the key of an endpoint.
    init(_ endpoint: OpenEndpoint) {
        self.init(keyID: "\(endpoint.kind.rawValue) endpoint \(endpoint.key)", address: nil)
    }

    /// Someone who follows the link of an invitation.
    package init(invited email: EmailAddress, address: String?) { self.init(keyID: email.text, address: address) }

    private init(systemUser: String) {
        keyID = nil
        address = "local:\(systemUser)"
        credentials = .operator
        person = nil
    }

    /// A platform that speaks to the service broker.
    package static func broker(address: String?) -> AuditAuthor {
        AuditAuthor(keyID: "broker", address: address)
    }

    /// A back end with the API key of an application.
    package static func backEnd(of application: Application) -> AuditAuthor {
        AuditAuthor(keyID: "app:\(application.uuid.lowercased)", address: nil)
    }

    private init(keyID: String, address: String?) {
        self.keyID = keyID
        self.address = address
        credentials = .tenant
        person = nil
    }

    /// The operator at the server's own machine.
    package static func local(systemUser: String) -> AuditAuthor { AuditAuthor(systemUser: systemUser) }
}

/// The change that a line of the audit log describes.
package struct AuditedChange: Sendable, Hashable {
    /// See `AuditAuthor.keyID`.
    package let keyID: String?
    /// See `AuditAuthor.address`.
    package let address: String?
    /// Noun and verb, such as `app.create`.
    package let action: String
    /// The thing changed, by the id that callers know.
    package let subject: String
    /// The tenant whose log holds the line; nil for the operator's.
    package let tenant: Key<Tenant>?
    /// Stored as a number, so that the line outlives the application.
    package let application: Key<Application>?
    /// The new values, by field. Never a secret.
    package private(set) var details: [String: String] = [:]

    /// The name of the author where there is no `keyID`.
    static let local = "local operator"
    var who: String { keyID ?? Self.local }
}

extension AuditedChange {
    /// - Parameter owner: the tenant whose log holds the line; nil for the operator's.
    package init(
        by author: AuditAuthor, _ action: String, _ subject: String, of owner: Permission.Subject,
        _ details: [String: String] = [:]
    ) {
        self.init(
            keyID: author.keyID, address: author.address, action: action, subject: subject, tenant: owner.tenant,
            application: owner.application, details: details)
    }

    /// A change of an application itself, or of something in it that the details name.
    package init(
        by author: AuditAuthor, _ action: String, _ application: Application, _ details: [String: String] = [:]
    ) {
        self.init(
            by: author, action, application.uuid.lowercased, of: Permission.Subject(application), details)
    }

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

/// Selects lines of the audit log, newest first.
package struct AuditQuery: Sendable, Hashable {
    package var bounds: AdminKey.Bounds
    /// Compared with `AuditedChange.who`; nil for everybody's.
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

/// The line that a change leaves in the audit log, before it is written.
///
/// It is a task-local value of the task that makes the change. The store writes it in the transaction of the first
/// write the task makes, so every port is audited alike and none has to know.
final class PendingAuditEntry: Sendable {
    @TaskLocal static var pending: PendingAuditEntry?

    private let change: AuditedChange
    private let kept = Atomic(false)
    private let void = Atomic(false)

    init(_ change: AuditedChange) { self.change = change }

    /// Whether a transaction with the line was committed.
    var isKept: Bool { kept.load(ordering: .acquiring) }

    func write(in session: some WriteSession) throws {
        let details = JSONValue.object(JSONObject(change.details)).storedText
        try session.prepared(AuditStatements.insert).send(
            session.now, change.keyID, change.address, change.action, change.subject, change.tenant,
            change.application, details)
    }

    func noteCommit() { kept.store(true, ordering: .releasing) }

    /// Whether a write found nothing to change: then the line is left out, unless another write of the task commits it.
    var isVoid: Bool { void.load(ordering: .acquiring) }

    func noteNoChange() { void.store(true, ordering: .releasing) }
}
