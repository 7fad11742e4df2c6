import BelfryCore
import Logging

/// Carries one page of devices to their provider and writes down what came of it.
///
/// A page is a lease. A courier that dies loses it when it lapses and another carries it again: a device may be told
/// twice, never not at all. The collapse key makes the second copy replace the first.
struct Courier: Sendable {
    let store: any DeliveryStore
    let providers: any ProviderDirectory
    let policy: RetryPolicy
    let clock: any WallClock
    let random: @Sendable () -> Double
    let deathWatches: DeathWatches
    let faults: ConnectionFaultReporter
    let witness: any Witness
    let logger: Logger

    /// Never throws: a page whose fate cannot be written down lapses and is carried again.
    func carry(_ page: Page) async {
        do {
            guard let load = try await load(page) else { return }
            let (delivered, outcomes) = try await deliver(page, load)
            let settlement = deathWatches.observe(delivered, on: load.platform, at: clock.now)
            guard try await store.settle(settlement) else {
                Metric.leaseLost()
                logger.warning("page was settled by another courier", metadata: ["page.key": "\(page.key)"])
                return
            }
            report(settlement, of: load)
            try await faults.report(outcomes, of: load.platform)
            witness.noticed(load.push.head)
        } catch is CancellationError {
            return
        } catch {
            Metric.fault()
            logger.error(
                "page was not settled and will be carried again",
                metadata: ["page.key": "\(page.key)", "error": "\(error)"])
        }
    }

    /// What the page needs. A courier that is called off hands the page back at once, since nobody was told yet.
    ///
    /// A lapsed page lapses again instead: somebody may have been told before, and a lease that ended in order would hide it.
    private func load(_ page: Page) async throws -> PageLoad? {
        do {
            return try await store.load(page)
        } catch let error as CancellationError where !page.isLapsed {
            _ = try await store.settle(Settlement(handingBack: page, at: clock.now))
            throw error
        }
    }

    private func deliver(_ page: Page, _ load: PageLoad) async throws -> (Settlement, [Outcome]) {
        if page.attempt == 1 { Metric.batchTaken(in: page.lane, age: clock.now - load.push.acceptedAt) }
        if page.isLapsed, load.push.guarantee == .atMostOnce { return (Settlement(abandoned: page), []) }
        if policy.end(of: load.push) <= clock.now { return (Settlement(expired: page), []) }
        do {
            let provider = try await providers.provider(for: load.platform)
            let outcomes = load.recipients.isEmpty ? [] : await send(load, by: provider)
            let settlement = Settlement(
                of: page, carrying: load, outcomes: outcomes, policy: policy, now: clock.now, jitter: random())
            return (settlement, outcomes)
        } catch ProviderError.credentials(let words) {
            let parking = Parking(cause: .credentials, detail: words, since: clock.now)
            return (Settlement(handingBack: page, at: clock.now, halt: Settlement.Halt(parking, of: load.platform)), [])
        }
    }

    private func send(_ load: PageLoad, by provider: any Provider) async -> [Outcome] {
        let start = ContinuousClock.now
        let outcomes = await provider.send(load.push, to: load.recipients)
        Metric.sent(to: load.platform.kind, in: start.duration(to: .now))
        return outcomes
    }

    private func report(_ settlement: Settlement, of load: PageLoad) {
        Metric.settled(settlement)
        if settlement.retryAt == nil {
            let age = clock.now - load.push.acceptedAt
            Metric.delivered(in: settlement.page.lane, to: load.platform.kind, after: age)
        }
        logger.debug("page settled", metadata: ["page.key": "\(settlement.page.key)"])
        guard let parking = settlement.halt?.parking else { return }
        logger.error(
            "platform is parked until a person mends it",
            metadata: [
                "platform.key": "\(settlement.page.platformKey)", "cause": "\(parking.cause)",
                "detail": "\(parking.detail)",
            ])
    }
}
