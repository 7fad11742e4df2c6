import Synchronization

/// Holds the script of a simulated provider; connections look here for a newer one at each request.
package final class ServiceScriptBook: Sendable {
    private let held = Mutex(ServicePlaybook())
    private let edition = Atomic<Int>(0)
    private let connectionsOpened: @Sendable () -> Int

    init(connectionsOpened: @escaping @Sendable () -> Int) {
        self.connectionsOpened = connectionsOpened
    }

    package var script: ServiceScript { held.withLock { $0.script } }

    /// How often each fault of the script has struck, in its order.
    package var timesHappened: [Int] { held.withLock { $0.faults.map(\.timesHappened) } }

    var faults: [ArmedServiceFault] { held.withLock { $0.faults } }

    /// Replaces the script; all counters begin anew.
    package func set(_ script: ServiceScript) {
        let opened = connectionsOpened()
        publish { $0 = ServicePlaybook(script, script.faults.map { ArmedServiceFault($0, connectionsBefore: opened) }) }
    }

    /// Adds a fault behind the others, whose counters go on.
    package func add(_ fault: ServiceFault) {
        let armed = ArmedServiceFault(fault, connectionsBefore: connectionsOpened())
        publish { book in
            var script = book.script
            script.faults.append(fault)
            book = ServicePlaybook(script, book.faults + [armed])
        }
    }

    /// Gives these tokens this answer, beside what the script already says.
    package func answer(_ answer: ScriptedAnswer, for tokens: [String]) {
        self.answer(Dictionary(tokens.map { ($0, answer) }) { first, _ in first })
    }

    /// Gives each of these tokens its answer, beside what the script already says.
    package func answer(_ answers: [String: ScriptedAnswer]) {
        publish { book in
            var script = book.script
            script.verdicts.merge(answers) { _, new in new }
            book = ServicePlaybook(script, book.faults)
        }
    }

    package func clear() { set(ServiceScript()) }

    /// The current script if it is newer than the one the caller holds.
    func playbook(newerThan known: inout Int) -> ServicePlaybook? {
        let current = edition.load(ordering: .acquiring)
        guard current != known else { return nil }
        known = current
        return held.withLock { $0 }
    }

    private func publish(_ change: (inout ServicePlaybook) -> Void) {
        held.withLock { change(&$0) }
        edition.add(1, ordering: .releasing)
    }
}

/// A script made ready for use.
struct ServicePlaybook: Sendable {
    let script: ServiceScript
    let faults: [ArmedServiceFault]
    /// Those that are asked once for each request.
    let requestFaults: [ArmedServiceFault]
    /// Those that are asked once for each device.
    let tokenFaults: [ArmedServiceFault]

    init(_ script: ServiceScript = ServiceScript(), _ faults: [ArmedServiceFault] = []) {
        self.script = script
        self.faults = faults
        let forRequests = faults.filter { !$0.fault.then.isForHandshake }
        self.requestFaults = forRequests.filter { !$0.fault.when.namesTokens }
        self.tokenFaults = forRequests.filter { $0.fault.when.namesTokens }
    }

    var verdicts: [String: ScriptedAnswer] { script.verdicts }
    var latency: Int64 { Int64(script.latencyMilliseconds) }
}

/// A rule of the script with its counters.
final class ArmedServiceFault: Sendable {
    let fault: ServiceFault
    private let share: TokenShare?
    private let connectionsBefore: Int
    private let counter: StrikeCounter

    init(_ fault: ServiceFault, connectionsBefore: Int) {
        self.fault = fault
        self.share = fault.when.share.map { TokenShare($0, salt: fault.when.salt) }
        self.connectionsBefore = connectionsBefore
        self.counter = StrikeCounter(after: fault.when.after, every: fault.when.every, times: fault.times)
    }

    /// What a rule may ask about.
    struct Occasion {
        /// Counted from 1 since the simulator started.
        var connection: Int
        /// Counted from 1 on the connection; 0 when the connection has only just opened.
        var request = 0
        var path = ""
    }

    var timesHappened: Int { counter.timesHappened }

    /// Whether the rule strikes now. Counts the occasion.
    func strikes(_ occasion: Occasion, token: String? = nil) -> Bool {
        fits(occasion) && token.map(fitsToken) ?? true && counter.strikes()
    }

    private func fits(_ occasion: Occasion) -> Bool {
        let when = fault.when
        if let connection = when.connection, occasion.connection != connectionsBefore + connection { return false }
        if let request = when.request, occasion.request != request { return false }
        if let first = when.requestsFrom, occasion.request < first { return false }
        if let path = when.path, !occasion.path.hasPrefix(path) { return false }
        return true
    }

    private func fitsToken(_ token: String) -> Bool {
        if let wanted = fault.when.token, token != wanted { return false }
        if let prefix = fault.when.tokenPrefix, !token.hasPrefix(prefix) { return false }
        guard let share else { return true }
        var token = token
        return token.withUTF8 { share.contains(UnsafeRawBufferPointer($0)) }
    }
}
