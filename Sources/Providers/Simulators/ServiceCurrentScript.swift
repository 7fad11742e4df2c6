import Synchronization

/// Holds the script of a simulated provider; connections check for a newer one at each request.
package final class ServiceCurrentScript: Sendable {
    private let tokenText: Ledger.TokenText
    private let held = Mutex(CompiledServiceScript())
    private let rebuild = Atomic<Int>(0)
    private let connectionsOpened: @Sendable () -> Int

    init(tokenText: Ledger.TokenText, connectionsOpened: @escaping @Sendable () -> Int) {
        self.tokenText = tokenText
        self.connectionsOpened = connectionsOpened
    }

    package var script: ServiceScript { held.withLock { $0.script } }

    /// How often each fault of the script has happened, in its order.
    package var timesHappened: [Int] { held.withLock { $0.faults.map(\.timesHappened) } }

    var faults: [ArmedServiceFault] { held.withLock { $0.faults } }

    /// Replaces the script and resets all counters.
    package func set(_ script: ServiceScript) {
        let opened = connectionsOpened()
        let armed = script.faults.map { ArmedServiceFault($0, tokenText, connectionsBefore: opened) }
        publish { $0 = CompiledServiceScript(script, armed, tokenText) }
    }

    /// Appends a fault; the counters of the others continue.
    package func add(_ fault: ServiceFault) {
        let armed = ArmedServiceFault(fault, tokenText, connectionsBefore: connectionsOpened())
        publish { currentScript in
            var script = currentScript.script
            script.faults.append(fault)
            currentScript = CompiledServiceScript(script, currentScript.faults + [armed], tokenText)
        }
    }

    /// Gives these tokens this answer, in addition to the script.
    package func answer(_ answer: ScriptedAnswer, for tokens: [String]) {
        self.answer(Dictionary(tokens.map { ($0, answer) }) { first, _ in first })
    }

    /// Gives each of these tokens its answer, in addition to the script.
    package func answer(_ answers: [String: ScriptedAnswer]) {
        publish { currentScript in
            var script = currentScript.script
            script.verdicts.merge(answers) { _, new in new }
            currentScript = CompiledServiceScript(script, currentScript.faults, tokenText)
        }
    }

    package func clear() { set(ServiceScript()) }

    /// The current script if it is newer than the one the caller holds.
    func compiled(newerThan known: inout Int) -> CompiledServiceScript? {
        let current = rebuild.load(ordering: .acquiring)
        guard current != known else { return nil }
        known = current
        return held.withLock { $0 }
    }

    private func publish(_ change: (inout CompiledServiceScript) -> Void) {
        held.withLock { change(&$0) }
        rebuild.add(1, ordering: .releasing)
    }
}

struct CompiledServiceScript: Sendable {
    let script: ServiceScript
    let faults: [ArmedServiceFault]
    /// Faults that are checked once for each request.
    let requestFaults: [ArmedServiceFault]
    /// Faults that are checked once for each device.
    let tokenFaults: [ArmedServiceFault]
    let latency: Int64
    /// Whether a fault depends on the path of a request.
    let asksForPath: Bool
    private let verdicts: [[UInt8]: ScriptedAnswer]

    init(
        _ script: ServiceScript = ServiceScript(), _ faults: [ArmedServiceFault] = [],
        _ tokenText: Ledger.TokenText = .plain
    ) {
        self.script = script
        self.faults = faults
        let forRequests = faults.filter { !$0.fault.then.isForHandshake }
        self.requestFaults = forRequests.filter { !$0.fault.when.namesTokens }
        self.tokenFaults = forRequests.filter { $0.fault.when.namesTokens }
        self.latency = Int64(script.latencyMilliseconds)
        self.asksForPath = faults.contains { $0.fault.when.path != nil }
        var verdicts: [[UInt8]: ScriptedAnswer] = [:]
        for (token, answer) in script.verdicts {
            if let token = tokenText.bytes(of: token) { verdicts[token] = answer }
        }
        self.verdicts = verdicts
    }

    /// Whether it mentions single devices.
    var namesTokens: Bool { !tokenFaults.isEmpty || !verdicts.isEmpty }

    func verdict(for token: UnsafeRawBufferPointer) -> ScriptedAnswer? {
        verdicts.isEmpty ? nil : verdicts[Array(token)]
    }
}

/// A rule of the script with its counters.
final class ArmedServiceFault: Sendable {
    let fault: ServiceFault
    private let token: [UInt8]?
    private let tokenPrefix: [UInt8]?
    private let share: TokenShare?
    /// How many connections had been opened when the rule was set.
    private let connectionsBefore: Int
    private let counter: MatchCounter

