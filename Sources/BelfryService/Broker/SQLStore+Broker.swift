import FoundationEssentials

extension SQLStore {
    package func brokerInstance(_ id: String) async throws -> BrokerInstance? {
        try await read { db in
            try db.prepared(BrokerStatements.instance).first(id, as: BrokerInstance.init)
        }
    }

    package func create(_ new: NewBrokerInstance) async throws -> BrokerInstance {
        try await write { session in
            _ = try session.prepared(BrokerStatements.insertInstance).run(
                new.id, new.plan.rawValue, new.request, new.application, new.tenant, session.now)
            guard let made = try session.prepared(BrokerStatements.instance).first(new.id, as: BrokerInstance.init)
            else { throw StoreError.unknown("service instance") }
            return made
        }
    }

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

    /// The API keys that applications take besides their own.
    static let apiKeyHashes: SQLText = """
        SELECT application_uuid, api_key_hash /* broker.api_key_hashes */
          FROM broker_binding JOIN broker_instance ON broker_instance.id = instance_id
         ORDER BY broker_binding.id
        """
}
