import Crypto
package import FoundationEssentials

/// Provisions and binds for platforms that speak the Open Service Broker API.
///
/// Each step may be repeated: the instance's row names an application before it is made, so the next attempt, or the deletion
/// of an orphan, finds everything that a crash left. Source: Open Service Broker API 2.17, "Orphans".
package struct BrokerService: Sendable {
    let store: any Store
    let admin: AdminService
    let vault: any Vault

    /// Whether something was made, or existed already as it was requested.
    package enum Fate<Made: Sendable>: Sendable {
        case created(Made)
        case existed(Made)
    }

    package struct Credentials: Sendable {
        package let application: UUID
        package let apiKey: String
    }

    package func instance(_ id: String) async throws -> BrokerInstance? { try await store.brokerInstance(id) }

    package func binding(_ id: String, of instance: BrokerInstance) async throws -> BrokerBinding? {
        let binding = try await store.brokerBinding(id)
        return binding?.instance == instance.key ? binding : nil
    }

    /// Throws `BrokerError.conflict` when the id stands for something else.
    package func provision(
        _ id: String, _ plan: BrokerPlan, named name: Name, request: String, by author: AuditAuthor
    ) async throws -> Fate<BrokerInstance> {
        let instance: BrokerInstance
        if let old = try await store.brokerInstance(id) {
            instance = old
        } else {
            instance = try await store.create(
                NewBrokerInstance(
                    id: id, plan: plan, request: request, application: UUID(), tenant: plan == .tenant ? UUID() : nil))
        }
        guard instance.plan == plan, instance.request == request else {
            throw BrokerError.conflict("There is a service instance of this id with other attributes")
        }
        guard try await store.application(instance.application) == nil,
            try await make(instance, named: name, by: author)
        else { return .existed(instance) }
        guard try await store.brokerInstance(id)?.key == instance.key else {
            try await clear(instance, by: author)
            throw BrokerError.conflict("The service instance was deleted while it was provisioned")
        }
        return .created(instance)
    }

    /// False where a repetition of the request has made it meanwhile.
    private func make(_ instance: BrokerInstance, named name: Name, by author: AuditAuthor) async throws -> Bool {
        var tenant = Tenant.first
        if let uuid = instance.tenant {
            if let made = try await store.tenant(uuid) {
                tenant = made.key
            } else {
                tenant = try await admin.createTenant(uuid: uuid, name: name, by: author).key
            }
        }
        do {
            _ = try await admin.createApplication(uuid: instance.application, name: name, of: tenant, by: author)
            return true
        } catch let error as StoreError {
            guard case .taken = error, try await store.application(instance.application) != nil else { throw error }
            return false
        }
    }

    /// The present name of the application; nil where there is none.
    package func name(of instance: BrokerInstance) async throws -> String? {
        try await store.application(instance.application)?.name
    }

    package func rename(_ instance: BrokerInstance, to name: Name, by author: AuditAuthor) async throws {
        guard let application = try await store.application(instance.application) else { throw BrokerError.gone }
        if application.name != name.text {
            try await admin.edit(application, ApplicationEdit(name: name), by: author)
        }
    }

    /// Deletes the application with its platforms and devices. Throws `BrokerError.gone` when there is no such instance,
    /// and `.busy` when the deletion takes longer than a request.
    package func deprovision(_ id: String, by author: AuditAuthor) async throws {
        guard let instance = try await store.brokerInstance(id) else { throw BrokerError.gone }
        try await clear(instance, by: author)
        try await store.delete(instance.key)
        // Made meanwhile, by a request that found the row.
        try await clear(instance, by: author)
    }

    /// Deletes the application and the tenant of an instance, where they exist.
    private func clear(_ instance: BrokerInstance, by author: AuditAuthor) async throws {
        if let application = try await store.application(instance.application) {
            try await admin.delete(application, force: true, by: author)
        }
        if let uuid = instance.tenant, let tenant = try await store.tenant(uuid) {
            try await delete(tenant, by: author)
        }
    }

    /// Deletes a tenant, unless others added applications to it. It cannot be deleted while an application in it is still being deleted.
    private func delete(_ tenant: Tenant, by author: AuditAuthor) async throws {
        for _ in 1...Self.clearingPausesMax {
            do {
                return try await admin.delete(tenant, by: author)
            } catch StoreError.conflict {
                if try await !store.applications(in: .tenant(tenant.key), limit: 1).isEmpty { return }
                try await Task.sleep(for: Self.clearingPause)
            }
        }
        throw BrokerError.busy
    }

    /// The most pauses, five seconds together.
    private static let clearingPausesMax = 50
    private static let clearingPause = Duration.milliseconds(100)

    /// Throws `BrokerError.conflict` when the id stands for something else, and `.gone` when the application does not exist any more.
    package func bind(
        _ id: String, to instance: BrokerInstance, request: String, by author: AuditAuthor
    ) async throws -> Fate<Credentials> {
        guard let application = try await store.application(instance.application) else { throw BrokerError.gone }
        let old = try await store.brokerBinding(id)
        let binding: BrokerBinding
        if let old {
            binding = old
        } else {
            let nonce = [UInt8].random(count: 16)
            let apiKey = try apiKey(of: id, nonce, application)
            let new = NewBrokerBinding(
                id: id, instance: instance.key, request: request, nonce: nonce, apiKeyHash: SecretHash.of(apiKey))
            let change = AuditedChange(by: author, "broker.bind", application, ["binding": id])
            binding = try await store.audited(change) { try await store.create(new) }
        }
        guard binding.instance == instance.key, binding.request == request else {
            throw BrokerError.conflict("There is a service binding of this id with other attributes")
        }
        let credentials = try credentials(of: binding, application)
        return old == nil ? .created(credentials) : .existed(credentials)
    }

    /// The credentials that the binding was given.
    package func credentials(of binding: BrokerBinding, _ instance: BrokerInstance) async throws -> Credentials {
        guard let application = try await store.application(instance.application) else { throw BrokerError.gone }
        return try credentials(of: binding, application)
    }

    private func credentials(of binding: BrokerBinding, _ application: Application) throws -> Credentials {
        let apiKey = try apiKey(of: binding.id, binding.nonce, application)
        guard SecretHash.of(apiKey) == binding.apiKeyHash else {
            throw BrokerError.conflict(
                "The application's shared secret was replaced since, so the key cannot be told again; unbind and bind")
        }
        return Credentials(application: application.uuid, apiKey: apiKey)
    }

    /// Throws `BrokerError.gone` when there is no such binding.
    package func unbind(_ id: String, from instance: BrokerInstance, by author: AuditAuthor) async throws {
        guard let binding = try await binding(id, of: instance) else { throw BrokerError.gone }
        let owner = try await store.application(instance.application).map { Permission.Subject($0) } ?? .everything
        let change = AuditedChange(
            by: author, "broker.unbind", instance.application.lowercased, of: owner, ["binding": id])
        try await store.audited(change) { try await store.delete(binding.key) }
    }

    private func apiKey(of binding: String, _ nonce: [UInt8], _ application: Application) throws -> String {
        let purpose = VaultPurpose.sharedSecret(of: application.uuid)
        let secret = try vault.open(application.sharedSecret, for: purpose)
        let message = Array("broker-binding/\(binding)/".utf8) + nonce
        return Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: secret))).hex
    }
}

/// The reason why the broker refuses a request.
package enum BrokerError: Error, Sendable, Hashable {
    /// There is no such instance or binding.
    case gone
    /// Something else has the id.
    case conflict(String)
    /// A deletion is still being carried out; the same request will find it done.
    case busy
}
