import BelfryService

/// Claims as many bursts of batches as can be in flight, and has a delivery worker send each.
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
                burstsMax: batchesInFlightMax, burstsOfPlatformMax: options.batchesInFlightOfPlatformMax,
                slowAfter: options.slowAfter))
    }

    var batchesInFlight: Int { inFlight.batches }

    func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await loop.run(wokenBy: wakeSignal) {
                var hasFound = false
                for pace in InFlightBudget.Pace.allCases {
                    guard let claim = nextClaim(pace) else { continue }
                    for burst in claim.burst.runs(of: try await store.claimBatches(claim)) {
                        inFlight.take(burst)
                        group.addTask { await deliver(burst) }
                        hasFound = true
                    }
                }
                return hasFound
            }
        }
    }

    private func deliver(_ burst: [Batch]) async {
        let takenAt = worker.clock.now
        await worker.deliver(burst)
        inFlight.release(burst, after: worker.clock.now - takenAt)
        wakeSignal.raise()
    }

    private func nextClaim(_ pace: InFlightBudget.Pace) -> BatchClaim? {
        guard var share = inFlight.share(of: pace) else { return nil }
        for (platform, devices) in providers.room() where devices <= 0 { share.room[platform] = 0 }
        return BatchClaim(
            burstsMax: share.burstsMax, lanes: lanes, room: share.room, roomElsewhere: share.roomElsewhere,
            lease: lease)
    }
}
