package import FoundationEssentials

// Replies of the admin API about tenants, keys and nodes, shared by server and clients. Times are in ISO 8601, UUIDs in
// lower case.

extension Admin {
    /// A tenant.
    package struct TenantReply: Codable, Sendable {
        package let tenant_uuid: String
        package let name: String
        package let created_at: String

        package init(_ tenant: Tenant) {
            tenant_uuid = tenant.uuid.lowercased
            name = tenant.name
            created_at = tenant.createdAt.text
        }
    }

    /// A page of tenants.
    package struct TenantsReply: Codable, Sendable {
        package let tenants: [TenantReply]
        @OrNull package var next_cursor: String?
    }

    /// An admin key, without its secret unless it is new.
    package struct KeyReply: Codable, Sendable {
        package let key_id: String
        package let name: String
        package let scope: String
        @OrNull package var tenant_uuid: String?
        @OrNull package var app_uuid: String?
        package let created_at: String
        @OrNull package var last_used_at: String?
        @OrNull package var previous_secret_until: String?
        @OrNull package var revoked_at: String?
        /// Shown once, in the reply to its creation.
        package var key: String?

        /// The time until which the secret before the replaced one would have been accepted: it is refused from now on.
        package var grace_ended_early: String?

        package init(
            _ key: AdminKey, tenant: UUID?, application: UUID?, text: AdminKey.Text? = nil,
            graceEndedEarly: Instant? = nil
        ) {
            key_id = key.id
            name = key.name
            scope = key.scope.rawValue
            _tenant_uuid = OrNull(wrappedValue: tenant?.lowercased)
            _app_uuid = OrNull(wrappedValue: application?.lowercased)
            created_at = key.createdAt.text
            _last_used_at = OrNull(wrappedValue: key.lastUsedAt?.text)
            _previous_secret_until = OrNull(wrappedValue: key.previous?.validUntil.text)
            _revoked_at = OrNull(wrappedValue: key.revokedAt?.text)
            self.key = text?.text
            grace_ended_early = graceEndedEarly?.text
        }
    }

    /// A page of admin keys.
    package struct KeysReply: Codable, Sendable {
        package let keys: [KeyReply]
        @OrNull package var next_cursor: String?
    }

    /// A person of the dashboard.
    package struct PersonReply: Codable, Sendable {
        package let person_id: Int64
        package let email: String
        package let name: String
        package let role: String
        @OrNull package var tenant_uuid: String?
        @OrNull package var app_uuid: String?
        /// `active` or `disabled`.
        package let state: String
        package let two_factor: Bool
        package let created_at: String
        @OrNull package var last_login_at: String?

        package init(_ person: Person, tenant: UUID?, application: UUID?) {
            person_id = person.key.rawValue
            email = person.email.text
            name = person.name
            role = person.scope.rawValue
            _tenant_uuid = OrNull(wrappedValue: tenant?.lowercased)
            _app_uuid = OrNull(wrappedValue: application?.lowercased)
            state = person.disabledAt == nil ? "active" : "disabled"
            two_factor = person.hasTwoFactor
            created_at = person.createdAt.text
            _last_login_at = OrNull(wrappedValue: person.lastLoginAt?.text)
        }
    }

    /// A page of people.
    package struct PeopleReply: Codable, Sendable {
        package let people: [PersonReply]
        @OrNull package var next_cursor: String?
    }

    /// A node, as its last heartbeat describes it.
    package struct NodeReply: Codable, Sendable {
        package let node_uuid: String
        package let host: String
        /// The address at which the node serves, as configured.
        package let address: String
        package let version: String
        package let state: String
        package let batches_in_flight: Int
        package let since: String
        package let last_seen_at: String
        /// How long ago that was.
        package let silent_seconds: Int64

        /// - Parameter isServed: whether a server is known to run on the database: if none does, it is gone, however
        ///   short its silence.
        package init(_ node: Node, isServed: Bool = true) {
            node_uuid = node.uuid.lowercased
            host = node.host
            address = node.address
            version = node.version
            state = (isServed ? node.state : .gone).rawValue
            batches_in_flight = node.batchesInFlight
            since = node.since.text
            last_seen_at = node.lastSeenAt.text
            silent_seconds = node.silence.components.seconds
        }
    }

    /// The nodes.
    package struct NodesReply: Codable, Sendable {
        package let nodes: [NodeReply]
    }

    /// A page of the audit log.
    package struct AuditReply: Codable, Sendable {
        package let entries: [Entry]
        @OrNull package var next_cursor: String?

        /// One line of the audit log.
        package struct Entry: Codable, Sendable {
            package let at: String
            @OrNull package var key_id: String?
            @OrNull package var address: String?
            package let action: String
            package let subject: String
            package let details: [String: String]

            package init(_ entry: AuditEntry) {
                at = entry.at.text
                _key_id = OrNull(wrappedValue: entry.change.keyID)
                _address = OrNull(wrappedValue: entry.change.address)
                action = entry.change.action
                subject = entry.change.subject
                details = entry.change.details
            }
        }
    }
}
