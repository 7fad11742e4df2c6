/// What the outcomes of a batch change: one consequence for each outcome.
///
/// accepted, refused → the device's answer. moved → the same as accepted, and the device's token is replaced. gone →
/// the answer, and deactivation if the verdict names a time. throttled, failed, unreachable → tried again, none before
/// its own time. unanswered → tried again, or `unknown`, as the push asks. credentials refused → tried again once the
/// platform is mended, which is parked.
package struct Settlement: Sendable, Hashable {
    package let batch: Batch
    /// One for each device of the batch.
    package let answers: [Answer]
    /// When the first of the pending devices are to be tried again; nil when none is.
    package let retryAt: Instant?
    /// How many minutes longer others of them wait, by their place; see `RetryTimes`.
    package let retryTimes: [Int: Int]
    package let deadTokens: [DeadToken]
    package let moves: [Move]
    package let halt: Halt?

    /// A device whose token is dead, by a verdict that names a time.
    package struct DeadToken: Sendable, Hashable {
        package let device: Key<Device>
        /// Devices that registered later are alive again.
        package let since: Instant

        package init(device: Key<Device>, since: Instant) {
            self.device = device
            self.since = since
        }
    }

    /// A device that its provider knows by another token now. `TokenMove` says what becomes of it.
    package struct Move: Sendable, Hashable {
        package let device: Key<Device>
        /// What it was told by.
        package let from: DeviceToken
        package let to: DeviceToken

        package init(device: Key<Device>, from: DeviceToken, to: DeviceToken) {
            self.device = device
            self.from = from
            self.to = to
        }
    }

    /// A command to park the platform, void once its credentials are others than those that were refused.
    package struct Halt: Sendable, Hashable {
        package let parking: Parking
        /// Of the platform as it was loaded for the batch.
        package let credentialsVersion: Int64

        package init(_ parking: Parking, of platform: Platform) {
            self.parking = parking
            credentialsVersion = platform.credentialsVersion
        }
    }

    package init(
        batch: Batch, answers: [Answer], retryAt: Instant?, retryTimes: [Int: Int] = [:], deadTokens: [DeadToken] = [],
        moves: [Move] = [], halt: Halt? = nil
    ) {
        precondition(answers.count == batch.devices.count, "each device of a batch has an answer")
        precondition((retryAt == nil) == !answers.contains(.pending), "pending devices have a time, others have none")
        precondition(retryTimes.keys.allSatisfy { answers[$0] == .pending }, "who waits is pending")
        self.batch = batch
        self.answers = answers
        self.retryAt = retryAt
        self.retryTimes = retryTimes
        self.deadTokens = deadTokens
        self.moves = moves
        self.halt = halt
    }

    /// Until when those wait who are not tried again at `retryAt`, by their place.
    package var waitEnds: [Int: Instant] { retryAt.map { RetryTimes.ends(of: retryTimes, from: $0) } ?? [:] }

    /// How many devices got each answer by this settlement.
    package var counts: [Answer: Int] {
        var counts: [Answer: Int] = [:]
        for (before, after) in zip(batch.answers, answers) where before == .pending && after != .pending {
            counts[after, default: 0] += 1
        }
        return counts
    }

    /// What the batch's row says from now on, and how many devices got each code by this; those that wait count as
    /// `pending`.
    ///
    /// - Parameter before: what the row says. It stays: an answer is final.
    package func codes(over before: [Answer]) -> (codes: [UInt8], counts: [Int]) {
        var counts = [Int](repeating: 0, count: 256)
        var codes: [UInt8] = []
        codes.reserveCapacity(before.count)
        for (before, after) in zip(before, answers) {
            let code = before == .pending ? after.code : before.code
            if before == .pending { counts[Int(code)] += 1 }
            codes.append(code)
        }
        for (place, minutes) in retryTimes where codes[place] == Answer.pending.code {
            codes[place] = RetryTimes.code(minutes: minutes)
        }
        return (codes, counts)
    }
}

extension Settlement {
    /// Settles a batch that was sent.
    ///
    /// - Parameters:
    ///   - outcomes: one for each recipient of the load, in its order.
    ///   - jitter: a fraction in 0..<1.
    package init(
        of batch: Batch, sending load: BatchLoad, outcomes: [Outcome], policy: RetryPolicy, now: Instant, jitter: Double
    ) {
        precondition(outcomes.count == load.recipients.count, "a provider answers for each recipient")
        var draft = Draft(batch: batch, platform: load.platform)
        draft.skipUnreachable(load.recipients)
        var rest = batch.devices[...]
        for (recipient, outcome) in zip(load.recipients, outcomes) {
            guard let index = rest.firstIndex(of: recipient.device) else { continue }
            draft.apply(outcome, of: recipient, at: index, guarantee: load.push.guarantee, now: now)
            rest = rest[(index + 1)...]
        }
        self = draft.finish(policy: policy, end: policy.end(of: load.push), now: now, jitter: jitter)
    }

