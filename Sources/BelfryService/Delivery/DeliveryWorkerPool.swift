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

    private let broadcastExecutor: (any TaskExecutor)?
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
        broadcastExecutor = options.broadcastExecutor
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
                    let claimedAt = worker.clock.now
                    for burst in try await store.claimBursts(claim) {
                        inFlight.take(burst)
                        // What is urgent, and the requests beside it, wait for no broadcast's turn of some milliseconds.
                        let isUrgent = burst.first?.lane == .urgent
                        group.addTask(
                            executorPreference: isUrgent ? nil : broadcastExecutor, priority: isUrgent ? .high : .low
                        ) { await deliver(burst, claimedAt) }
                        hasFound = true
                    }
                }
                return hasFound
            }
        }
    }

    private func deliver(_ burst: [Batch], _ claimedAt: Instant) async {
        let takenAt = worker.clock.now
        await worker.deliver(burst, claimedAt: claimedAt)
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
    /// The longest that a provider may take for a batch.
    package var deadlineMax = Duration.zero
    /// How long to wait for a hint before polling.
    package var poll: Duration
    package var deadTokenBreaker: DeadTokenBreaker
    /// Runs what sends batches that are not urgent; nil for the executor of the delivery.
    package var broadcastExecutor: (any TaskExecutor)?

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

    /// How long after a claim sending may begin, so that it has ended and is settled before the lease lapses.
    var begunWithin: Duration { min(lease / 2, max(.seconds(1), lease - deadlineMax * 11 / 10)) }
}
