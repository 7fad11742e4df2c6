package import FoundationEssentials

extension Store {
    package func brokerInstance(_ id: String) async throws -> BrokerInstance? {
        try await read { db in
            try db.prepared(BrokerStatements.instance).first(id, as: BrokerInstance.init)
        }
    }

    /// Returns the existing instance when one has the id, and then changes nothing.
    package func create(_ new: NewBrokerInstance) async throws -> BrokerInstance {
        try await write { session in
            _ = try session.prepared(BrokerStatements.insertInstance).run(
                new.id, new.plan.rawValue, new.request, new.application, new.tenant, session.now)
            guard let made = try session.prepared(BrokerStatements.instance).first(new.id, as: BrokerInstance.init)
            else { throw StoreError.unknown("service instance") }
            return made
        }
    }

    /// Deletes the instance with its bindings. Does nothing where there is none.
    package func delete(_ instance: Key<BrokerInstance>) async throws {
        try await write { session in
            try session.prepared(BrokerStatements.deleteBindings).send(instance)
            try session.prepared(BrokerStatements.deleteInstance).send(instance)
            session.registryChanged()
        }
    }

    package func brokerBinding(_ id: String) async throws -> BrokerBinding? {
        try await read { db in try db.prepared(BrokerStatements.binding).first(id, as: BrokerBinding.init) }
    }

    /// Returns the existing binding when one has the id, and then changes nothing. The application accepts its API key from then
    /// on. Throws `StoreError.unknown` when the instance is gone.
    package func create(_ new: NewBrokerBinding) async throws -> BrokerBinding {
        try await write { session in
            guard try session.prepared(BrokerStatements.holdInstance).first(new.instance, as: { _ in true }) != nil
            else { throw StoreError.unknown("service instance") }
            _ = try session.prepared(BrokerStatements.insertBinding).run(
                new.instance, new.id, new.request, new.nonce, new.apiKeyHash, session.now)
            guard let made = try session.prepared(BrokerStatements.binding).first(new.id, as: BrokerBinding.init)
            else { throw StoreError.unknown("service binding") }
            session.registryChanged()
            return made
        }
    }

    /// Deletes the binding. The application no longer accepts its API key.
    package func delete(_ binding: Key<BrokerBinding>) async throws {
        try await write { session in
            try session.prepared(BrokerStatements.deleteBinding).send(binding)
            session.registryChanged()
        }
    }
}

extension BrokerInstance {
    fileprivate init(_ row: some SQLRow) throws {
        guard let plan = BrokerPlan(rawValue: row.text(2)), let application = row.uuid(4) else {
            throw StoreError.damaged("broker_instance \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), id: row.text(1), plan: plan, request: row.text(3), application: application,
            tenant: row.uuid(5))
    }
}

extension BrokerBinding {
    fileprivate init(_ row: some SQLRow) {
        self.init(
            key: Key(row.integer(0)), id: row.text(2), instance: Key(row.integer(1)), request: row.text(3),
            nonce: row.blob(4), apiKeyHash: row.blob(5))
    }
}

enum BrokerStatements {
    static let instance: SQLText = """
        SELECT id, public_id, plan, request, application_uuid, tenant_uuid /* broker.instance */
          FROM broker_instance
         WHERE public_id = $1
        """

    static let insertInstance: SQLText = """
        INSERT INTO broker_instance /* broker.insert_instance */ (
            public_id, plan, request, application_uuid, tenant_uuid, created_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (public_id) DO NOTHING
        """

    /// Keeps an instance from being deleted until the transaction ends.
    static let holdInstance: SQLText = """
        SELECT 1 /* broker.hold_instance */ FROM broker_instance WHERE id = $1 \(SQLText.forKeyShare)
        """

    static let deleteInstance: SQLText = "DELETE FROM broker_instance /* broker.delete_instance */ WHERE id = $1"

    static let binding: SQLText = """
        SELECT id, instance_id, public_id, request, nonce, api_key_hash /* broker.binding */
          FROM broker_binding
         WHERE public_id = $1
        """

