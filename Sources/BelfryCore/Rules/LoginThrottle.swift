/// Tracks failed logins and how long each caller must wait.
///
/// A name that fails from an address waits longer with each failure, but only at that address, so that no guesser can
/// lock out a caller elsewhere. An address at which many names fail waits as a whole, except for names that succeeded
/// there before. The right secret ends a name's wait. Memory is bounded; the least recently used entry is forgotten.
///
/// Each node counts on its own, and allows its share of the attempts.
package struct LoginThrottle: Sendable {
    package struct Policy: Sendable, Hashable {
        /// The number of failures without a delay; then `firstWait`, doubling.
        package var failuresAllowed: Int
        package var firstWait: Duration
        package var longestWait: Duration

        package init(
            failuresAllowed: Int, firstWait: Duration = .milliseconds(100), longestWait: Duration = .seconds(30)
        ) {
            self.failuresAllowed = failuresAllowed
            self.firstWait = firstWait
            self.longestWait = longestWait
        }

        /// The wait after a number of failures in a row.
        package func wait(after failures: Int) -> Duration {
            guard failures > failuresAllowed else { return .zero }
            let doublings = min(failures - failuresAllowed - 1, 30)
            return min(longestWait, firstWait * (1 << doublings))
        }

        /// The policy of one node: a caller that tries all nodes gets no more free attempts, and in the long run no
        /// more attempts at all.
        package func part(_ share: NodeShare) -> Policy {
            Policy(
                failuresAllowed: failuresAllowed / share.nodes, firstWait: firstWait * share.nodes,
                longestWait: longestWait * share.nodes)
        }
    }

    private let ofName: Policy
    private let ofAddress: Policy
    private var entries: Generations<Source, Entry>
    private var share = NodeShare.whole

    /// Failures are forgotten after this long without another, and so are successes.
    package static let memory = Duration.seconds(900)

    package init(
        name: Policy = Policy(failuresAllowed: 5), address: Policy = Policy(failuresAllowed: 100),
        countMax: Int = 65_536
    ) {
        ofName = name
        ofAddress = address
        entries = Generations(countMax: countMax)
    }

    private struct Source: Hashable {
        let address: NetworkAddress
        /// nil for the address as a whole.
        let name: Int?
    }

    private struct Entry {
        var failures = 0
        var failedAt = Instant.distantPast
        var succeededAt = Instant.distantPast

        func wait(_ policy: Policy, at now: Instant) -> Duration? {
            let left = failedAt + policy.wait(after: failures) - now
            return left > .zero ? left : nil
        }
    }

    /// Sets this node's share of the limit.
    package mutating func take(_ share: NodeShare) { self.share = share }

    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }

    /// How long the name has to wait at the address before its secret is checked; nil when it may try.
    ///
    /// - Parameter name: a hash of the user name, which may be of any length; nil when it cannot be read.
    package func wait(for name: Int?, at address: NetworkAddress, now: Instant) -> Duration? {
        let named = name.flatMap { entries.value(for: Source(address: address, name: $0)) }
        if let wait = named?.wait(ofName.part(share), at: now) { return wait }
        if let named, now < named.succeededAt + Self.memory { return nil }
        return entries.value(for: Source(address: address, name: nil))?.wait(ofAddress.part(share), at: now)
    }

    package mutating func failed(_ name: Int?, at address: NetworkAddress, now: Instant) {
        note(Source(address: address, name: nil), now)
        if let name { note(Source(address: address, name: name), now) }
    }

    /// Records a success, if the address has failures, so that its neighbours cannot block it.
    package mutating func succeeded(_ name: Int, at address: NetworkAddress, now: Instant) {
        guard entries.value(for: Source(address: address, name: nil)) != nil else { return }
        entries.set(Entry(succeededAt: now), for: Source(address: address, name: name))
    }

    private mutating func note(_ source: Source, _ now: Instant) {
        var entry = entries.value(for: source) ?? Entry()
        if entry.failedAt + Self.memory < now { entry.failures = 0 }
        entry.failures += 1
        entry.failedAt = now
        entries.set(entry, for: source)
    }
}
