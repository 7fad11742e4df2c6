/// The changes that the outcomes of a batch make: one consequence for each outcome.
///
/// - accepted, refused → the device's answer.
/// - moved → accepted, and the device's token is replaced.
/// - gone → the answer, and the device is deactivated if the verdict names a time.
/// - throttled, failed, unreachable → the device is retried, never before its own time.
/// - unanswered → the device is retried or becomes `unknown`, as the push asks.
/// - held → the device is retried, once its push service is tried again.
/// - waiting → the device is retried at the end of its quiet hours, or skipped where the push ends before.
/// - skipped → the answer.
/// - credentialsRefused → the device is retried; where the answers agree (`CredentialsDoubt`) the platform is parked, and the device
///   is retried after it resumes.
package struct Settlement: Sendable, Hashable {
    package let batch: Batch
    /// One for each device of the batch.
    package let answers: [Answer]
    /// When the first pending devices are retried; nil when none is pending.
    package let retryAt: Instant?
    /// The further minutes that other pending devices wait, by index; see `RetryTimes`.
    package let retryTimes: [Int: Int]
    package let deadTokens: [DeadToken]
    package let moves: [Move]
    package let parkRequest: ParkRequest?
    /// The providers' answers, where people may want to see them.
    package let note: AttemptNote?
    /// When the push was accepted; nil where nothing was sent.
    package let acceptedAt: Instant?

    /// A device whose token is dead, by a verdict that names a time.
    package struct DeadToken: Sendable, Hashable {
        package let device: Key<Device>
        /// The token that was used: a device that has another by now stays active. nil for any.
        package let token: DeviceToken?
        /// Devices that registered later stay active.
        package let since: Instant
        /// Whether its device had registered later already when it was sent to.
        package let isOutdated: Bool

        package init(device: Key<Device>, token: DeviceToken? = nil, since: Instant, isOutdated: Bool = false) {
            self.device = device
            self.token = token
            self.since = since
            self.isOutdated = isOutdated
        }

        package func names(_ token: DeviceToken?) -> Bool { self.token == nil || self.token == token }
    }

    /// A device that its provider now knows by another token. `TokenMove` decides the consequence.
    package struct Move: Sendable, Hashable {
        package let device: Key<Device>
        /// The token that was used.
        package let from: DeviceToken
        package let to: DeviceToken
    }

    /// A request to park the platform, ignored once its credentials are no longer those that were refused.
    package struct ParkRequest: Sendable, Hashable {
        package let parking: Parking
        /// The version of the platform as it was loaded for the batch.
        package let credentialsVersion: Int64
        /// The attempt with refused credentials that the batch was; nil where the platform was not parked.
        package let probe: Parking.Probe?

        package init(_ parking: Parking, of platform: Platform) {
            self.parking = parking
            credentialsVersion = platform.credentialsVersion
            probe = platform.parked?.probe
        }
    }

    package init(
        batch: Batch, answers: [Answer], retryAt: Instant?, retryTimes: [Int: Int] = [:], deadTokens: [DeadToken] = [],
        moves: [Move] = [], parkRequest: ParkRequest? = nil, note: AttemptNote? = nil,
        acceptedAt: Instant? = nil
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
        self.parkRequest = parkRequest
        self.note = note
        self.acceptedAt = acceptedAt
    }

    /// Retry times of the devices that wait beyond `retryAt`, by index.
    package var waitEnds: [Int: Instant] { retryAt.map { RetryTimes.ends(of: retryTimes, from: $0) } ?? [:] }

    /// The number of devices that it deactivates, as far as is known.
    package var deactivations: Int { deadTokens.count { !$0.isOutdated } }

    /// The number of devices that got each answer in this settlement.
    package var counts: [Answer: Int] {
        var counts: [Answer: Int] = [:]
        for (before, after) in zip(batch.answers, answers) where before == .pending && after != .pending {
            counts[after, default: 0] += 1
        }
        return counts
    }

    /// The new bytes of the batch row, and how many devices got each code; waiting devices count as `pending`.
    ///
    /// - Parameter before: the present answers of the row. They stay: an answer is final.
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
    ///   - parkRequest: where the credentials that were refused are believed to be.
    package init(
        of batch: Batch, sending load: BatchLoad, outcomes: [Outcome], policy: RetryPolicy, now: Instant,
        jitter: Double,
        parkRequest: ParkRequest? = nil
    ) {
        precondition(outcomes.count == load.recipients.count, "a provider answers for each recipient")
        var draft = Draft(batch: batch, parkRequest: parkRequest)
        draft.skipInactive(load.recipients)
        var rest = batch.devices[...]
        var note = AttemptNote.Draft(of: batch, at: now)
        for (recipient, outcome) in zip(load.recipients, outcomes) {
            guard let index = rest.firstIndex(of: recipient.device) else { continue }
            draft.apply(outcome, of: recipient, at: index, guarantee: load.push.guarantee, now: now)
            note.add(outcome, at: index)
            rest = rest[(index + 1)...]
        }
        self = draft.finish(
            policy: policy, end: policy.end(of: load.push), now: now, jitter: jitter, note: note.finish(),
            acceptedAt: load.push.acceptedAt)
    }

    /// Settles a batch whose push expired before it could be sent.
    package init(expired batch: Batch) {
        self.init(batch: batch, answers: batch.answers.map { $0 == .pending ? .expired : $0 }, retryAt: nil)
    }

    /// Settles a batch of an at-most-once push whose delivery worker died: it is not known which devices were notified. Those that
    /// waited for a later attempt were not, and go on waiting.
    package init(abandoned batch: Batch, at now: Instant) {
        let answers = batch.answers.enumerated().map { index, answer in
            answer == .pending && batch.retryTimes[index] == nil ? .unknown : answer
        }
        self.init(handingBack: batch, answers, at: now)
    }

    /// Settles a claimed batch whose push was cancelled. Devices that an earlier lease may have sent to become `unknown`.
    package init(cancelled batch: Batch) {
        let answers = batch.answers.enumerated().map { index, answer -> Answer in
            guard answer == .pending else { return answer }
            return batch.isLapsed && batch.retryTimes[index] == nil ? .unknown : .skipped(.cancelled)
        }
        self.init(batch: batch, answers: answers, retryAt: nil)
    }

    /// This settlement for a push that was cancelled meanwhile: retries are not sent any more.
    package var cancellingRetries: Settlement {
        Settlement(
            batch: batch, answers: answers.map { $0 == .pending ? .skipped(.cancelled) : $0 }, retryAt: nil,
            deadTokens: deadTokens, moves: moves, parkRequest: parkRequest, note: note, acceptedAt: acceptedAt)
    }

    /// Hands a batch back unchanged, to be sent from `now`. One without a pending device is closed.
    package init(handingBack batch: Batch, at now: Instant, parkRequest: ParkRequest? = nil) {
        self.init(handingBack: batch, batch.answers, at: now, parkRequest)
    }

    private init(handingBack batch: Batch, _ answers: [Answer], at now: Instant, _ parkRequest: ParkRequest? = nil) {
        let waits = batch.retryTimes.filter { answers[$0.key] == .pending }
        // Where all wait, the batch waits with them.
        if answers.count(where: { $0 == .pending }) == waits.count, let plan = RetryTimes.plan(waits) {
            self.init(
                batch: batch, answers: answers, retryAt: plan.dueAt, retryTimes: plan.minutes, parkRequest: parkRequest)
            return
        }
        let due = waits.values.max().map { max(now, RetryTimes.earliestDue(before: $0)) } ?? now
        self.init(
            batch: batch, answers: answers, retryAt: answers.contains(.pending) ? due : nil,
            retryTimes: waits.compactMapValues { RetryTimes.minutes(from: due, until: $0) }, parkRequest: parkRequest)
    }

    /// This settlement with the platform parked: no device is deactivated and no token is replaced.
    package func parking(_ parkRequest: ParkRequest) -> Settlement {
        Settlement(
            batch: batch, answers: answers, retryAt: retryAt, retryTimes: retryTimes, deadTokens: [],
            parkRequest: parkRequest, note: note, acceptedAt: acceptedAt)
    }
}

