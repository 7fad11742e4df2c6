import NIOCore

/// The look-ups that are under way and those that wait, by caller, and the answers that are kept.
struct LookupQueue: Sendable {
    typealias Answer = Result<[SocketAddress], NameFault>

    enum Step: Sendable {
        case begin(NameCaller.Lane, String)
        case tell(Int, Answer)
    }

    private let limits: NameLimits
    private var lanes: [NameCaller.Lane: LookupLane] = [:]
    /// Waiters that have no answer yet.
    private var alive: Set<Int> = []
    /// The deadlines in the order of time: all waiters wait equally long.
    private var deadlines = CircularBuffer<(at: NIODeadline, waiter: Int)>()

    init(_ limits: NameLimits) {
        self.limits = limits
        for lane in NameCaller.Lane.allCases { lanes[lane] = LookupLane(limits) }
    }

    /// When the next waiter gives up.
    var nextDeadline: NIODeadline? { deadlines.first?.at }

    /// - Parameter waiter: a number of its own.
    mutating func ask(_ host: String, by caller: NameCaller, waiter: Int, at now: NIODeadline) -> [Step] {
        // A name of the configuration may be completed by search domains, so it differs from one of the other lanes that is spelt
        // alike.
        let lanesAlike: [NameCaller.Lane] = caller.lane == .configured ? [.configured] : [.doors, .delivery]
        for lane in lanesAlike {
            if let known = lanes[lane]?.known(host, at: now) { return [.tell(waiter, known)] }
        }
        guard let step = lanes[caller.lane]?.ask(host, by: caller, waiter: waiter, at: now) else {
            return [.tell(waiter, .failure(lanes.isEmpty ? .unanswered : .full))]
        }
        alive.insert(waiter)
        deadlines.append((now + TimeAmount(limits.deadline), waiter))
        return step
    }

    /// - Parameter lifetime: how long the name's servers let the answer be kept.
    mutating func found(
        _ answer: Answer, of host: String, in lane: NameCaller.Lane, lifetime: Duration, at now: NIODeadline
    ) -> [Step] {
        let steps = lanes[lane]?.found(answer, of: host, lifetime: lifetime, at: now) ?? []
        return telling(steps + (lanes[lane]?.next(at: now, alive) ?? []))
    }

    /// Tells the waiters whose time is over.
    mutating func expire(at now: NIODeadline) -> [Step] {
        var steps: [Step] = []
        while let first = deadlines.first, first.at <= now {
            deadlines.removeFirst()
            if alive.contains(first.waiter) { steps.append(.tell(first.waiter, .failure(.unanswered))) }
        }
        guard !steps.isEmpty else { return [] }
        let told = telling(steps)
        for lane in NameCaller.Lane.allCases { lanes[lane]?.forget(whereNoneOf: alive) }
        return told
    }

    /// A waiter that has given up.
    mutating func cancel(_ waiter: Int) -> [Step] { telling([.tell(waiter, .failure(.unanswered))]) }

    /// Tells all waiters. Nothing is begun any more.
    mutating func close() -> [Step] {
        lanes = [:]
        return telling(alive.map { .tell($0, .failure(.unanswered)) })
    }

    /// Drops repeated answers, so that each waiter gets one.
    private mutating func telling(_ steps: [Step]) -> [Step] {
        steps.filter { step in
            if case .tell(let waiter, _) = step { alive.remove(waiter) != nil } else { true }
        }
    }
}

private struct LookupLane: Sendable {
    private struct Running {
        let caller: NameCaller
        var waiters: [Int]
    }

    private struct Waiting {
        let host: String
        var waiters: [Int]
    }

    private enum Party: Hashable {
        case application(Int64?)
        case tenant(Int64)
    }

    private let limits: NameLimits
    private var kept: [String: (answer: LookupQueue.Answer, until: NIODeadline)] = [:]
    private var running: [String: Running] = [:]
    private var used: [Party: Int] = [:]
    private var waiting: [NameCaller: [Waiting]] = [:]
    /// Callers with waiting look-ups, in the order of their turns.
    private var turns = CircularBuffer<NameCaller>()
    private var waitingOf: [Party: Int] = [:]
    private var waitingCount = 0

    init(_ limits: NameLimits) { self.limits = limits }

    func known(_ host: String, at now: NIODeadline) -> LookupQueue.Answer? {
        kept[host].flatMap { now < $0.until ? $0.answer : nil }
    }

