import BelfryCore
import BelfryTesting
import Testing

@Suite struct SettlementTests {
    private static let now = Instant(milliseconds: 960_000)
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

    // MARK: Different patience

    @Test func `a long wait of one holds no other back`() {
        let settlement = settle([
            .failed(retryAfter: .seconds(900)), .accepted, .throttled(retryAfter: .seconds(30)), .unanswered,
        ])
        #expect(settlement.answers == [.pending, .accepted, .pending, .pending])
        #expect(settlement.retryAt == Self.now + .seconds(30))
        #expect(settlement.rests == [0: 15])
    }

    @Test func `who rests is not skipped, and waits for no longer than before`() {
        let page = Page.sample([.pending, .pending], rests: [0: Self.now + .seconds(600)])
        func settle(_ outcome: Outcome) -> Settlement {
            Settlement(
                of: page, carrying: .sample([Key(2)]), outcomes: [outcome], policy: Self.policy, now: Self.now,
                jitter: 0)
        }
        #expect(
            settle(.accepted)
                == Settlement(page: page, answers: [.pending, .accepted], retryAt: Self.now + .seconds(600)))
        #expect(
            settle(.unanswered)
                == Settlement(
                    page: page, answers: [.pending, .pending], retryAt: Self.now + .seconds(2), rests: [0: 10]))
    }

    @Test func `who would rest beyond the end of the push is expired, others are tried again`() {
        let settlement = settle(
            [.failed(retryAfter: .seconds(900)), .failed(retryAfter: nil)], expiresAt: Self.now + .seconds(60))
        #expect(settlement.answers == [.expired, .pending])
        #expect(settlement.retryAt == Self.now + .seconds(2))
        #expect(settlement.rests.isEmpty)
    }

    @Test func `a page waits for who would rest for longer than two hours`() {
        let settlement = settle(
            [.failed(retryAfter: .seconds(9_000)), .failed(retryAfter: nil)], expiresAt: Self.now + .seconds(10_000))
        #expect(settlement.retryAt == Self.now + .seconds(9_000 - 128 * 60))
        #expect(settlement.rests == [0: 128])
    }

    @Test func `a rest that was rounded up stays where it is, however often its page is settled`() throws {
        var page = Page.sample([.pending, .pending])
        var now = Self.now + .seconds(7)
        let wait = Duration.seconds(905)
        var outcomes: [Outcome] = [.failed(retryAfter: wait), .unanswered]
        for attempt in 0..<5 {
            let settlement = Settlement(
                of: page, carrying: .sample(page.ready.map { page.devices[$0] }), outcomes: outcomes,
                policy: Self.policy, now: now, jitter: 0)
            #expect(settlement.restEnds == [0: Self.now + .seconds(16 * 60)], "attempt \(attempt)")
            page = .sample([.pending, .pending], rests: settlement.restEnds)
            outcomes = [.unanswered]
            now = try #require(settlement.retryAt) + .seconds(17)
        }
    }

    @Test func `a page handed back while someone rests for longer than two hours is due when that can be said`() {
        let end = Self.now + .seconds(130 * 60)
        let settlement = Settlement(handingBack: .sample([.pending, .pending], rests: [0: end]), at: Self.now)
        #expect(settlement.retryAt == Self.now + .seconds(120))
        #expect(settlement.restEnds == [0: end])
    }

    @Test func `a page handed back rests on`() {
        let page = Page.sample([.pending, .pending], rests: [1: Self.now + .seconds(61)])
        #expect(Settlement(handingBack: page, at: Self.now).rests == [1: 2])
    }

    @Test func `a row says who rests, and takes back no answer`() throws {
        let settlement = Settlement(
            page: .sample([.pending, .pending, .pending]), answers: [.pending, .pending, .accepted],
            retryAt: Self.now, rests: [0: 1, 1: 128])
        let (codes, counts) = settlement.codes(over: [.pending, .gone, .pending])
        #expect(codes == [128, 2, 1])
        #expect(counts[0] == 1 && counts[1] == 1 && counts.reduce(0, +) == 2)
    }

    @Test(arguments: [(0, [0, 1, 127]), (60, [1, 127]), (61, [1, 127]), (127 * 60, [127]), (128 * 60, [])])
    func `rests end at full minutes, counted from the one of the retry`(seconds: Int, resting: [Int]) throws {
        let codes: [UInt8] = (0..<128).map { Rests.code(minutes: $0 + 1) }
        let rests = codes.withUnsafeBytes {
            Rests.inCodes($0, retryAt: Self.now + .seconds(59), now: Self.now + .seconds(seconds))
        }
        #expect([0, 1, 127].filter { rests[$0] != nil } == resting)
        #expect(rests.allSatisfy { $0.value == Self.now + .seconds(60 * ($0.key + 1)) })
        #expect(try codes.withUnsafeBytes { try [Answer](codes: $0, count: 128) }.allSatisfy { $0 == .pending })
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
                attempt: Int64(random.draw(1...9))
            ).resting(&random, now: Self.now)
            let recipients = page.ready.map { page.devices[$0] }.filter { _ in random.chance(0.8) }
            let outcomes = recipients.map { _ in Self.outcome(&random) }
            let load = PageLoad.sample(
                recipients, guarantee: random.pick([.atLeastOnce, .atMostOnce]),
                expiresAt: random.chance(0.3) ? Self.now + random.duration(0...600) : nil)
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
        #expect(
            settlement.counts.values.reduce(0, +) + waiting == page.answers.count { $0 == .pending }, "seed \(seed)")
        #expect(settlement.counts[.pending] == nil, "seed \(seed)")
        for (before, after) in zip(page.answers, settlement.answers) where before != .pending {
            #expect(before == after, "seed \(seed)")
        }
        checkPatience(settlement, of: page, outcomes, to: recipients, seed: seed)
        let deaths = zip(recipients, outcomes).compactMap { device, outcome in
            if case .gone(let since?) = outcome { Settlement.Death(device: device, since: since) } else { nil }
        }
        #expect(settlement.deaths == deaths, "seed \(seed)")
        let isBarred = outcomes.contains { if case .barred = $0 { true } else { false } }
        #expect((settlement.halt?.parking != nil) == isBarred, "seed \(seed)")
    }

    /// Nobody is told before the time that was named, and somebody when the page is due.
    private func checkPatience(
        _ settlement: Settlement, of page: Page, _ outcomes: [Outcome], to recipients: [Key<Device>], seed: UInt64
    ) {
        guard let retryAt = settlement.retryAt else {
            #expect(settlement.rests.isEmpty, "seed \(seed)")
            return
        }
        var asked = page.rests
        for (device, outcome) in zip(recipients, outcomes) {
            guard let place = page.devices.firstIndex(of: device) else { continue }
            switch outcome {
            case .throttled(let wait?), .failed(let wait?): asked[place] = Self.now + wait
            default: asked[place] = Self.now
            }
        }
        let waiting = settlement.answers.indices.filter { settlement.answers[$0] == .pending }
        for place in waiting {
            let due = settlement.restEnds[place] ?? retryAt
            #expect(due >= asked[place] ?? Self.now, "seed \(seed)")
            #expect(due >= retryAt, "seed \(seed)")
        }
        #expect(Set(settlement.rests.keys).isStrictSubset(of: waiting), "seed \(seed)")
        #expect(settlement.rests.values.allSatisfy { 1...128 ~= $0 }, "seed \(seed)")
    }

    private static func outcome(_ random: inout SplitMix64) -> Outcome {
        random.pick([
            .accepted, .accepted, .refused(.badToken), .gone(since: nil), .gone(since: .zero),
            .throttled(retryAfter: random.duration(0...90)), .failed(retryAfter: random.duration(0...9_000)),
            .failed(retryAfter: nil), .unanswered,
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

extension Page {
    /// The same, with some of those who are pending at rest, though never all.
    fileprivate func resting(_ random: inout SplitMix64, now: Instant) -> Page {
        var rests: [Int: Instant] = [:]
        for place in ready.dropFirst() where random.chance(0.2) { rests[place] = now + random.duration(1...7_000) }
        return Page(
            key: key, pushKey: pushKey, platformKey: platformKey, lane: lane, devices: devices, answers: answers,
            attempt: attempt, isLapsed: isLapsed, rests: rests)
    }
}
