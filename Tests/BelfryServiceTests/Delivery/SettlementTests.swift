import BelfryTesting
import Testing

@testable import BelfryService

@Suite struct SettlementTests {
    private static let now = Instant(milliseconds: 960_000)
    private static let policy = RetryPolicy(
        firstDelay: .seconds(2), longestDelay: .seconds(60), window: .seconds(3_600))

    /// A batch of as many devices as there are outcomes, each of whom was sent to.
    private func settle(
        _ outcomes: [Outcome], guarantee: Push.Guarantee = .atLeastOnce, attempt: Int64 = 1, expiresAt: Instant? = nil,
        parkRequest: Settlement.ParkRequest? = nil
    ) -> Settlement {
        let batch = Batch.sample(outcomes.map { _ in .pending }, attempt: attempt)
        return Settlement(
            of: batch, sending: .sample(batch.devices, guarantee: guarantee, expiresAt: expiresAt), outcomes: outcomes,
            policy: Self.policy, now: Self.now, jitter: 0, parkRequest: parkRequest)
    }

    // MARK: One consequence for each outcome

    @Test func `accepted is the answer`() {
        let settlement = settle([.accepted])
        #expect(
            settlement
                == Settlement(
                    batch: settlement.batch, answers: [.accepted], retryAt: nil, acceptedAt: settlement.acceptedAt))
        #expect(settlement.acceptedAt != nil && settlement.cancellingRetries.acceptedAt == settlement.acceptedAt)
    }

    @Test(arguments: Refusal.allCases) func `refused keeps its reason and is not tried again`(refusal: Refusal) {
        let settlement = settle([.refused(refusal)])
        #expect(settlement.answers == [.refused(refusal)] && settlement.retryAt == nil && settlement.parkRequest == nil)
        #expect(settlement.note?.answer(at: 0) == "refused: \(refusal)")
    }

    @Test func `gone with a time deactivates`() {
        let settlement = settle([.accepted, .gone(since: .zero)])
        #expect(settlement.answers == [.accepted, .gone])
        let token = BatchLoad.sample(settlement.batch.devices).recipients[1].token
        #expect(settlement.deadTokens == [Settlement.DeadToken(device: Key(2), token: token, since: .zero)])
        #expect(settlement.retryAt == nil)
    }

    @Test func `moved is accepted, with the old and new tokens`() {
        let token = DeviceToken(bytes: [9])
        let settlement = settle([.accepted, .moved(to: token)])
        #expect(settlement.answers == [.accepted, .accepted])
        let from = BatchLoad.sample(settlement.batch.devices).recipients[1].token
        #expect(settlement.moves == [Settlement.Move(device: Key(2), from: from, to: token)])
    }

    @Test func `gone without a time deactivates no device`() {
        let settlement = settle([.gone(since: nil)])
        #expect(settlement.answers == [.gone])
        #expect(settlement.deadTokens.isEmpty)
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

    @Test func `unanswered is sent again if at least once is wanted`() {
        let settlement = settle([.unanswered])
        #expect(settlement.answers == [.pending])
        #expect(settlement.retryAt == Self.now + .seconds(2))
    }

    @Test func `unanswered is unknown if at most once is wanted`() {
        let settlement = settle([.unanswered, .accepted], guarantee: .atMostOnce)
        #expect(settlement.answers == [.unknown, .accepted])
        #expect(settlement.retryAt == nil)
    }

    @Test func `failed is retried even if at most once is wanted`() {
        #expect(settle([.failed(retryAfter: nil)], guarantee: .atMostOnce).answers == [.pending])
    }

    @Test func `disbelieved credential refusals retry that device`() {
        let settlement = settle([.credentialsRefused("wrong key"), .accepted], guarantee: .atMostOnce, attempt: 3)
        #expect(settlement.answers == [.pending, .accepted])
        #expect(settlement.retryAt == Self.now + .seconds(8))
        #expect(settlement.deadTokens.isEmpty && settlement.parkRequest == nil)
        #expect(settlement.note?.answer(at: 0) == "credentials refused: wrong key")
    }

    @Test func `believed credential refusals park the platform and spare devices`() {
        let parking = Parking(refused: "wrong key", at: Self.now)
        let settlement = settle(
            [.credentialsRefused("wrong key"), .credentialsRefused("wrong key")], expiresAt: Self.now,
            parkRequest: Settlement.ParkRequest(parking, of: .sample))
        #expect(settlement.answers == [.pending, .pending])
        #expect(settlement.retryAt == Self.now)
        #expect(settlement.deadTokens.isEmpty)
        #expect(settlement.parkRequest?.parking == parking)
    }

    @Test func `a device waits as long as its parked push service`() {
        let settlement = settle([.held(.seconds(900), "parked"), .accepted])
        #expect(settlement.answers == [.pending, .accepted])
        #expect(settlement.retryAt == Self.now + .seconds(900))
        #expect(settlement.note?.answer(at: 0) == "not sent: parked")
    }

    // MARK: Different patience

    @Test func `a long wait of one holds no other back`() {
        let settlement = settle([
            .failed(retryAfter: .seconds(900)), .accepted, .throttled(retryAfter: .seconds(30)), .unanswered,
        ])
        #expect(settlement.answers == [.pending, .accepted, .pending, .pending])
        #expect(settlement.retryAt == Self.now + .seconds(30))
        #expect(settlement.retryTimes == [0: 15])
    }

    @Test func `a pending device keeps its earlier retry time`() {
        let batch = Batch.sample([.pending, .pending], retryTimes: [0: Self.now + .seconds(600)])
        func settle(_ outcome: Outcome) -> Settlement {
            Settlement(
                of: batch, sending: .sample([Key(2)]), outcomes: [outcome], policy: Self.policy, now: Self.now,
                jitter: 0)
        }
        let accepted = settle(.accepted)
        #expect(accepted.answers == [.pending, .accepted] && accepted.retryAt == Self.now + .seconds(600))
        let unanswered = settle(.unanswered)
        #expect(unanswered.answers == [.pending, .pending] && unanswered.retryAt == Self.now + .seconds(2))
        #expect(unanswered.retryTimes == [0: 10])
    }

    @Test func `a device waiting past the push's end expires alone`() {
        let settlement = settle(
            [.failed(retryAfter: .seconds(900)), .failed(retryAfter: nil)], expiresAt: Self.now + .seconds(60))
        #expect(settlement.answers == [.expired, .pending])
        #expect(settlement.retryAt == Self.now + .seconds(2))
        #expect(settlement.retryTimes.isEmpty)
    }

    @Test func `a batch waits for devices waiting over two hours`() {
        let settlement = settle(
            [.failed(retryAfter: .seconds(9_000)), .failed(retryAfter: nil)], expiresAt: Self.now + .seconds(10_000))
        #expect(settlement.retryAt == Self.now + .seconds(9_000 - 128 * 60))
        #expect(settlement.retryTimes == [0: 128])
    }

    @Test func `a rounded rest stays however often its batch settles`() throws {
        var batch = Batch.sample([.pending, .pending])
        var now = Self.now + .seconds(7)
        let wait = Duration.seconds(905)
        var outcomes: [Outcome] = [.failed(retryAfter: wait), .unanswered]
        for attempt in 0..<5 {
            let settlement = Settlement(
                of: batch, sending: .sample(batch.ready.map { batch.devices[$0] }), outcomes: outcomes,
                policy: Self.policy, now: now, jitter: 0)
            #expect(settlement.waitEnds == [0: Self.now + .seconds(16 * 60)], "attempt \(attempt)")
            batch = .sample([.pending, .pending], retryTimes: settlement.waitEnds)
            outcomes = [.unanswered]
            now = try #require(settlement.retryAt) + .seconds(17)
        }
    }

    @Test func `a returned batch is due once long waits fit`() {
        let end = Self.now + .seconds(130 * 60)
        let settlement = Settlement(handingBack: .sample([.pending, .pending], retryTimes: [0: end]), at: Self.now)
        #expect(settlement.retryAt == Self.now + .seconds(120))
        #expect(settlement.waitEnds == [0: end])
    }

    @Test func `devices of a batch handed back keep waiting`() {
        let batch = Batch.sample([.pending, .pending], retryTimes: [1: Self.now + .seconds(61)])
        #expect(Settlement(handingBack: batch, at: Self.now).retryTimes == [1: 2])
    }

    @Test func `a row says who waits, and takes back no answer`() throws {
        let settlement = Settlement(
            batch: .sample([.pending, .pending, .pending]), answers: [.pending, .pending, .accepted],
            retryAt: Self.now, retryTimes: [0: 1, 1: 128])
        let (codes, counts) = settlement.codes(over: [.pending, .gone, .pending])
        #expect(codes == [128, 2, 1])
        #expect(counts[0] == 1 && counts[1] == 1 && counts.reduce(0, +) == 2)
    }

    @Test(arguments: [(0, [0, 1, 127]), (60, [1, 127]), (61, [1, 127]), (127 * 60, [127]), (128 * 60, [])])
    func `retry times end at full minutes from the retry`(seconds: Int, delayed: [Int]) throws {
        let codes: [UInt8] = (0..<128).map { RetryTimes.code(minutes: $0 + 1) }
        let retryTimes = codes.withUnsafeBytes {
            RetryTimes.inCodes($0, retryAt: Self.now + .seconds(59), now: Self.now + .seconds(seconds))
        }
        #expect([0, 1, 127].filter { retryTimes[$0] != nil } == delayed)
        #expect(retryTimes.allSatisfy { $0.value == Self.now + .seconds(60 * ($0.key + 1)) })
        #expect(try codes.withUnsafeBytes { try [Answer](codes: $0, count: 128) }.allSatisfy { $0 == .pending })
    }

    // MARK: The end of a push

    @Test func `a retry beyond the deadline expires`() {
        let settlement = settle([.failed(retryAfter: nil), .accepted], expiresAt: Self.now + .seconds(2))
        #expect(settlement.answers == [.expired, .accepted])
        #expect(settlement.retryAt == nil)
    }

    @Test func `a retry just within the deadline happens`() {
        let settlement = settle([.failed(retryAfter: nil)], expiresAt: Self.now + .milliseconds(2_001))
        #expect(settlement.retryAt == Self.now + .seconds(2))
    }

    @Test func `an ended push expires its batch and keeps answers`() {
        let settlement = Settlement(expired: .sample([.pending, .accepted, .gone]))
        #expect(settlement.answers == [.expired, .accepted, .gone])
        #expect(settlement.counts == [.expired: 1])
    }

    @Test func `a cancelled batch is skipped, or unknown if possibly sent`() {
        let waits = [1: Self.now + .seconds(60)]
        func batch(isLapsed: Bool) -> Batch {
            let sample = Batch.sample([.pending, .pending, .accepted])
            return Batch(
                key: sample.key, pushKey: sample.pushKey, platformKey: sample.platformKey, lane: sample.lane,
                devices: sample.devices, answers: sample.answers, attempt: 2, isLapsed: isLapsed, retryTimes: waits,
                isCancelled: true)
        }
        let cancelled = Answer.skipped(.cancelled)
        #expect(Settlement(cancelled: batch(isLapsed: false)).answers == [cancelled, cancelled, .accepted])
        #expect(Settlement(cancelled: batch(isLapsed: true)).answers == [.unknown, cancelled, .accepted])
    }

    @Test func `a cancelled push's retries are cancelled`() {
        let settlement = settle([.throttled(retryAfter: .seconds(9)), .gone(since: .zero), .accepted]).cancellingRetries
        #expect(settlement.answers == [.skipped(.cancelled), .gone, .accepted])
        #expect(settlement.retryAt == nil && settlement.retryTimes.isEmpty && settlement.deadTokens.count == 1)
    }

    @Test func `an abandoned batch is unknown, answers stay`() {
        let settlement = Settlement(abandoned: .sample([.pending, .accepted]), at: Self.now)
        #expect(settlement.answers == [.unknown, .accepted] && settlement.retryAt == nil)
    }

    @Test func `devices of an abandoned batch that waited go on waiting`() {
        let sample = Batch.sample([.pending, .pending, .accepted])
        let batch = Batch(
            key: sample.key, pushKey: sample.pushKey, platformKey: sample.platformKey, lane: sample.lane,
            devices: sample.devices, answers: sample.answers, attempt: 2, isLapsed: true,
            retryTimes: [1: Self.now + .seconds(7_200)], isCancelled: false)
        let settlement = Settlement(abandoned: batch, at: Self.now)
        #expect(settlement.answers == [.unknown, .pending, .accepted])
        #expect(settlement.retryAt.map { $0 > Self.now } == true)
    }

    @Test func `a batch without a pending device is handed back closed`() {
        #expect(Settlement(handingBack: .sample([.accepted]), at: Self.now).retryAt == nil)
    }

    @Test func `a batch handed back is as it was`() {
        let batch = Batch.sample([.pending, .accepted])
        let settlement = Settlement(handingBack: batch, at: Self.now)
        #expect(settlement.answers == batch.answers)
        #expect(settlement.counts.isEmpty)
    }

    @Test func `parking keeps the answers and deactivates no device`() {
        let parking = Parking(cause: .deadTokens, detail: "too many", since: Self.now)
        let spared = settle([.gone(since: .zero), .failed(retryAfter: nil)]).parking(.init(parking, of: .sample))
        #expect(spared.answers == [.gone, .pending])
        #expect(spared.deadTokens.isEmpty)
        #expect(spared.parkRequest?.parking == parking)
    }

    // MARK: Devices that were not sent to

    @Test func `a device left out of the load is skipped`() {
        let batch = Batch.sample([.pending, .pending, .pending])
        let settlement = Settlement(
            of: batch, sending: .sample([Key(2)]), outcomes: [.accepted], policy: Self.policy, now: Self.now, jitter: 0)
        #expect(settlement.answers == [.skipped(.inactive), .accepted, .skipped(.inactive)])
    }

    @Test func `an answered device keeps its answer`() {
        let batch = Batch.sample([.gone, .pending, .expired, .pending])
        let settlement = Settlement(
            of: batch, sending: .sample([Key(2), Key(4)]), outcomes: [.accepted, .failed(retryAfter: nil)],
            policy: Self.policy, now: Self.now, jitter: 0)
        #expect(settlement.answers == [.gone, .accepted, .expired, .pending])
        #expect(settlement.counts == [.accepted: 1])
    }

    // MARK: Properties

    @Test func `batch times and waiting devices agree, counts are the changes`() {
        for seed in 0..<500 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let batch = Batch.sample(
                (0..<random.draw(1...30)).map { _ in random.pick([.pending, .pending, .accepted, .gone]) },
                attempt: Int64(random.draw(1...9))
            ).delayed(&random, now: Self.now)
            let recipients = batch.ready.map { batch.devices[$0] }.filter { _ in random.chance(0.8) }
            let outcomes = recipients.map { _ in Self.outcome(&random) }
            let load = BatchLoad.sample(
                recipients, guarantee: random.pick([.atLeastOnce, .atMostOnce]),
                expiresAt: random.chance(0.3) ? Self.now + random.duration(0...600) : nil)
            let settlement = Settlement(
                of: batch, sending: load, outcomes: outcomes, policy: Self.policy, now: Self.now,
                jitter: random.fraction())
            check(settlement, of: batch, outcomes, to: recipients, seed: seed)
        }
    }

    private func check(
        _ settlement: Settlement, of batch: Batch, _ outcomes: [Outcome], to recipients: [Key<Device>], seed: UInt64
    ) {
        let waiting = settlement.answers.count { $0 == .pending }
        #expect((settlement.retryAt != nil) == (waiting > 0), "seed \(seed)")
        #expect(settlement.retryAt.map { $0 >= Self.now } ?? true, "seed \(seed)")
        #expect(
            settlement.counts.values.reduce(0, +) + waiting == batch.answers.count { $0 == .pending }, "seed \(seed)")
        #expect(settlement.counts[.pending] == nil, "seed \(seed)")
        for (before, after) in zip(batch.answers, settlement.answers) where before != .pending {
            #expect(before == after, "seed \(seed)")
        }
        checkTimeout(settlement, of: batch, outcomes, to: recipients, seed: seed)
        let deadTokens = zip(BatchLoad.sample(recipients).recipients, outcomes).compactMap { recipient, outcome in
            if case .gone(let since?, _) = outcome {
                Settlement.DeadToken(device: recipient.device, token: recipient.token, since: since)
            } else {
                nil
            }
        }
        #expect(settlement.deadTokens == deadTokens, "seed \(seed)")
        #expect(settlement.parkRequest == nil, "seed \(seed)")
    }

    /// No device is notified before the time that was named, and one at least when the batch is due.
    private func checkTimeout(
        _ settlement: Settlement, of batch: Batch, _ outcomes: [Outcome], to recipients: [Key<Device>], seed: UInt64
    ) {
        guard let retryAt = settlement.retryAt else {
            #expect(settlement.retryTimes.isEmpty, "seed \(seed)")
            return
        }
        var asked = batch.retryTimes
        for (device, outcome) in zip(recipients, outcomes) {
            guard let place = batch.devices.firstIndex(of: device) else { continue }
            switch outcome {
            case .throttled(let wait?, _), .failed(let wait?, _): asked[place] = Self.now + wait
            default: asked[place] = Self.now
            }
        }
        let waiting = settlement.answers.indices.filter { settlement.answers[$0] == .pending }
        for place in waiting {
            let due = settlement.waitEnds[place] ?? retryAt
            #expect(due >= asked[place] ?? Self.now, "seed \(seed)")
            #expect(due >= retryAt, "seed \(seed)")
        }
        #expect(Set(settlement.retryTimes.keys).isStrictSubset(of: waiting), "seed \(seed)")
        #expect(settlement.retryTimes.values.allSatisfy { 1...128 ~= $0 }, "seed \(seed)")
    }

    private static func outcome(_ random: inout SplitMix64) -> Outcome {
        random.pick([
            .accepted, .accepted, .refused(.badToken), .gone(since: nil), .gone(since: .zero),
            .throttled(retryAfter: random.duration(0...90)), .failed(retryAfter: random.duration(0...9_000)),
            .failed(retryAfter: nil), .unanswered,
            random.chance(0.2) ? .credentialsRefused("wrong key") : .accepted,
        ])
    }
}

extension BatchLoad {
    fileprivate static func sample(
        _ devices: [Key<Device>], guarantee: Push.Guarantee = .atLeastOnce, expiresAt: Instant? = nil
    ) -> BatchLoad {
        BatchLoad(
            push: .sample(guarantee: guarantee, acceptedAt: Instant(milliseconds: 900_000), expiresAt: expiresAt),
            platform: .sample, recipients: devices.map { Recipient(device: $0, token: DeviceToken(bytes: [1])) })
    }
}

extension Batch {
    /// Returns this batch with some of its pending devices at rest, though never all.
    fileprivate func delayed(_ random: inout SplitMix64, now: Instant) -> Batch {
        var retryTimes: [Int: Instant] = [:]
        for place in ready.dropFirst() where random.chance(0.2) { retryTimes[place] = now + random.duration(1...7_000) }
        return Batch(
            key: key, pushKey: pushKey, platformKey: platformKey, lane: lane, devices: devices, answers: answers,
            attempt: attempt, isLapsed: isLapsed, retryTimes: retryTimes)
    }
}
