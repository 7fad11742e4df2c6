/// Stores the instances and bindings of the service broker.
package protocol BrokerStore: Sendable {
    func brokerInstance(_ id: String) async throws -> BrokerInstance?
    /// Returns the one that has the id already, and changes nothing then.
    func create(_ instance: NewBrokerInstance) async throws -> BrokerInstance
    /// With its bindings. Does nothing where there is none.
    func delete(_ instance: Key<BrokerInstance>) async throws

    func brokerBinding(_ id: String) async throws -> BrokerBinding?
    /// Returns the one that has the id already, and changes nothing then. The application takes its API key from then on. Throws
    /// `StoreError.unknown` when the instance is gone.
    func create(_ binding: NewBrokerBinding) async throws -> BrokerBinding
    /// The application takes its API key no more.
    func delete(_ binding: Key<BrokerBinding>) async throws
}
