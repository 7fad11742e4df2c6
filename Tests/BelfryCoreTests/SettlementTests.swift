import BelfryCore
import BelfryTesting
import Testing

@Suite struct SettlementTests {
    private static let now = Instant(milliseconds: 1_000_000)
    private static let policy = RetryPolicy(
        firstDelay: .seconds(2), longestDelay: .seconds(60), patience: .seconds(3_600))

    /// A page of as many devices as there are outcomes, each of whom was sent to.
    private func settle(
        _ outcomes: [Outcome], guarantee: Push.Guarantee = .atLeastOnce, attempt: Int64 = 1, expiresAt: Instant? = nil
    ) -> Settlement {
        let page = Page.sample(outcomes.map { _ in .pending }, attempt: attempt)
        return Settlement(
            of: page, carrying: .sample(page.devices, guarantee: guarantee, expiresAt: expiresAt), outcomes: outcomes,
            policy: Self.policy, now: Self.now, jitter: 0)
    }

    // MARK: One consequence for each outcome

    @Test func `accepted is the answer`() {
        let settlement = settle([.accepted])
        #expect(settlement == Settlement(page: settlement.page, answers: [.accepted], retryAt: nil))
    }

    @Test(arguments: Refusal.allCases) func `refused keeps its reason and is not tried again`(refusal: Refusal) {
        let settlement = settle([.refused(refusal)])
        #expect(settlement == Settlement(page: settlement.page, answers: [.refused(refusal)], retryAt: nil))
    }

    @Test func `gone with a time deactivates`() {
        let settlement = settle([.accepted, .gone(since: .zero)])
        #expect(settlement.answers == [.accepted, .gone])
        #expect(settlement.deaths == [Settlement.Death(device: Key(2), since: .zero)])
        #expect(settlement.retryAt == nil)
    }

    @Test func `moved is accepted, with the token it had and the one it has`() {
        let token = DeviceToken(bytes: [9])
        let settlement = settle([.accepted, .moved(to: token)])
        #expect(settlement.answers == [.accepted, .accepted])
        let from = PageLoad.sample(settlement.page.devices).recipients[1].token
        #expect(settlement.moves == [Settlement.Move(device: Key(2), from: from, to: token)])
    }

    @Test func `gone without a time deactivates nobody`() {
        let settlement = settle([.gone(since: nil)])
        #expect(settlement.answers == [.gone])
        #expect(settlement.deaths.isEmpty)
    }

    @Test func `throttled waits as long as the longest that was asked`() {
        let settlement = settle([.throttled(retryAfter: .seconds(9)), .accepted, .throttled(retryAfter: .seconds(30))])
        #expect(settlement.answers == [.pending, .accepted, .pending])
        #expect(settlement.retryAt == Self.now + .seconds(30))
    }

    @Test(arguments: [(1, 2), (3, 8), (9, 60)]) func `failed backs off`(attempt: Int64, seconds: Int) {
        let settlement = settle([.failed(retryAfter: nil)], attempt: attempt)
        #expect(settlement.answers == [.pending])
        #expect(settlement.retryAt == Self.now + .seconds(seconds))
    }

    @Test func `unanswered is told again if the push wants it at least once`() {
        let settlement = settle([.unanswered])
        #expect(settlement.answers == [.pending])
        #expect(settlement.retryAt == Self.now + .seconds(2))
    }

    @Test func `unanswered is unknown if the push wants it at most once`() {
        let settlement = settle([.unanswered, .accepted], guarantee: .atMostOnce)
        #expect(settlement.answers == [.unknown, .accepted])
        #expect(settlement.retryAt == nil)
    }

    @Test func `failed is tried again even if the push wants it at most once`() {
        #expect(settle([.failed(retryAfter: nil)], guarantee: .atMostOnce).answers == [.pending])
    }

    @Test func `barred parks the platform and touches no device`() {
        let settlement = settle([.barred("wrong key"), .accepted])
        #expect(settlement.answers == [.pending, .accepted])
        #expect(settlement.retryAt == Self.now)
        #expect(settlement.deaths.isEmpty)
        #expect(settlement.halt?.parking == Parking(cause: .credentials, detail: "wrong key", since: Self.now))
    }

    // MARK: The end of a push

    @Test func `what cannot be tried again in time is expired`() {
        let settlement = settle([.failed(retryAfter: nil), .accepted], expiresAt: Self.now + .seconds(2))
        #expect(settlement.answers == [.expired, .accepted])
        #expect(settlement.retryAt == nil)
    }

    @Test func `what can be tried again just in time is`() {
        let settlement = settle([.failed(retryAfter: nil)], expiresAt: Self.now + .milliseconds(2_001))
        #expect(settlement.retryAt == Self.now + .seconds(2))
    }

    @Test func `a page of a push that has ended is expired, answers stay`() {
        let settlement = Settlement(expired: .sample([.pending, .accepted, .gone]))
        #expect(settlement.answers == [.expired, .accepted, .gone])
        #expect(settlement.counts == [.expired: 1])
    }