    static let insertBinding: SQLText = """
        INSERT INTO broker_binding /* broker.insert_binding */ (
            instance_id, public_id, request, nonce, api_key_hash, created_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (public_id) DO NOTHING
        """

    static let deleteBinding: SQLText = "DELETE FROM broker_binding /* broker.delete_binding */ WHERE id = $1"

    /// Scans `broker_binding_instance`.
    static let deleteBindings: SQLText = """
        DELETE FROM broker_binding /* broker.delete_bindings */ WHERE instance_id = $1
        """

    /// The API keys that an application takes besides its own. Scans `broker_instance_application`.
    static let apiKeyHashes: SQLText = """
        SELECT api_key_hash /* broker.api_key_hashes */
          FROM broker_instance JOIN broker_binding ON instance_id = broker_instance.id
         WHERE application_uuid = $1
         ORDER BY broker_binding.id
        """
}

/// An application is read when it is needed, with its broker's instances, and parked platforms without all others.
enum RegistryIndexMigration: SchemaMigration {
    static let identifier = "0028 indexes of applications (additive)"

    static func run(in db: some SQLConnection) throws {
        try db.run(script: "CREATE INDEX broker_instance_application ON broker_instance (application_uuid)")
        try db.run(
            script:
                "CREATE INDEX platform_parked ON platform (id) WHERE parked_cause IS NOT NULL OR parked_services IS NOT NULL"
        )
    }
}

/// A service instance that a platform such as Cloud Foundry ordered from the service broker: an application, in a tenant of
/// its own where its plan says so.
package struct BrokerInstance: Sendable, Hashable {
    package let key: Key<BrokerInstance>
    /// The platform's name for it.
    package let id: String
    package let plan: BrokerPlan
    /// The platform's request, as a text that can be compared.
    package let request: String
    package let application: UUID
    /// nil where the application is in the first tenant.
    package let tenant: UUID?
}

/// The content of a service instance: an application, or a tenant with one.
package enum BrokerPlan: String, Sendable, Hashable, CaseIterable {
    case application, tenant
}

package struct NewBrokerInstance: Sendable, Hashable {
    package let id: String
    package let plan: BrokerPlan
    package let request: String
    package let application: UUID
    package let tenant: UUID?
}

/// An API key that a binding of a service instance was given. Only the key's hash is kept; the key is made again from the nonce
/// and the application's shared secret when the platform repeats its request.
package struct BrokerBinding: Sendable, Hashable {
    package let key: Key<BrokerBinding>
    /// The platform's name for it.
    package let id: String
    package let instance: Key<BrokerInstance>
    package let request: String
    package let nonce: [UInt8]
    package let apiKeyHash: [UInt8]
}

package struct NewBrokerBinding: Sendable, Hashable {
    package let id: String
    package let instance: Key<BrokerInstance>
    package let request: String
    package let nonce: [UInt8]
    package let apiKeyHash: [UInt8]
}

extension Schema {
    static let broker = SchemaPart(
        [
            StoreTable("broker_instance", rows: .operators),
            StoreTable("broker_binding", rows: .operators),
        ],
        sql: """
            -- What the service broker provisioned. The application and tenant are made after the row, and may be gone before it.
            CREATE TABLE broker_instance (
                id \(.key),
                public_id text NOT NULL UNIQUE,
                plan text NOT NULL CHECK (plan IN ('application', 'tenant')),
                request text NOT NULL,
                \(uuid: "application_uuid", "NOT NULL"),
                \(uuid: "tenant_uuid"),
                created_at_ms \(.bigint) NOT NULL
            ) \(.byID);

            CREATE TABLE broker_binding (
                id \(.key),
                instance_id \(.bigint) NOT NULL REFERENCES broker_instance (id),
                public_id text NOT NULL UNIQUE,
                request text NOT NULL,
                nonce \(.bytes) NOT NULL,
                api_key_hash \(.bytes) NOT NULL,
                created_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE INDEX broker_binding_instance ON broker_binding (instance_id\(postgres: ", id"));
            """)
}
