import BelfryCore
import Logging

/// Sends one batch of devices to their provider and stores the outcome of each.
///
/// A claimed batch is a lease. When a worker dies, the lease lapses and another worker sends the batch again: a device
/// may be notified twice, never not at all. Where the provider supports it, the repeated message replaces the first.
struct DeliveryWorker: Sendable {
    let store: any DeliveryStore
    let providers: any ProviderDirectory
    let policy: RetryPolicy
    let clock: any WallClock
    let random: @Sendable () -> Double
    let deadTokenBreakers: DeadTokenBreakers
    let faults: ConnectionFaultReporter
    let pushObserver: any PushObserver
    let logger: Logger

    /// Never throws: a batch whose settlement cannot be written lapses and is sent again.
    func deliver(_ batch: Batch) async {
        do {
            guard let load = try await load(batch) else { return }
            let (delivered, outcomes) = try await send(batch, load)
            let settlement = deadTokenBreakers.observe(delivered, on: load.platform, at: clock.now)
            guard try await store.settle(settlement) else {
                Metric.leaseLost()
                logger.warning("batch was settled by another delivery worker", metadata: ["batch.key": "\(batch.key)"])
                return
            }
            report(settlement, of: load)
            try await faults.report(outcomes, of: load.platform)
            pushObserver.noticed(load.push.head)
        } catch is CancellationError {
            return
        } catch {
            Metric.fault()
            logger.error(
                "batch was not settled and will be sent again",
                metadata: ["batch.key": "\(batch.key)", "error": "\(error)"])
        }
    }

    /// Loads the batch. On cancellation it hands the batch back at once, since no device was notified yet.
    ///
    /// A lapsed batch is left to lapse again: devices may already have been notified, and a clean hand-back would hide
    /// that.
    private func load(_ batch: Batch) async throws -> BatchLoad? {
        do {
            return try await store.load(batch)
        } catch let error as CancellationError where !batch.isLapsed {
            _ = try await store.settle(Settlement(handingBack: batch, at: clock.now))
            throw error
        }
    }

    private func send(_ batch: Batch, _ load: BatchLoad) async throws -> (Settlement, [Outcome]) {
        if batch.attempt == 1 { Metric.batchTaken(in: batch.lane, age: clock.now - load.push.acceptedAt) }
        if batch.isLapsed, load.push.guarantee == .atMostOnce { return (Settlement(abandoned: batch), []) }
        if policy.end(of: load.push) <= clock.now { return (Settlement(expired: batch), []) }
        do {
            let provider = try await providers.provider(for: load.platform)
            let outcomes = load.recipients.isEmpty ? [] : await send(load, by: provider)
            let settlement = Settlement(
                of: batch, sending: load, outcomes: outcomes, policy: policy, now: clock.now, jitter: random())
            return (settlement, outcomes)
        } catch ProviderError.credentials(let words) {
            let parking = Parking(cause: .credentials, detail: words, since: clock.now)
            return (
                Settlement(handingBack: batch, at: clock.now, halt: Settlement.Halt(parking, of: load.platform)), []
            )
        }
    }

    private func send(_ load: BatchLoad, by provider: any Provider) async -> [Outcome] {
        let start = ContinuousClock.now
        let outcomes = await provider.send(load.push, to: load.recipients)
        Metric.sent(to: load.platform.kind, in: start.duration(to: .now))
        return outcomes
    }

    private func report(_ settlement: Settlement, of load: BatchLoad) {
        Metric.settled(settlement)
        if settlement.retryAt == nil {
            let age = clock.now - load.push.acceptedAt
            Metric.delivered(in: settlement.batch.lane, to: load.platform.kind, after: age)
        }
        logger.debug("batch settled", metadata: ["batch.key": "\(settlement.batch.key)"])
        guard let parking = settlement.halt?.parking else { return }
        logger.error(
            "platform is parked until a person mends it",
            metadata: [
                "platform.key": "\(settlement.batch.platformKey)", "cause": "\(parking.cause)",
                "detail": "\(parking.detail)",
            ])
    }
}