    /// nil where too many wait already.
    mutating func ask(
        _ host: String, by caller: NameCaller, waiter: Int, at now: NIODeadline
    ) -> [LookupQueue.Step]? {
        if running[host] != nil {
            running[host]?.waiters.append(waiter)
            return []
        }
        if waiting[caller] == nil, hasRoom(for: caller) { return [begin(host, by: caller, [waiter])] }
        if let place = waiting[caller]?.firstIndex(where: { $0.host == host }) {
            waiting[caller]?[place].waiters.append(waiter)
            return []
        }
        let party = Self.party(caller)
        guard waitingCount < limits.waiting, waitingOf[party, default: 0] < limits.waitingOfTenant else { return nil }
        if waiting[caller] == nil { turns.append(caller) }
        waiting[caller, default: []].append(Waiting(host: host, waiters: [waiter]))
        waitingCount += 1
        waitingOf[party, default: 0] += 1
        return []
    }

    mutating func found(
        _ answer: LookupQueue.Answer, of host: String, lifetime: Duration, at now: NIODeadline
    ) -> [LookupQueue.Step] {
        guard let done = running.removeValue(forKey: host) else { return [] }
        count(done.caller, -1)
        keep(answer, of: host, lifetime, at: now)
        return done.waiters.map { .tell($0, answer) }
    }

    /// Begins what has room now, one of each caller in turn.
    mutating func next(at now: NIODeadline, _ alive: Set<Int>) -> [LookupQueue.Step] {
        var steps: [LookupQueue.Step] = []
        var passed = 0
        while passed < turns.count, running.count < limits.total, let caller = turns.popFirst() {
            guard hasRoom(for: caller), let first = take(of: caller) else {
                turns.append(caller)
                passed += 1
                continue
            }
            passed = 0
            if waiting[caller] != nil { turns.append(caller) }
            let waiters = first.waiters.filter(alive.contains)
            if waiters.isEmpty { continue }
            if let known = known(first.host, at: now) {
                steps += waiters.map { .tell($0, known) }
            } else if running[first.host] != nil {
                running[first.host]?.waiters += waiters
            } else {
                steps.append(begin(first.host, by: caller, waiters))
            }
        }
        return steps
    }

    /// Drops look-ups that have no waiters any more and are not under way.
    mutating func forget(whereNoneOf alive: Set<Int>) {
        for (caller, list) in waiting {
            let kept = list.filter { $0.waiters.contains(where: alive.contains) }
            guard kept.count < list.count else { continue }
            countWaiting(caller, kept.count - list.count)
            waiting[caller] = kept.isEmpty ? nil : kept
            if kept.isEmpty { turns.removeAll { $0 == caller } }
        }
    }

    private mutating func begin(_ host: String, by caller: NameCaller, _ waiters: [Int]) -> LookupQueue.Step {
        running[host] = Running(caller: caller, waiters: waiters)
        count(caller, 1)
        return .begin(caller.lane, host)
    }

    private mutating func take(of caller: NameCaller) -> Waiting? {
        guard var list = waiting[caller], !list.isEmpty else { return nil }
        let first = list.removeFirst()
        waiting[caller] = list.isEmpty ? nil : list
        countWaiting(caller, -1)
        return first
    }

    // MARK: Counts

    private func hasRoom(for caller: NameCaller) -> Bool {
        guard running.count < limits.total, used[.application(caller.application), default: 0] < limits.application
        else { return false }
        return caller.tenant.map { used[.tenant($0), default: 0] < limits.tenant } ?? true
    }

    private mutating func count(_ caller: NameCaller, _ change: Int) {
        Self.add(change, to: .application(caller.application), in: &used)
        if let tenant = caller.tenant { Self.add(change, to: .tenant(tenant), in: &used) }
    }

    private mutating func countWaiting(_ caller: NameCaller, _ change: Int) {
        waitingCount += change
        Self.add(change, to: Self.party(caller), in: &waitingOf)
    }

    private static func add(_ change: Int, to party: Party, in counts: inout [Party: Int]) {
        let sum = counts[party, default: 0] + change
        counts[party] = sum == 0 ? nil : sum
    }

    private static func party(_ caller: NameCaller) -> Party {
        caller.tenant.map { .tenant($0) } ?? .application(caller.application)
    }

    // MARK: Answers

    private mutating func keep(
        _ answer: LookupQueue.Answer, of host: String, _ lifetime: Duration, at now: NIODeadline
    ) {
        if kept.count >= limits.namesKept { kept = kept.filter { now < $0.value.until } }
        // Half of them: what many ask for is soon known again.
        if kept.count >= limits.namesKept {
            kept = Dictionary(uniqueKeysWithValues: kept.prefix(limits.namesKept / 2).map { ($0.key, $0.value) })
        }
        let time: Duration
        switch answer {
        case .success: time = min(max(lifetime, limits.kept.lowerBound), limits.kept.upperBound)
        case .failure: time = limits.faultKept
        }
        kept[host] = (answer, now + TimeAmount(time))
    }
}
