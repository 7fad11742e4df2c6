/// Whether the holder of a key may do something to a thing. docs/AdminAPI.md has the table for people.
package enum Permission {
    /// What a request does.
    package enum Action: Sendable, Hashable, CaseIterable {
        /// Look at it.
        case read
        /// Send pushes, and take back those that were scheduled.
        case send
        /// Make, change or delete it, or something of it.
        case change
        /// Give keys for it, and read who changed what.
        case govern
    }

    /// What it is done to.
    package enum Subject: Sendable, Hashable {
        /// All tenants, and what belongs to none.
        case everything
        case tenant(Key<Tenant>)
        case application(Key<Application>, of: Key<Tenant>)
    }

    package enum Verdict: Sendable, Hashable {
        case allowed
        /// The holder may know that it exists.
        case forbidden
        /// The thing is another's: to this holder it does not exist.
        case hidden
    }

    package static func verdict(
        scope: AdminKey.Scope, bounds: AdminKey.Bounds, for action: Action, on subject: Subject
    ) -> Verdict {
        switch place(of: subject, seenFrom: bounds) {
        case .elsewhere: .hidden
        case .above: .forbidden
        case .within: scope.actions.contains(action) ? .allowed : .forbidden
        }
    }

    /// Where a thing stands to what a key is bound to.
    private enum Place { case within, above, elsewhere }

    private static func place(of subject: Subject, seenFrom bounds: AdminKey.Bounds) -> Place {
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
        case .operator, .tenantAdmin, .appAdmin: [.read, .send, .change, .govern]
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
