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
        switch place(of: subject, seenFrom: bounds) {
        case .elsewhere: .notFound
        case .above: .forbidden
        case .within: scope.actions.contains(action) ? .allowed : .forbidden
        }
    }

    /// The relation of an object to a key's bounds.
    private enum Relation { case within, above, elsewhere }

    private static func place(of subject: Subject, seenFrom bounds: AdminKey.Bounds) -> Relation {
        switch (bounds, subject) {
        case (.everything, _): .within
        case (_, .everything): .above
        case (.tenant(let own), .tenant(let asked)), (.tenant(let own), .application(_, let asked)):
            own == asked ? .within : .elsewhere
        case (.application(_, let own), .tenant(let asked)): own == asked ? .above : .elsewhere
        case (.application(let own, _), .application(let asked, _)): own == asked ? .within : .elsewhere
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
