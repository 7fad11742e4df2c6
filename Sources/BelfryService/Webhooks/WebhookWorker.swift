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
                    budget.state.withLock { _ = $0.take(of: claim.tenant, isFailing: claim.isFailing) }
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
        budget.state.withLock { $0.giveBack(of: claim.tenant, isFailing: claim.isFailing) }
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
        let attempts = await withTaskGroup(of: [WebhookTurn.Attempt].self) { group in
            var attempts: [WebhookTurn.Attempt] = []
            for (index, lane) in turn.lanes.enumerated() {
                if index >= WebhookBudget.requests(isFailing: claim.isFailing), let some = await group.next() {
                    attempts += some
                }
                group.addTask { await send(lane, of: turn.webhook, application.uuid, secrets, until: end) }
            }
            for await some in group { attempts += some }
            return attempts
        }
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

/// How many requests a node has under way to receivers: bounded for all, for each tenant and for those that fail.
struct WebhookBudget: Sendable {
    private var used = 0
    private var failing = 0
    private var ofTenants: [Key<Tenant>: Int] = [:]

    static let requestsMax = 128
    static let ofReceiverMax = 16
    static let ofTenantMax = requestsMax / 4
    /// Receivers that took nothing lately share it, so that the others always have room.
    static let ofFailingMax = requestsMax / 2

    /// Tenants that get no more.
    var fullTenants: [Key<Tenant>] {
        ofTenants.filter { $0.value + Self.ofReceiverMax > Self.ofTenantMax }.map(\.key)
    }

    /// Whether receivers that took nothing lately get more. Otherwise they would hide those that do.
    var takesFailing: Bool { failing < Self.ofFailingMax }

    static func requests(isFailing: Bool) -> Int { isFailing ? 1 : ofReceiverMax }

    /// False where there is no room.
    mutating func take(of tenant: Key<Tenant>, isFailing: Bool) -> Bool {
        let count = Self.requests(isFailing: isFailing)
        guard used + count <= Self.requestsMax, ofTenants[tenant, default: 0] + count <= Self.ofTenantMax,
            !isFailing || takesFailing
        else { return false }
        add(count, tenant, isFailing)
        return true
    }

    mutating func giveBack(of tenant: Key<Tenant>, isFailing: Bool) {
        add(-Self.requests(isFailing: isFailing), tenant, isFailing)
        if ofTenants[tenant] == 0 { ofTenants[tenant] = nil }
    }

    private mutating func add(_ count: Int, _ tenant: Key<Tenant>, _ isFailing: Bool) {
        used += count
        ofTenants[tenant, default: 0] += count
        if isFailing { failing += count }
    }
}
