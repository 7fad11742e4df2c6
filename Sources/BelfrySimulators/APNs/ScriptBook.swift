import Synchronization

/// Holds the script of a simulator; connections look here for a newer one whenever they read.
package final class APNsScriptBook: Sendable {
    private let held = Mutex(Playbook())
    private let edition = Atomic<Int>(0)
    private let connectionsOpened: @Sendable () -> Int

    init(connectionsOpened: @escaping @Sendable () -> Int) {
        self.connectionsOpened = connectionsOpened
    }

    package var script: APNsScript { held.withLock { $0.script } }

    /// How often each fault of the script has struck, in its order.
    package var timesHappened: [Int] { held.withLock { $0.faults.map(\.timesHappened) } }

    var faults: [ArmedFault] { held.withLock { $0.faults } }

    /// Replaces the script; all counters begin anew.
    package func set(_ script: APNsScript) {
        let opened = connectionsOpened()
        publish { $0 = Playbook(script, faults: script.faults.map { ArmedFault($0, connectionsBefore: opened) }) }
    }

    /// Adds a fault behind the others, whose counters go on.
    package func add(_ fault: APNsFault) {
        let armed = ArmedFault(fault, connectionsBefore: connectionsOpened())
        publish { book in
            var script = book.script
            script.faults.append(fault)
            book = Playbook(script, faults: book.faults + [armed])
        }
    }

    /// Gives these tokens this answer, beside what the script already says.
    package func answer(_ verdict: APNsVerdict, for tokens: [String]) {
        answer(Dictionary(tokens.map { ($0, verdict) }) { first, _ in first })
    }

    /// Gives each of these tokens its answer, beside what the script already says.
    package func answer(_ verdicts: [String: APNsVerdict]) {
        publish { book in
            var script = book.script
            script.verdicts.merge(verdicts) { _, new in new }
            book = Playbook(script, faults: book.faults)
        }
    }

    package func clear() { set(APNsScript()) }

    /// The current script if it is newer than the one the caller holds.
    func playbook(newerThan known: inout Int) -> Playbook? {
        let current = edition.load(ordering: .acquiring)
        guard current != known else { return nil }
        known = current
        return held.withLock { $0 }
    }

    private func publish(_ change: (inout Playbook) -> Void) {
        held.withLock { change(&$0) }
        edition.add(1, ordering: .releasing)
    }
}

/// A script made ready for use.
struct Playbook: Sendable {
    let script: APNsScript
    let faults: [ArmedFault]
    let latency: Int64
    private let verdicts: [[UInt8]: APNsVerdict]

    init(_ script: APNsScript = APNsScript(), faults: [ArmedFault] = []) {
        self.script = script
        self.faults = faults
        self.latency = Int64(script.latencyMilliseconds)
        var verdicts: [[UInt8]: APNsVerdict] = [:]
        for (token, verdict) in script.verdicts {
            if let token = Hex.decode(token) { verdicts[token] = verdict }
        }
        self.verdicts = verdicts
    }

    func verdict(for token: UnsafeRawBufferPointer) -> APNsVerdict? {
        verdicts.isEmpty ? nil : verdicts[Array(token)]
    }
}
