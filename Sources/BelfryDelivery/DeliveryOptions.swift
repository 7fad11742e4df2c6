package import BelfryService

/// The limits and times of the delivery.
package struct DeliveryOptions: Sendable {
    /// How many full batches, or bursts of small ones, are in flight at once: the bound on memory and on duplicates after a
    /// crash.
    package var batchesInFlightMax: Int
    /// The limit of batches in flight for the urgent lane, which has its own pool.
    package var urgentBatchesInFlightMax: Int
    /// The most of them that belong to one platform, so that a stalled provider never takes all.
    package var batchesInFlightOfPlatformMax: Int
    /// A platform whose last batch was in flight for longer shares half of the in-flight budget with other slow ones.
    package var slowAfter: Duration
    /// The number of batches that one step of a fan-out writes. The first step of a fan-out writes one, so that it is
    /// sent at once.
    package var batchesPerStep: Int
    /// The length of a lease. Longer than any provider takes to answer for a batch.
    package var lease: Duration
    /// How long to wait for a hint before polling.
    package var poll: Duration
    package var deadTokenBreaker: DeadTokenBreaker

    package init(
        batchesInFlightMax: Int = 64, urgentBatchesInFlightMax: Int = 16, batchesInFlightOfPlatformMax: Int = 8,
        slowAfter: Duration = .seconds(5), batchesPerStep: Int = 16, lease: Duration = .seconds(120),
        poll: Duration = .seconds(1), deadTokenBreaker: DeadTokenBreaker = DeadTokenBreaker()
    ) {
        self.batchesInFlightMax = batchesInFlightMax
        self.urgentBatchesInFlightMax = urgentBatchesInFlightMax
        self.batchesInFlightOfPlatformMax = batchesInFlightOfPlatformMax
        self.slowAfter = slowAfter
        self.batchesPerStep = batchesPerStep
        self.lease = lease
        self.poll = poll
        self.deadTokenBreaker = deadTokenBreaker
    }
}
