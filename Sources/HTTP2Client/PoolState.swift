/// The decisions of a pool, without network, clock or chance. Times count from any origin.
struct PoolState {
    struct ID: Hashable, Sendable {
        let number: Int
    }

    enum Phase: Hashable { case connecting, open, draining }

    struct Member {
        let id: ID
        var phase = Phase.connecting
        var streams: Int
        var isProven = false
        /// Whether it is opened for urgent requests, and on the event loops for them.
        let isForUrgent: Bool
        /// Requests given to it whose batch has not come back.
        var assigned = 0
        var usedAt: Duration
    }

    struct Waiter: Equatable {
        let number: Int
        let count: Int
        let isUrgent: Bool
        let lapsesAt: Duration
    }

    enum Answer: Equatable { case use(ID), refuse(HTTP2Fault), wait }

    enum Action: Equatable {
        case open(ID)
        case drain(ID)
        case resume(waiter: Int, with: Answer)
    }

    private let configuration: HTTP2PoolConfiguration
    private(set) var members: [Member] = []
    private(set) var waiters: [Waiter] = []
    private(set) var backOff: BackOff
    private(set) var lastFailure: HTTP2ConnectError?
    private var openedAt: Duration?
    private var nextID = 0
    private(set) var isShut = false

    init(configuration: HTTP2PoolConfiguration) {
        self.configuration = configuration
        backOff = BackOff(first: configuration.backOffFirst, longest: configuration.backOffLongest)
    }

    // MARK: Work

    /// Asks for a connection to send `waiter.count` requests on.
    mutating func ask(_ waiter: Waiter, at now: Duration) -> (Answer, [Action]) {
        guard !isShut else { return (.refuse(HTTP2Fault(.closing)), []) }
        if let best = leastLoaded(for: waiter) {
            let wouldWait = members[best].assigned + waiter.count > members[best].streams
            // What is opened may take a place before the best.
            let answer = assign(waiter, to: best, at: now)
            return (answer, wouldWait ? openAnother(at: now) : [])
        }
        guard configuration.outlastsBackOff ? backOff.nextAt < waiter.lapsesAt : backOff.allows(at: now) else {
            return (.refuse(unreachable), [])
        }
        waiters.append(waiter)
        return (.wait, openAnother(at: now))
    }

    /// A batch came back from a connection.
    mutating func gaveBack(_ id: ID, count: Int, at now: Duration) {
        change(id) {
            $0.assigned -= count; $0.usedAt = now
        }
    }

    /// The waiter's task was cancelled.
    mutating func cancel(waiter number: Int) -> [Action] {
        guard waiters.contains(where: { $0.number == number }) else { return [] }
        waiters.removeAll { $0.number == number }
        return [.resume(waiter: number, with: .refuse(HTTP2Fault(.cancelled)))]
    }

    /// How many requests can usefully be held now: one window in flight and one waiting, per connection.
    func room(at now: Duration) -> Int {
        guard !isShut else { return 0 }
        let held = waiters.reduce(0) { $0 + $1.count }
        let usable = members.filter { $0.phase == .open }
        guard !usable.isEmpty else {
            return backOff.allows(at: now) ? max(0, configuration.connection.streamsMax - held) : 0
        }
        return max(0, usable.reduce(0) { $0 + max(0, 2 * $1.streams - $1.assigned) } - held)
    }

    // MARK: Connections

    mutating func opened(_ id: ID, at now: Duration) -> [Action] {
        guard !isShut else { return [.drain(id)] }
        change(id) {
            $0.phase = .open; $0.usedAt = now
        }
        return placeWaiters(at: now)
    }

    mutating func failed(_ id: ID, _ error: HTTP2ConnectError, at now: Duration, chance: Double) -> [Action] {
        members.removeAll { $0.id == id }
        lastFailure = error
        backOff.failed(at: now, chance: chance)
        let next = backOff.nextAt
        let isForPeople = error.code == .tlsRefused || error.code == .proxy
        let isFinal = isForPeople || !configuration.outlastsBackOff
        return refuseWaiters { isFinal || $0.lapsesAt <= next }
    }

    mutating func limited(_ id: ID, to streams: Int) {
        change(id) { $0.streams = streams }
    }

    mutating func proven(_ id: ID) {
        change(id) { $0.isProven = true }
        lastFailure = nil
        backOff.succeeded()
    }

    mutating func draining(_ id: ID) {
        change(id) { $0.phase = .draining }
    }

    /// A connection is gone. One that ended before it proved itself counts as a failed connect: a server that accepts
    /// and then says GOAWAY must not be asked again at once.
    mutating func closed(_ id: ID, _ ending: HTTP2Ending, at now: Duration, chance: Double) -> [Action] {
        guard let member = members.first(where: { $0.id == id }), member.phase != .connecting else { return [] }
        members.removeAll { $0.id == id }
        guard ending != .closed, !member.isProven else { return [] }
        return failed(id, HTTP2ConnectError(ending: ending), at: now, chance: chance)
    }

    /// Retires all open connections; new ones are opened when work asks for them.
    mutating func replaceAll() -> [Action] { drain(members.filter { $0.phase == .open }) }

    /// Closes what nothing stands on, now.
    mutating func closeIdle() -> [Action] { drain(members.filter { $0.phase == .open && $0.assigned == 0 }) }

    mutating func shut() -> [Action] {
        isShut = true
        let waiting = waiters.map { Action.resume(waiter: $0.number, with: .refuse(HTTP2Fault(.closing))) }
        waiters = []
        return waiting + replaceAll()
    }

