import BelfryService
import BelfryTesting

extension Simulation {
    /// The delivery as it is, in a world.
    convenience init(delivering world: World, wrap: (MemoryStore) -> any DeliveryPorts = { $0 }) {
        self.init(world, wrap: wrap) { try await Self.deliver($0) }
    }

    static func deliver(_ process: Process) async throws {
        let delivery = Delivery(
            store: process.store, providers: process.providers, clock: process.clock, policy: process.policy,
            options: DeliveryOptions(process.limits), random: process.random, logger: process.logger)
        try await delivery.run()
    }
}

extension DeliveryOptions {
    fileprivate init(_ limits: World.Limits) {
        self.init(
            batchesInFlightMax: limits.batchesInFlightMax, urgentBatchesInFlightMax: limits.urgentBatchesInFlightMax,
            batchesInFlightOfPlatformMax: limits.batchesInFlightOfPlatformMax, batchesPerStep: limits.batchesPerStep,
            lease: limits.lease, poll: limits.poll, deadTokenBreaker: limits.deadTokenBreaker)
    }
}