    @Test func `an abandoned page is unknown, answers stay`() {
        let settlement = Settlement(abandoned: .sample([.pending, .accepted]))
        #expect(settlement.answers == [.unknown, .accepted])
    }

    @Test func `a page handed back is as it was`() {
        let page = Page.sample([.pending, .accepted])
        let settlement = Settlement(handingBack: page, at: Self.now)
        #expect(settlement.answers == page.answers)
        #expect(settlement.counts.isEmpty)
    }

    @Test func `sparing keeps the answers and lets nobody die`() {
        let parking = Parking(cause: .deaths, detail: "too many", since: Self.now)
        let spared = settle([.gone(since: .zero), .failed(retryAfter: nil)]).sparing(.init(parking, of: .sample))
        #expect(spared.answers == [.gone, .pending])
        #expect(spared.deaths.isEmpty)
        #expect(spared.halt?.parking == parking)
    }

    // MARK: Devices that were not sent to

    @Test func `who is left out of the load is skipped`() {
        let page = Page.sample([.pending, .pending, .pending])
        let settlement = Settlement(
            of: page, carrying: .sample([Key(2)]), outcomes: [.accepted], policy: Self.policy, now: Self.now, jitter: 0)
        #expect(settlement.answers == [.skipped(.inactive), .accepted, .skipped(.inactive)])
    }

    @Test func `who has an answer keeps it`() {
        let page = Page.sample([.gone, .pending, .expired, .pending])
        let settlement = Settlement(
            of: page, carrying: .sample([Key(2), Key(4)]), outcomes: [.accepted, .failed(retryAfter: nil)],
            policy: Self.policy, now: Self.now, jitter: 0)
        #expect(settlement.answers == [.gone, .accepted, .expired, .pending])
        #expect(settlement.counts == [.accepted: 1])
    }

    // MARK: Properties

    @Test func `any page: devices wait if and only if it has a time, and the counts are what changed`() {
        for seed in 0..<500 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let page = Page.sample(
                (0..<random.draw(1...30)).map { _ in random.pick([.pending, .pending, .accepted, .gone]) },
                attempt: Int64(random.draw(1...9)))
            let recipients = page.pending.map { page.devices[$0] }.filter { _ in random.chance(0.8) }
            let outcomes = recipients.map { _ in Self.outcome(&random) }
            let load = PageLoad.sample(
                recipients, guarantee: random.pick([.atLeastOnce, .atMostOnce]),
                expiresAt: random.chance(0.3) ? Self.now + random.duration(0...60) : nil)
            let settlement = Settlement(
                of: page, carrying: load, outcomes: outcomes, policy: Self.policy, now: Self.now,
                jitter: random.fraction())
            check(settlement, of: page, outcomes, to: recipients, seed: seed)
        }
    }

    private func check(
        _ settlement: Settlement, of page: Page, _ outcomes: [Outcome], to recipients: [Key<Device>], seed: UInt64
    ) {
        let waiting = settlement.answers.count { $0 == .pending }
        #expect((settlement.retryAt != nil) == (waiting > 0), "seed \(seed)")
        #expect(settlement.retryAt.map { $0 >= Self.now } ?? true, "seed \(seed)")
        #expect(settlement.counts.values.reduce(0, +) + waiting == page.pending.count, "seed \(seed)")
        #expect(settlement.counts[.pending] == nil, "seed \(seed)")
        for (before, after) in zip(page.answers, settlement.answers) where before != .pending {
            #expect(before == after, "seed \(seed)")
        }
        let deaths = zip(recipients, outcomes).compactMap { device, outcome in
            if case .gone(let since?) = outcome { Settlement.Death(device: device, since: since) } else { nil }
        }
        #expect(settlement.deaths == deaths, "seed \(seed)")
        let isBarred = outcomes.contains { if case .barred = $0 { true } else { false } }
        #expect((settlement.halt?.parking != nil) == isBarred, "seed \(seed)")
    }

    private static func outcome(_ random: inout SplitMix64) -> Outcome {
        random.pick([
            .accepted, .accepted, .refused(.badToken), .gone(since: nil), .gone(since: .zero),
            .throttled(retryAfter: random.duration(0...90)), .failed(retryAfter: nil), .unanswered,
            random.chance(0.2) ? .barred("wrong key") : .accepted,
        ])
    }
}

extension PageLoad {
    fileprivate static func sample(
        _ devices: [Key<Device>], guarantee: Push.Guarantee = .atLeastOnce, expiresAt: Instant? = nil
    ) -> PageLoad {
        PageLoad(
            push: .sample(guarantee: guarantee, acceptedAt: Instant(milliseconds: 900_000), expiresAt: expiresAt),
            platform: .sample, recipients: devices.map { Recipient(device: $0, token: DeviceToken(bytes: [1])) })
    }
}