    // MARK: Time

    /// Lets waiters lapse, connects when the back-off is over or work waits, closes what is idle.
    mutating func tick(at now: Duration) -> [Action] {
        let lapsed = waiters.filter { $0.lapsesAt <= now }
        waiters.removeAll { $0.lapsesAt <= now }
        return lapsed.map { .resume(waiter: $0.number, with: .refuse(HTTP2Fault(.deadline))) }
            + (needsMore ? openAnother(at: now) : [])
            + closeIdle(at: now)
    }

    // MARK: Parts

    private var unreachable: HTTP2Fault {
        lastFailure?.code == .tlsRefused ? HTTP2Fault(.tlsRefused) : HTTP2Fault(.circuitOpen)
    }

    /// True while work waits: for a connection, or for streams on every one there is.
    private var needsMore: Bool {
        let open = usable(urgently: false)
        return !waiters.isEmpty || !open.isEmpty && open.allSatisfy { members[$0].assigned > members[$0].streams }
    }

    /// The open connections that requests may take. Where several are proven, the first is for urgent ones alone: what was written before them
    /// on a connection, up to a thousand requests, the server reads before them.
    private func usable(urgently isUrgent: Bool) -> ArraySlice<Int> {
        let open = members.indices.filter { members[$0].phase == .open }
        let others = open.dropFirst()
        let isSpared = configuration.connectionsMax > 2 && others.contains { members[$0].isProven }
        return isSpared && !isUrgent ? others : open[...]
    }

    private func leastLoaded(for waiter: Waiter) -> Int? {
        usable(urgently: waiter.isUrgent).min { fill(members[$0]) < fill(members[$1]) }
    }

    /// How full a connection is; one that has not proven itself still has its initial limit.
    private func fill(_ member: Member) -> Double {
        let streams = member.isProven ? member.streams : configuration.connection.initialStreamLimit ?? member.streams
        return Double(member.assigned) / Double(max(1, streams))
    }

    private mutating func assign(_ waiter: Waiter, to index: Int, at now: Duration) -> Answer {
        members[index].assigned += waiter.count
        members[index].usedAt = now
        return .use(members[index].id)
    }

    /// One at a time and not too fast, whatever the load.
    private mutating func openAnother(at now: Duration) -> [Action] {
        guard !isShut, members.count < configuration.connectionsMax || !members.contains(where: { $0.phase == .open }),
            !members.contains(where: { $0.phase == .connecting }), backOff.allows(at: now), isSpaced(at: now)
        else { return [] }
        nextID += 1
        openedAt = now
        let id = ID(number: nextID)
        let isForUrgent = !members.contains { $0.isForUrgent && $0.phase != .draining }
        let member = Member(id: id, streams: StreamWindow.unstated, isForUrgent: isForUrgent, usedAt: now)
        members.insert(member, at: isForUrgent ? 0 : members.count)
        return [.open(id)]
    }

    /// The spacing holds for growth; without any open connection only the back-off does.
    private func isSpaced(at now: Duration) -> Bool {
        guard let openedAt, members.contains(where: { $0.phase == .open }) else { return true }
        return now >= openedAt + configuration.openSpacing
    }

    private mutating func placeWaiters(at now: Duration) -> [Action] {
        let placed = waiters.filter(\.isUrgent) + waiters.filter { !$0.isUrgent }
        waiters = []
        return placed.compactMap { waiter in
            guard let best = leastLoaded(for: waiter) else { return nil }
            return .resume(waiter: waiter.number, with: assign(waiter, to: best, at: now))
        }
    }

    private mutating func refuseWaiters(where isHopeless: (Waiter) -> Bool) -> [Action] {
        guard !members.contains(where: { $0.phase != .draining }) else { return [] }
        let fault = lastFailure?.fault ?? HTTP2Fault(.connectFailed)
        let hopeless = waiters.filter(isHopeless)
        waiters.removeAll(where: isHopeless)
        return hopeless.map { .resume(waiter: $0.number, with: .refuse(fault)) }
    }

    private mutating func closeIdle(at now: Duration) -> [Action] {
        let open = members.filter { $0.phase == .open }
        let idle = open.filter { $0.assigned == 0 && now >= $0.usedAt + configuration.idleMax }
        let spare = idle.count == open.count ? Array(idle.dropFirst()) : idle
        let last = open.count == 1 ? idle.filter { now >= $0.usedAt + configuration.lastIdleMax } : []
        return drain(spare + last)
    }

    private mutating func drain(_ members: [Member]) -> [Action] {
        for member in members { draining(member.id) }
        return members.map { .drain($0.id) }
    }

    private mutating func change(_ id: ID, _ change: (inout Member) -> Void) {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return }
        change(&members[index])
    }
}

/// How long to wait after a failed connect: doubling from the first to the longest wait, each shortened by chance.
struct BackOff {
    let first: Duration
    let longest: Duration
    private(set) var failures = 0
    private(set) var nextAt = Duration.zero

    /// - Parameter chance: in 0..<1; the wait is between half and all of its nominal length, so that many clients that
    ///   failed together do not return together.
    mutating func failed(at now: Duration, chance: Double) {
        let nominal = min(longest, first * (1 << min(failures, 30)))
        failures += 1
        nextAt = now + nominal * (0.5 + chance / 2)
    }

    mutating func succeeded() {
        failures = 0
        nextAt = .zero
    }

    func allows(at now: Duration) -> Bool { now >= nextAt }
}