    init(_ fault: ServiceFault, _ tokenText: Ledger.TokenText, connectionsBefore: Int) {
        self.fault = fault
        self.token = fault.when.token.flatMap(tokenText.bytes)
        self.tokenPrefix = fault.when.tokenPrefix.flatMap(tokenText.bytes)
        self.share = fault.when.share.map { TokenShare($0, salt: fault.when.salt) }
        self.connectionsBefore = connectionsBefore
        self.counter = MatchCounter(after: fault.when.after, every: fault.when.every, times: fault.times)
    }

    /// The facts that a rule may depend on.
    struct Occasion {
        /// Counted from 1 since the simulator started.
        var connection: Int
        /// Counted from 1 on the connection; 0 when the connection has only just opened.
        var request = 0
        var path = ""
        var topic: String?
    }

    var timesHappened: Int { counter.timesHappened }

    /// Whether the rule applies now. Counts the occasion.
    func matches(_ occasion: Occasion, token: UnsafeRawBufferPointer? = nil) -> Bool {
        fits(occasion) && token.map(fitsToken) ?? true && counter.matches()
    }

    private func fits(_ occasion: Occasion) -> Bool {
        let when = fault.when
        if let connection = when.connection, occasion.connection != connectionsBefore + connection { return false }
        if let request = when.request, occasion.request != request { return false }
        if let first = when.requestsFrom, occasion.request < first { return false }
        if let path = when.path, !occasion.path.hasPrefix(path) { return false }
        if let topic = when.topic, occasion.topic != topic { return false }
        return true
    }

    private func fitsToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if let token, !bytes.elementsEqual(token) { return false }
        if let tokenPrefix, !bytes.starts(with: tokenPrefix) { return false }
        return share?.contains(bytes) ?? true
    }
}

/// Delayed answers: a binary heap by due time, emptied by one scheduled tick for all that are due.
struct DelayLine<Element> {
    private var heap: [(due: Int64, order: UInt64, element: Element)] = []
    private var order: UInt64 = 0

    var nextDue: Int64? { heap.first?.due }
    var count: Int { heap.count }

    /// - Parameter due: in the caller's unit of time; equal times leave in the order of insertion.
    mutating func insert(_ element: Element, due: Int64) {
        order += 1
        heap.append((due, order, element))
        var child = heap.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func popDue(at now: Int64) -> Element? {
        guard let first = heap.first, first.due <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        sink(0)
        return first.element
    }

    private mutating func sink(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isBefore(child, least) {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (heap[left].due, heap[left].order) < (heap[right].due, heap[right].order)
    }
}

/// Counts the occasions that match a rule and decides at which of them it applies. Shared by all connections.
final class MatchCounter: Sendable {
    private let after: Int
    private let every: Int
    private let times: Int?
    private let fitting = Atomic<Int>(0)
    private let happened = Atomic<Int>(0)

    /// - Parameters:
    ///   - after: how many matches are skipped first.
    ///   - every: of the others, each n-th counts.
    ///   - times: how often the rule applies; nil for no limit.
    init(after: Int?, every: Int?, times: Int?) {
        self.after = after ?? 0
        self.every = every ?? 1
        self.times = times
    }

    var timesHappened: Int { happened.load(ordering: .relaxed) }

    /// Whether the rule applies at a matching occasion. Counts the occasion.
    func matches() -> Bool {
        let number = fitting.add(1, ordering: .relaxed).newValue - after
        guard number > 0, number.isMultiple(of: every) else { return false }
        guard let times else {
            happened.add(1, ordering: .relaxed)
            return true
        }
        if happened.add(1, ordering: .relaxed).oldValue < times { return true }
        happened.subtract(1, ordering: .relaxed)
        return false
    }
}

/// A share of all tokens, the same tokens each time.
struct TokenShare: Sendable {
    /// Tokens whose hash is below this are in the share.
    private let limit: UInt64
    private let salt: UInt64

    /// - Parameters:
    ///   - share: 0 to 1.
    ///   - salt: selects another share of the same size.
    init(_ share: Double, salt: UInt64?) {
        self.limit = share >= 1 ? .max : UInt64(share * 0x1p64)
        // Not the ledger's own hash, whose top bits choose the stripe.
        self.salt = salt ?? 0x5AFE
    }

    func contains(_ token: UnsafeRawBufferPointer) -> Bool {
        !token.isEmpty && StableHash.hash(token, salt: salt) < limit
    }
}
