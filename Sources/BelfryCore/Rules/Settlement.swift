/// What the outcomes of a page change: one consequence for each outcome.
///
/// accepted, refused → the device's answer. moved → the same as accepted, and the device's token is replaced. gone → the
/// answer, and deactivation if the verdict names a time. throttled, failed, unreachable → tried again, none before its own time.
/// unanswered → tried again, or `unknown`, as the push asks. barred → tried again once the platform is mended, which is
/// parked.
package struct Settlement: Sendable, Hashable {
    package let page: Page
    /// One for each device of the page.
    package let answers: [Answer]
    /// When the first of the pending devices are to be tried again; nil when none is.
    package let retryAt: Instant?
    /// How many minutes longer others of them wait, by their place; see `Rests`.
    package let rests: [Int: Int]
    package let deaths: [Death]
    package let moves: [Move]
    package let halt: Halt?

    /// A device whose token is dead, by a verdict that names a time.
    package struct Death: Sendable, Hashable {
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

    /// An order to park the platform, void once its credentials are others than those that were refused.
    package struct Halt: Sendable, Hashable {
        package let parking: Parking
        /// Of the platform as it was loaded for the page.
        package let credentialsVersion: Int64

        package init(_ parking: Parking, of platform: Platform) {
            self.parking = parking
            credentialsVersion = platform.credentialsVersion
        }
    }

    package init(
        page: Page, answers: [Answer], retryAt: Instant?, rests: [Int: Int] = [:], deaths: [Death] = [],
        moves: [Move] = [], halt: Halt? = nil
    ) {
        precondition(answers.count == page.devices.count, "each device of a page has an answer")
        precondition((retryAt == nil) == !answers.contains(.pending), "pending devices have a time, others have none")
        precondition(rests.keys.allSatisfy { answers[$0] == .pending }, "who rests is pending")
        self.page = page
        self.answers = answers
        self.retryAt = retryAt
        self.rests = rests
        self.deaths = deaths
        self.moves = moves
        self.halt = halt
    }

    /// Until when those wait who are not tried again at `retryAt`, by their place.
    package var restEnds: [Int: Instant] { retryAt.map { Rests.ends(of: rests, from: $0) } ?? [:] }

    /// How many devices got each answer by this settlement.
    package var counts: [Answer: Int] {
        var counts: [Answer: Int] = [:]
        for (before, after) in zip(page.answers, answers) where before == .pending && after != .pending {
            counts[after, default: 0] += 1
        }
        return counts
    }

    /// What the page's row says from now on, and how many devices got each code by this; those who wait count as `pending`.
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
        for (place, minutes) in rests where codes[place] == Answer.pending.code {
            codes[place] = Rests.code(minutes: minutes)
        }
        return (codes, counts)
    }
}

extension Settlement {
    /// Settles a page that was carried.
    ///
    /// - Parameters:
    ///   - outcomes: one for each recipient of the load, in its order.
    ///   - jitter: a fraction in 0..<1.
    package init(
        of page: Page, carrying load: PageLoad, outcomes: [Outcome], policy: RetryPolicy, now: Instant, jitter: Double
    ) {
        precondition(outcomes.count == load.recipients.count, "a provider answers for each recipient")
        var draft = Draft(page: page, platform: load.platform)
        draft.skipUnreachable(load.recipients)
        var rest = page.devices[...]
        for (recipient, outcome) in zip(load.recipients, outcomes) {
            guard let index = rest.firstIndex(of: recipient.device) else { continue }
            draft.apply(outcome, of: recipient, at: index, guarantee: load.push.guarantee, now: now)
            rest = rest[(index + 1)...]
        }
        self = draft.finish(policy: policy, end: policy.end(of: load.push), now: now, jitter: jitter)
    }

    /// Settles a page whose push has ended before it could be carried.
    package init(expired page: Page) {
        self.init(page: page, answers: page.answers.map { $0 == .pending ? .expired : $0 }, retryAt: nil)
    }

    /// Settles a page of an at-most-once push whose courier died: nobody knows who was told.
    package init(abandoned page: Page) {
        self.init(page: page, answers: page.answers.map { $0 == .pending ? .unknown : $0 }, retryAt: nil)
    }

    /// Hands a page back untouched, to be carried from `now`.
    package init(handingBack page: Page, at now: Instant, halt: Halt? = nil) {
        let retryAt = page.rests.values.max().map { max(now, Rests.earliestDue(before: $0)) } ?? now
        let rests = page.rests.compactMapValues { Rests.minutes(from: retryAt, until: $0) }
        self.init(page: page, answers: page.answers, retryAt: retryAt, rests: rests, halt: halt)
    }

    /// This settlement, with the platform parked and no device harmed.
    package func sparing(_ halt: Halt) -> Settlement {
        Settlement(page: page, answers: answers, retryAt: retryAt, rests: rests, deaths: [], halt: halt)
    }
}

private struct Draft {
    let page: Page
    let platform: Platform
    var answers: [Answer]
    var deaths: [Settlement.Death] = []
    var moves: [Settlement.Move] = []
    /// The patience that was asked for those who are tried again, by their place.
    var asked: [Int: Duration] = [:]
    var trouble: String?

    init(page: Page, platform: Platform) {
        self.page = page
        self.platform = platform
        answers = page.answers
    }

    /// Answers for those of the page who were to be told, and whom the store left out of the load.
    mutating func skipUnreachable(_ recipients: [Recipient]) {
        var rest = recipients[...]
        for index in page.ready {
            if rest.first?.device == page.devices[index] {
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
            if let since { deaths.append(Settlement.Death(device: page.devices[index], since: since)) }
        case .throttled(let retryAfter), .failed(let retryAfter):
            asked[index] = retryAfter ?? .zero
        case .unreachable:
            asked[index] = .zero
        case .unanswered:
            if guarantee == .atMostOnce { answers[index] = .unknown } else { asked[index] = .zero }
        case .barred(let words):
            trouble = words
        }
    }

    func finish(policy: RetryPolicy, end: Instant, now: Instant, jitter: Double) -> Settlement {
        let halt = trouble.map { Settlement.Halt(Parking(cause: .credentials, detail: $0, since: now), of: platform) }
        var answers = answers
        var dues: [Int: Instant] = [:]
        for index in answers.indices where answers[index] == .pending {
            let due = asked[index].map { now + policy.delay(after: page.attempt, asked: $0, jitter: jitter) }
            dues[index] = due ?? page.rests[index] ?? now
        }
        if trouble == nil {
            for (index, due) in dues where due >= end {
                answers[index] = .expired
                dues[index] = nil
            }
        }
        let plan = Rests.plan(dues)
        return Settlement(
            page: page, answers: answers, retryAt: plan?.dueAt, rests: plan?.minutes ?? [:], deaths: deaths,
            moves: moves, halt: halt)
    }
}
