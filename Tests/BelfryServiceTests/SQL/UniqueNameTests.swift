import Testing

/// No name that one tenant takes is thereby taken from another.
@Suite struct UniqueNameTests {
    /// Columns whose value is of one tenant, application or person alone: what is unique together with one is unique there.
    private static let owners: Set<String> = [
        "tenant_id", "application_id", "platform_id", "device_id", "push_id", "batch_id", "person_id", "topic_id",
        "geofence_id", "group_id", "job_id", "segment_id", "template_id",
        "campaign_id", "endpoint_id", "webhook_id",
    ]

    /// Why an index over all tenants harms none.
    private static let reasons = [
        "setting(name)": "the server's own", "grdb_migrations(identifier)": "the server's own",
        "belfry_migration(identifier)": "the server's own", "command_count(labels,metric)": "the server's own",
        "node(uuid)": "a node's own",
        "tenant(uuid)": "given by operators alone", "application(uuid)": "given by operators alone",
        "platform(uuid)": "given by operators alone",
        "broker_instance(public_id)": "the broker's", "broker_binding(public_id)": "the broker's",
        "carma_account(customer_id,user_name)": "made by operators",
        "carma_app(app_id,customer_id)": "made by operators",
        "carma_account(token_hash)": "a random secret", "open_endpoint(key_hash)": "a random secret",
        "invitation(token_hash)": "a random secret", "dashboard_session(token_hash)": "a random secret",
        "carma_message(page_hash)": "a random secret", "web_push_endpoint(key_hash)": "a random secret",
        "admin_key(public_id)": "random", "push(receipt_id)": "random", "carma_import(import_uuid)": "random",
        "webhook(uuid)": "random",
        "import_job(uuid)": "random where its maker knows better than to tell it; one that is taken shows nothing",
        "idempotency(name)": "a hash of the caller and what they chose",
        "event_mark(day,hash)": "a hash of the event and the UUID of a device, which its app alone knows",
        "gateway_credential(fingerprint)": "of a key whose holder proves it, or an operator's word",
        "person_identity(issuer,subject)": "an issuer is an operator's setting, and says who its subjects are",
        "person(email)":
            "one login for the server; where an issuer vouches for somebody else, its maker has nothing of it",
    ]

    private static func isOwned(_ index: String) -> Bool {
        let columns = index.split { "(,)".contains($0) }.dropFirst()
        return columns.contains { owners.contains(String($0)) }
    }

    @Test(arguments: SchemaWalk.allCases)
    func `every unique index is within a tenant, or harmless`(engine: SchemaWalk) async throws {
        let shared = try await engine.uniqueIndexes().filter { !Self.isOwned($0) }
        #expect(shared.subtracting(Self.reasons.keys) == [], "unique among all tenants, and no reason is stated")
        #expect(shared.count > 15)
    }

    @Test func `every reason is for an index that exists`() async throws {
        var all: Set<String> = []
        for engine in SchemaWalk.allCases { all.formUnion(try await engine.uniqueIndexes()) }
        guard SchemaWalk.allCases.count == 2 else { return }
        #expect(Set(Self.reasons.keys).subtracting(all) == [])
    }
}
