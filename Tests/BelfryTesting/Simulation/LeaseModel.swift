package import BelfryService

/// One batch with one device, and the delivery workers that compete for it: the whole lease protocol, and as little
/// else as possible.
///
/// Small enough to examine every reachable state (`LeaseModelTests`), and replayed in each store (`LeaseConformance`).
package struct LeaseModel: Sendable, Hashable {
    package enum Step: Sendable, Hashable {
        case claim(Int)
        case tell(Int, Word)
        case settle(Int)
        case crash(Int)
        /// The time of the lease is over.
        case lapse
        /// The push is cancelled.
        case cancel
    }

    /// The provider's answer.
    package enum Word: Sendable, Hashable, CaseIterable {
        case accepted, failed, unanswered
    }

    /// A fault of the protocol, to show that the check would detect it.
    package enum Fault: Sendable, Hashable, CaseIterable {
        case settlesWithoutFence, claimsInSpiteOfLease, neverLapses, tellsTwiceAtMostOnce, forgetsCancel
    }

    package enum Lease: Sendable, Hashable {
        case none, held, lapsed
    }

    /// A delivery worker's knowledge of the batch.
    package struct Hold: Sendable, Hashable {
        package let attempt: Int
        package let isLapsed: Bool
        /// Whether the push was cancelled before the claim.
        package let isCancelled: Bool
        /// nil before the device is notified.
        package var word: Word?
    }

    private let guarantee: Push.Guarantee
    private let fault: Fault?
    /// How often a delivery worker may die, or be too slow.
    private let mishapsMax: Int
    private let failuresMax: Int
    /// How often the push may be cancelled.
    private let cancelsMax: Int

    package private(set) var attempt = 0
    package private(set) var lease = Lease.none
    package private(set) var answer = Answer.pending
    package private(set) var holds: [Hold?]
    private var tells = 0
    private var mishaps = 0
    private var failures = 0
    private var settlements = 0
    private var cancels = 0
    /// Whether the push was cancelled while the batch was claimed.
    private var isCancelled = false
    private var attemptAtCancel = 0
    /// Devices notified by a worker that claimed after the cancel.
    private var tellsAfterCancel = 0

    package init(
        workers: Int, mishaps: Int, failures: Int, cancels: Int = 0, guarantee: Push.Guarantee = .atLeastOnce,
        fault: Fault? = nil
    ) {
        holds = Array(repeating: nil, count: workers)
        mishapsMax = mishaps
        failuresMax = failures
        cancelsMax = cancels
        self.guarantee = guarantee
        self.fault = fault
    }

    package var isDone: Bool { answer != .pending && holds.allSatisfy { $0 == nil } }

    package var isClaimable: Bool {
        answer == .pending && (lease != .held || fault == .claimsInSpiteOfLease)
    }

    // MARK: Possible steps

    package var steps: [Step] {
        var steps: [Step] = lease == .held && canLapse ? [.lapse] : []
        if cancels < cancelsMax { steps.append(.cancel) }
        for (worker, hold) in holds.enumerated() {
            guard let hold else {
                if isClaimable { steps.append(.claim(worker)) }
                continue
            }
            if mishaps < mishapsMax { steps.append(.crash(worker)) }
            if hold.word != nil || isAbandoned(hold) {
                steps.append(.settle(worker))
            } else {
                let words: [Word] = failures < failuresMax ? Word.allCases : [.accepted]
                steps += words.map { .tell(worker, $0) }
            }
        }
        return steps
    }

    /// Returns a store's answer to a settlement; true for all other steps.
    @discardableResult
    package mutating func take(_ step: Step) -> Bool {
        switch step {
        case .claim(let worker):
            attempt += 1
            holds[worker] = Hold(
                attempt: attempt, isLapsed: lease == .lapsed, isCancelled: isCancelled && fault != .forgetsCancel)
            lease = .held
        case .tell(let worker, let word):
            tells += 1
            if isCancelled, let hold = holds[worker], hold.attempt > attemptAtCancel { tellsAfterCancel += 1 }
            holds[worker]?.word = word
            if word != .accepted { failures += 1 }
        case .settle(let worker):
            let hold = holds[worker]
            holds[worker] = nil
            guard let hold, isCurrent(hold) else { return false }
            let written = answer(to: hold)
            apply(isCancelled && written == .pending ? .skipped(.cancelled) : written)
        case .cancel:
            cancels += 1
            cancel()
        case .crash(let worker):
            holds[worker] = nil
            mishaps += 1
        case .lapse:
            if isHeld { mishaps += 1 }
            lease = .lapsed
        }
        return true
    }

    private mutating func cancel() {
        guard answer == .pending else { return }
        switch lease {
        case .none: apply(.skipped(.cancelled))
        case .held:
            isCancelled = true
            attemptAtCancel = attempt
        case .lapsed:
            attempt += 1
            apply(.unknown)
        }
    }

    /// Whether the batch is given up: a lapsed batch of an at-most-once push is never sent again, nor one whose push was cancelled.
    package func isAbandoned(_ hold: Hold) -> Bool {
        if hold.isCancelled { return true }
        return guarantee == .atMostOnce && hold.isLapsed && fault != .tellsTwiceAtMostOnce
    }

    /// The answer that a delivery worker writes.
    package func answer(to hold: Hold) -> Answer {
        if isAbandoned(hold) { return .unknown }
        switch hold.word {
        case .accepted: return .accepted
        case .unanswered where guarantee == .atMostOnce: return .unknown
        default: return .pending
        }
    }

    private func isCurrent(_ hold: Hold) -> Bool {
        fault == .settlesWithoutFence || (hold.attempt == attempt && answer == .pending)
    }

    private mutating func apply(_ answer: Answer) {
        lease = .none
        self.answer = answer
        if answer != .pending { settlements += 1 }
    }

    /// The lease of a dead worker ends by itself; that of a living one only if it is too slow.
    private var canLapse: Bool { fault != .neverLapses && (!isHeld || mishaps < mishapsMax) }

    private var isHeld: Bool { holds.contains { $0?.attempt == attempt } }

    // MARK: Invariants

    /// The violated invariant of this state; nil when there is none.
    package var violation: String? {
        if settlements > 1 { return "the device was counted \(settlements) times" }
        if (answer != .pending) != (settlements == 1) { return "the counters are not the answers" }
        if answer == .accepted && tells == 0 { return "accepted, and no device was told" }
        if tellsAfterCancel > 0 { return "told after the push was cancelled" }
        switch guarantee {
        case .atLeastOnce where tells > 1 + failures + mishaps:
            return "told \(tells) times with \(failures) failures and \(mishaps) mishaps"
        case .atMostOnce where tells > 1 + failures:
            return "told \(tells) times with \(failures) failures"
        default: return nil
        }
    }

    // MARK: Reachable states

    /// Every reachable state, with a shortest way to it; the search does not go past a violation.
    package func reachable() -> [LeaseModel: [Step]] {
        var ways: [LeaseModel: [Step]] = [self: []]
        var frontier = [self]
        while !frontier.isEmpty {
            var next: [LeaseModel] = []
            for state in frontier where state.violation == nil {
                for step in state.steps {
                    var after = state
                    after.take(step)
                    guard ways[after] == nil else { continue }
                    ways[after] = ways[state].map { $0 + [step] }
                    next.append(after)
                }
            }
            frontier = next
        }
        return ways
    }
}