private struct Draft {
    let batch: Batch
    let parkRequest: Settlement.ParkRequest?
    var answers: [Answer]
    var deadTokens: [Settlement.DeadToken] = []
    var moves: [Settlement.Move] = []
    /// The wait that the provider asked for each device that is retried, by index.
    var asked: [Int: Duration] = [:]
    /// The ends of quiet hours of devices that wait for them, by index.
    var quiet: [Int: Instant] = [:]

    init(batch: Batch, parkRequest: Settlement.ParkRequest?) {
        self.batch = batch
        self.parkRequest = parkRequest
        answers = batch.answers
    }

    /// Skips devices that were due but that the store did not load.
    mutating func skipInactive(_ recipients: [Recipient]) {
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
        case .refused(let refusal, _):
            answers[index] = .refused(refusal)
        case .gone(let since, _):
            answers[index] = .gone
            if let since {
                deadTokens.append(
                    Settlement.DeadToken(
                        device: recipient.device, token: recipient.token, since: since,
                        isOutdated: recipient.registeredAt.map { since <= $0 } ?? false))
            }
        case .throttled(let retryAfter, _), .failed(let retryAfter, _):
            asked[index] = retryAfter ?? .zero
        case .unreachable:
            asked[index] = .zero
        case .unanswered:
            if guarantee == .atMostOnce { answers[index] = .unknown } else { asked[index] = .zero }
        case .held(let wait, _): asked[index] = wait
        case .waiting(let end): quiet[index] = end
        case .skipped(let skip): answers[index] = .skipped(skip)
        // A device of a parked platform waits until that resumes.
        case .credentialsRefused: if parkRequest == nil { asked[index] = .zero }
        }
    }

    func finish(
        policy: RetryPolicy, end: Instant, now: Instant, jitter: Double, note: AttemptNote?, acceptedAt: Instant
    ) -> Settlement {
        var answers = answers
        var dues: [Int: Instant] = [:]
        for index in answers.indices where answers[index] == .pending {
            let due = asked[index].map { now + policy.delay(after: batch.attempt, asked: $0, jitter: jitter) }
            dues[index] = quiet[index] ?? due ?? batch.retryTimes[index] ?? now
        }
        for (index, due) in quiet where due >= end {
            answers[index] = .skipped(.quietHours)
            dues[index] = nil
        }
        if parkRequest == nil {
            for (index, due) in dues where due >= end {
                answers[index] = .expired
                dues[index] = nil
            }
        }
        // A long wait delays no other device: it is asked for again when it has lasted as long as a byte says.
        if let first = dues.values.min() {
            let last = first + RetryTimes.longest + .seconds(-60)
            for index in quiet.keys { dues[index] = dues[index].map { min($0, last) } }
        }
        let plan = RetryTimes.plan(dues)
        return Settlement(
            batch: batch, answers: answers, retryAt: plan?.dueAt, retryTimes: plan?.minutes ?? [:],
            deadTokens: deadTokens, moves: moves, parkRequest: parkRequest, note: note, acceptedAt: acceptedAt)
    }
}
