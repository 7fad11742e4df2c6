import FoundationEssentials
package import Logging
import Metrics
import ServiceLifecycle
import Synchronization

/// Numbers the events of applications and posts them to their webhooks.
///
/// A claimed receiver is a lease. When a node dies, the lease lapses and another node goes on where the receiver's position is: it may get an
/// event twice, never not at all. Each receiver has its own few requests under way, so one that does not answer holds up no other.
package struct WebhookWorker: Service {
    private let store: any Store
    private let vault: any Vault
    private let poster: any WebhookPoster
    private let clock: any WallClock
    private let keptMax: Int64
    private let random: @Sendable () -> Double
    private let logger: Logger
    private let budget = BudgetBox()
    private let wakeSignal = WakeSignal()

    private final class BudgetBox: Sendable {
        let state = Mutex(WebhookBudget())
    }

    /// No request begins later in a turn; the lease is longer by more than a request takes.
    private static let turnMax = Duration.seconds(10)
    private static let lease = Duration.seconds(30)
    private static let poll = Duration.seconds(1)
    private static let faultPause = Duration.seconds(1)

    /// - Parameters:
    ///   - keptMax: the most events of an application that are kept.
    ///   - random: from 0 to 1.
    package init(
        store: any Store, vault: any Vault, poster: any WebhookPoster, clock: any WallClock, keptMax: Int = 1_000_000,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
        logger: Logger
    ) {
        self.store = store
        self.vault = vault
        self.poster = poster
        self.clock = clock
        self.keptMax = Int64(keptMax)
        self.random = random
        self.logger = logger
        WebhookMetric.declare()
    }

    /// Ends once the requests under way have their answers.
    package func run() async throws {
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await work() }
                group.addTask {
                    for await _ in store.hints(of: .webhooks) { wakeSignal.raise() }
                    await WakeSignal().wait()
                }
                // Hints may be missing, and retries fall due.
                group.addTask {
                    while true {
                        try await clock.sleep(for: Self.poll)
                        wakeSignal.raise()
                    }
                }
                try await group.next()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            wakeSignal.close()
        }
    }

    private func work() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            let loop = RetryingLoop(clock: clock, pause: Self.faultPause, logger: logger)
            try await loop.run(wokenBy: wakeSignal) {
                guard try await store.hasWebhookWork() else { return false }
                var isMore = try await store.numberWebhookEvents(keptMax: keptMax)
                let claims = try await store.claimWebhooks(
                    within: budget.state.withLock { $0 }, until: clock.now + Self.lease)
                for claim in claims {
                    budget.state.withLock { $0.add(1, of: claim.tenant, isFailing: claim.isFailing) }
                    isMore = true
                    group.addTask { await deliver(claim) }
                }
                return isMore
            }
        }
    }

    private func deliver(_ claim: WebhookClaim) async {
        do { try await turn(claim) } catch is CancellationError {
            logger.trace("a turn of a webhook ends")
        } catch {
            logger.error("a webhook failed, it will be retried", metadata: ["error": "\(error)"])
        }
        budget.state.withLock { $0.add(-1, of: claim.tenant, isFailing: claim.isFailing) }
        wakeSignal.raise()
    }

    /// Sends what one receiver is to get now, and writes down what came of it.
    func turn(_ claim: WebhookClaim) async throws {
        guard let turn = try await store.webhookTurn(claim),
            let application = try await store.application(turn.webhook.applicationKey)
        else { return }
        let secrets: [String]
        do { secrets = try WebhookSeal(of: turn.webhook, by: vault).signing(turn.webhook, at: clock.now) } catch {
            logger.error(
                "the secret of a webhook cannot be opened",
                metadata: ["webhook.uuid": "\(turn.webhook.uuid.lowercased)", "error": "\(error)"])
            return
        }
        let end = clock.now + Self.turnMax
        // Events that were not tried yet go first where it is unknown whether the receiver is alive.
        let probes = turn.lanes.indices.filter { turn.lanes[$0][0].attempts == 0 }.prefix(WebhookBudget.ofUnknownMax)
        let lanes = (probes + turn.lanes.indices.filter { !probes.contains($0) }).map { turn.lanes[$0] }
        var (attempts, most) = ([WebhookTurn.Attempt](), 1)
        func grow(to wanted: Int) {
            let wanted = min(wanted, lanes.count) - most
            most += budget.state.withLock { $0.takeMore(wanted, of: claim.tenant, isFailing: claim.isFailing) }
        }
        grow(to: WebhookBudget.ofUnknownMax)
        await withTaskGroup(of: [WebhookTurn.Attempt].self) { group in
            var underWay = 0
            for lane in lanes {
                if underWay == most, let some = await group.next() {
                    attempts += some
                    underWay -= 1
                    if some.first?.answer.isDelivered == true { grow(to: WebhookBudget.ofReceiverMax) }
                }
                group.addTask { await send(lane, of: turn.webhook, application.uuid, secrets, until: end) }
                underWay += 1
            }
            for await some in group { attempts += some }
        }
        budget.state.withLock { $0.add(1 - most, of: claim.tenant, isFailing: claim.isFailing) }
        // What a cancelled request came to is not known: the lease lapses.
        try Task.checkCancellation()
        let result = turn.result(attempts, at: clock.now, jitter: random)
        let line = AuditedChange(
            keyID: "server", address: nil, action: "webhook.pause", subject: application.uuid.lowercased,
            tenant: application.tenantKey, application: application.key,
            details: ["webhook": turn.webhook.uuid.lowercased, "reason": result.pause?.rawValue ?? ""])
        try await store.settle(result, of: turn.webhook, pausing: line)
        WebhookMetric.note(result, of: attempts, at: clock.now)
    }

    /// One after the other, up to the first that fails.
    private func send(
        _ lane: [WebhookTurn.Item], of webhook: Webhook, _ application: UUID, _ secrets: [String], until end: Instant
    ) async -> [WebhookTurn.Attempt] {
        var attempts: [WebhookTurn.Attempt] = []
        for item in lane {
            let now = clock.now
            guard now < end, !wakeSignal.isClosed else { break }
            let answer = await poster.post(
                WebhookMessage(
                    url: webhook.url, id: item.event.id, body: item.event.message(of: application), secrets: secrets,
                    sentAt: now))
            attempts.append(WebhookTurn.Attempt(item: item, at: now, answer: answer))
            guard answer.isDelivered else { break }
        }
        return attempts
    }
}

