package import BelfryService

extension MemoryStore {
    package func brokerInstance(_ id: String) async throws -> BrokerInstance? { contents.brokerInstances[id] }

    package func create(_ new: NewBrokerInstance) async throws -> BrokerInstance {
        transaction { contents in
            if let old = contents.brokerInstances[new.id] { return old }
            let instance = BrokerInstance(
                key: contents.nextKey(), id: new.id, plan: new.plan, request: new.request,
                application: new.application, tenant: new.tenant)
            contents.brokerInstances[new.id] = instance
            return instance
        }
    }

    package func delete(_ instance: Key<BrokerInstance>) async throws {
        transaction { contents in
            contents.brokerBindings = contents.brokerBindings.filter { $0.value.instance != instance }
            contents.brokerInstances = contents.brokerInstances.filter { $0.value.key != instance }
            contents.shareBindingKeys()
        }
    }

    package func brokerBinding(_ id: String) async throws -> BrokerBinding? { contents.brokerBindings[id] }

    package func create(_ new: NewBrokerBinding) async throws -> BrokerBinding {
        try transaction { contents in
            if let old = contents.brokerBindings[new.id] { return old }
            guard contents.brokerInstances.values.contains(where: { $0.key == new.instance }) else {
                throw StoreError.unknown("service instance")
            }
            let binding = BrokerBinding(
                key: contents.nextKey(), id: new.id, instance: new.instance, request: new.request, nonce: new.nonce,
                apiKeyHash: new.apiKeyHash)
            contents.brokerBindings[new.id] = binding
            contents.shareBindingKeys()
            return binding
        }
    }

    package func delete(_ binding: Key<BrokerBinding>) async throws {
        transaction { contents in
            contents.brokerBindings = contents.brokerBindings.filter { $0.value.key != binding }
            contents.shareBindingKeys()
        }
    }
}

extension Contents {
    /// Gives each application the API keys that its bindings have.
    fileprivate mutating func shareBindingKeys() {
        for (key, old) in applications {
            let instances = Set(brokerInstances.values.filter { $0.application == old.uuid }.map(\.key))
            let bindings = brokerBindings.values.filter { instances.contains($0.instance) }
            applications[key] = Application(
                key: old.key, uuid: old.uuid, name: old.name, apiKeyHash: old.apiKeyHash,
                sharedSecret: old.sharedSecret, createdAt: old.createdAt, tenantKey: old.tenantKey,
                bindingKeyHashes: bindings.sorted { $0.key < $1.key }.map(\.apiKeyHash),
                ignoresUnknownFields: old.ignoresUnknownFields)
        }
    }
}
