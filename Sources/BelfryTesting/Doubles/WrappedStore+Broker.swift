package import BelfryService

extension WrappedStore {
    package func brokerInstance(_ id: String) async throws -> BrokerInstance? { try await base.brokerInstance(id) }
    package func create(_ instance: NewBrokerInstance) async throws -> BrokerInstance {
        try await base.create(instance)
    }
    package func delete(_ instance: Key<BrokerInstance>) async throws { try await base.delete(instance) }
    package func brokerBinding(_ id: String) async throws -> BrokerBinding? { try await base.brokerBinding(id) }
    package func create(_ binding: NewBrokerBinding) async throws -> BrokerBinding { try await base.create(binding) }
    package func delete(_ binding: Key<BrokerBinding>) async throws { try await base.delete(binding) }
}
