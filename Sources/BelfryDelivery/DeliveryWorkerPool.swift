import BelfryCore

/// Claims as many batches as may be in flight, and starts a delivery worker for each.
///
/// Back pressure is claiming less: a provider without room, or with its share of batches in flight, gets no more.
struct DeliveryWorkerPool: Sendable {
    let store: any DeliveryStore
    let providers: any ProviderDirectory
    let worker: DeliveryWorker
    let lanes: [Lane]
    let lease: Duration
    let loop: RetryingLoop
    let wakeSignal = WakeSignal()

    private let inFlight: InFlightLimiter

    init(
        store: any DeliveryStore, providers: any ProviderDirectory, worker: DeliveryWorker, lanes: [Lane],
        batchesInFlightMax: Int,
        options: DeliveryOptions, loop: RetryingLoop
    ) {
        self.store = store
        self.providers = providers
        self.worker = worker
        self.lanes = lanes
        self.lease = options.lease
        self.loop = loop
        inFlight = InFlightLimiter(
            InFlightBudget(
                batchesMax: batchesInFlightMax, batchesOfPlatformMax: options.batchesInFlightOfPlatformMax,
                slowAfter: options.slowAfter))
    }

    var batchesInFlight: Int { inFlight.batches }

    func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await loop.run(until: wakeSignal) {
                var hasFound = false
                for pace in InFlightBudget.Pace.allCases {
                    guard let claim = nextClaim(pace) else { continue }
                    for batch in try await store.claimBatches(claim) {
                        inFlight.take(batch)
                        group.addTask { await deliver(batch) }
                        hasFound = true
                    }
                }
                return hasFound
            }
        }
    }

    private func deliver(_ batch: Batch) async {
        let takenAt = worker.clock.now
        await worker.deliver(batch)
        inFlight.release(batch, after: worker.clock.now - takenAt)
        wakeSignal.raise()
    }

    private func nextClaim(_ pace: InFlightBudget.Pace) -> BatchClaim? {
        guard var share = inFlight.share(of: pace) else { return nil }
        for (platform, devices) in providers.room() where devices <= 0 { share.room[platform] = 0 }
        return BatchClaim(
            batchesMax: share.batchesMax, lanes: lanes, room: share.room, roomElsewhere: share.roomElsewhere,
            lease: lease)
    }
}