/// The metrics of webhooks; docs/Metrics.md explains them.
enum WebhookMetric {
    private static let attempts = Dictionary(
        uniqueKeysWithValues: ["delivered", "refused", "unanswered"].map { result in
            (result, Counter(label: "belfry_webhook_attempts_total", dimensions: [("result", result)]))
        })
    private static let ages = Timer(label: "belfry_webhook_event_age_seconds")
    private static let dropped = Counter(label: "belfry_webhook_events_dropped_total")
    private static let paused = Counter(label: "belfry_webhooks_paused_total")

    /// Makes all series, so that the page shows them from the start with 0.
    static func declare() {
        let plain: [Any] = [ages, dropped, paused]
        precondition(plain.count + attempts.count == 6, "every metric has a series")
    }

    static func note(_ result: WebhookTurn.Result, of attempts: [WebhookTurn.Attempt], at now: Instant) {
        for attempt in attempts {
            let answer = attempt.answer
            let result = answer.isDelivered ? "delivered" : answer.status == nil ? "unanswered" : "refused"
            self.attempts[result]?.increment()
            if answer.isDelivered { ages.record(duration: max(.zero, now - attempt.item.event.createdAt)) }
        }
        dropped.increment(by: result.dropped)
        if result.pause != nil { paused.increment() }
    }
}

/// How many requests a node has under way to receivers: bounded for all and for each tenant. Those to receivers that took nothing lately
/// count apart, so that the others always have room.
struct WebhookBudget: Sendable {
    private var used: [Bool: [Key<Tenant>: Int]] = [:]

    static let ofReceiverMax = 16
    /// For a receiver that has not taken anything of a turn yet.
    static let ofUnknownMax = 2

    private static func ofTenantMax(isFailing: Bool) -> Int { isFailing ? 8 : 32 }
    private static func ofNodeMax(isFailing: Bool) -> Int { isFailing ? 32 : 96 }

    /// Tenants that get no more.
    func fullTenants(isFailing: Bool) -> [Key<Tenant>] {
        used[isFailing, default: [:]].filter { $0.value >= Self.ofTenantMax(isFailing: isFailing) }.map(\.key)
    }

    /// How many more requests there may be.
    func room(isFailing: Bool) -> Int {
        max(0, Self.ofNodeMax(isFailing: isFailing) - used[isFailing, default: [:]].values.reduce(0, +))
    }

    func room(of tenant: Key<Tenant>, isFailing: Bool) -> Int {
        let ofTenant = Self.ofTenantMax(isFailing: isFailing) - used[isFailing, default: [:]][tenant, default: 0]
        return max(0, min(room(isFailing: isFailing), ofTenant))
    }

    mutating func add(_ count: Int, of tenant: Key<Tenant>, isFailing: Bool) {
        used[isFailing, default: [:]][tenant, default: 0] += count
        if used[isFailing]?[tenant] == 0 { used[isFailing]?[tenant] = nil }
    }

    /// Gives a receiver further requests, up to half of those that are left. Returns their number.
    mutating func takeMore(_ wanted: Int, of tenant: Key<Tenant>, isFailing: Bool) -> Int {
        let taken = max(0, min(wanted, room(of: tenant, isFailing: isFailing) / 2))
        add(taken, of: tenant, isFailing: isFailing)
        return taken
    }
}
