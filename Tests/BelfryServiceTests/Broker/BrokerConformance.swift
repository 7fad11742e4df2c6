import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct BrokerConformance {
    @Test(arguments: Engine.allCases)
    func `an id keeps its first meaning; binding keys follow applications`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, app) = (fixture.store, fixture.application.uuid)
            let new = NewBrokerInstance(id: "i", plan: .tenant, request: "{}", application: app, tenant: UUID())
            let made = try await store.create(new)
            #expect(made.plan == .tenant && made.application == app && made.tenant == new.tenant)
            let other = NewBrokerInstance(id: "i", plan: .application, request: "x", application: UUID(), tenant: nil)
            #expect(try await store.create(other) == made)
            #expect(try await store.brokerInstance("i") == made)
            #expect(try await store.brokerInstance("j") == nil)
            let binding = NewBrokerBinding(
                id: "b", instance: made.key, request: "{}", nonce: [1, 0], apiKeyHash: [7, 7])
            let bound = try await store.create(binding)
            #expect(try await store.brokerBinding("b") == bound && bound.nonce == [1, 0])
            #expect(try await store.application(app)?.bindingKeyHashes == [[7, 7]])
            try await store.delete(bound.key)
            #expect(try await store.application(app)?.bindingKeyHashes == [])
            _ = try await store.create(binding)
            try await store.delete(made.key)
            #expect(try await store.brokerInstance("i") == nil)
            #expect(try await store.brokerBinding("b") == nil)
            #expect(try await store.application(app)?.bindingKeyHashes == [])
            await #expect(throws: StoreError.self) { try await store.create(binding) }
        }
    }
}
