package import FoundationEssentials

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

    package init(
        key: Key<BrokerInstance>, id: String, plan: BrokerPlan, request: String, application: UUID, tenant: UUID?
    ) {
        self.key = key
        self.id = id
        self.plan = plan
        self.request = request
        self.application = application
        self.tenant = tenant
    }
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

    package init(id: String, plan: BrokerPlan, request: String, application: UUID, tenant: UUID?) {
        self.id = id
        self.plan = plan
        self.request = request
        self.application = application
        self.tenant = tenant
    }
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

    package init(
        key: Key<BrokerBinding>, id: String, instance: Key<BrokerInstance>, request: String, nonce: [UInt8],
        apiKeyHash: [UInt8]
    ) {
        self.key = key
        self.id = id
        self.instance = instance
        self.request = request
        self.nonce = nonce
        self.apiKeyHash = apiKeyHash
    }
}

package struct NewBrokerBinding: Sendable, Hashable {
    package let id: String
    package let instance: Key<BrokerInstance>
    package let request: String
    package let nonce: [UInt8]
    package let apiKeyHash: [UInt8]

    package init(
        id: String, instance: Key<BrokerInstance>, request: String, nonce: [UInt8], apiKeyHash: [UInt8]
    ) {
        self.id = id
        self.instance = instance
        self.request = request
        self.nonce = nonce
        self.apiKeyHash = apiKeyHash
    }
}
