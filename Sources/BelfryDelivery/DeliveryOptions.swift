package import BelfryCore

/// How the delivery works: its limits, and how long it waits.
package struct DeliveryOptions: Sendable {
    /// How many batches are in flight at once; with `Batch.devicesMax` the bound on memory and on duplicates after a
    /// crash.
    package var batchesInFlightMax: Int
    /// As many again, for urgent pushes alone.
    package var urgentBatchesInFlightMax: Int
    /// How many of them may be one platform's, so that a stalled provider never takes all.
    package var batchesInFlightOfPlatformMax: Int
    /// A platform whose batch was in flight for longer shares half of the in-flight budget with others of its kind.
    package var slowAfter: Duration
    /// How many batches one step of a fan-out writes. The first step of a fan-out writes one, so that it leaves at
    /// once.
    package var batchesPerStep: Int
    /// How long a claim holds. Longer than any provider takes to answer for a batch.
    package var lease: Duration
    /// How long to wait for a hint before looking anyway.
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
