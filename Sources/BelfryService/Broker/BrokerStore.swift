/// Stores the instances and bindings of the service broker.
package protocol BrokerStore: Sendable {
    func brokerInstance(_ id: String) async throws -> BrokerInstance?
    /// Returns the existing instance when one has the id, and then changes nothing.
    func create(_ instance: NewBrokerInstance) async throws -> BrokerInstance
    /// Deletes the instance with its bindings. Does nothing where there is none.
    func delete(_ instance: Key<BrokerInstance>) async throws

    func brokerBinding(_ id: String) async throws -> BrokerBinding?
    /// Returns the existing binding when one has the id, and then changes nothing. The application accepts its API key from then
    /// on. Throws `StoreError.unknown` when the instance is gone.
    func create(_ binding: NewBrokerBinding) async throws -> BrokerBinding
    /// Deletes the binding. The application no longer accepts its API key.
    func delete(_ binding: Key<BrokerBinding>) async throws
}