    /// Settles a batch whose push has ended before it could be sent.
    package init(expired batch: Batch) {
        self.init(batch: batch, answers: batch.answers.map { $0 == .pending ? .expired : $0 }, retryAt: nil)
    }

    /// Settles a batch of an at-most-once push whose delivery worker died: which devices were told is not known.
    package init(abandoned batch: Batch) {
        self.init(batch: batch, answers: batch.answers.map { $0 == .pending ? .unknown : $0 }, retryAt: nil)
    }

    /// Hands a batch back untouched, to be sent from `now`.
    package init(handingBack batch: Batch, at now: Instant, halt: Halt? = nil) {
        let retryAt = batch.retryTimes.values.max().map { max(now, RetryTimes.earliestDue(before: $0)) } ?? now
        let retryTimes = batch.retryTimes.compactMapValues { RetryTimes.minutes(from: retryAt, until: $0) }
        self.init(batch: batch, answers: batch.answers, retryAt: retryAt, retryTimes: retryTimes, halt: halt)
    }

    /// This settlement, with the platform parked and no device harmed.
    package func sparing(_ halt: Halt) -> Settlement {
        Settlement(batch: batch, answers: answers, retryAt: retryAt, retryTimes: retryTimes, deadTokens: [], halt: halt)
    }
}

private struct Draft {
    let batch: Batch
    let platform: Platform
    var answers: [Answer]
    var deadTokens: [Settlement.DeadToken] = []
    var moves: [Settlement.Move] = []
    /// The wait that was asked for devices that are tried again, by their place.
    var asked: [Int: Duration] = [:]
    var trouble: String?

    init(batch: Batch, platform: Platform) {
        self.batch = batch
        self.platform = platform
        answers = batch.answers
    }

    /// Answers for those of the batch who were to be told, and whom the store left out of the load.
    mutating func skipUnreachable(_ recipients: [Recipient]) {
        var rest = recipients[...]
        for index in batch.ready {
            if rest.first?.device == batch.devices[index] {
                rest = rest.dropFirst()
            } else {
                answers[index] = .skipped(.inactive)
            }
        }
    }

    mutating func apply(
        _ outcome: Outcome, of recipient: Recipient, at index: Int, guarantee: Push.Guarantee, now: Instant
    ) {
        switch outcome {
        case .accepted:
            answers[index] = .accepted
        case .moved(let token):
            answers[index] = .accepted
            moves.append(Settlement.Move(device: recipient.device, from: recipient.token, to: token))
        case .refused(let refusal):
            answers[index] = .refused(refusal)
        case .gone(let since):
            answers[index] = .gone
            if let since { deadTokens.append(Settlement.DeadToken(device: batch.devices[index], since: since)) }
        case .throttled(let retryAfter), .failed(let retryAfter):
            asked[index] = retryAfter ?? .zero
        case .unreachable:
            asked[index] = .zero
        case .unanswered:
            if guarantee == .atMostOnce { answers[index] = .unknown } else { asked[index] = .zero }
        case .credentialsRefused(let words):
            trouble = words
        }
    }

    func finish(policy: RetryPolicy, end: Instant, now: Instant, jitter: Double) -> Settlement {
        let halt = trouble.map { Settlement.Halt(Parking(cause: .credentials, detail: $0, since: now), of: platform) }
        var answers = answers
        var dues: [Int: Instant] = [:]
        for index in answers.indices where answers[index] == .pending {
            let due = asked[index].map { now + policy.delay(after: batch.attempt, asked: $0, jitter: jitter) }
            dues[index] = due ?? batch.retryTimes[index] ?? now
        }
        if trouble == nil {
            for (index, due) in dues where due >= end {
                answers[index] = .expired
                dues[index] = nil
            }
        }
        let plan = RetryTimes.plan(dues)
        return Settlement(
            batch: batch, answers: answers, retryAt: plan?.dueAt, retryTimes: plan?.minutes ?? [:],
            deadTokens: deadTokens,
            moves: moves, halt: halt)
    }
}
