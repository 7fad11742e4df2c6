/// Tracks failed logins and how long each caller must wait.
///
/// A name that fails from an address waits longer with each failure, but only at that address. An address at which many
/// names fail waits as a whole, except for names that succeeded there before. The right secret ends a name's wait.
///
/// An account whose secret can be guessed has a limit of its own beside these, over all addresses. It does not hold for
/// browsers from which the account was used before, each of which has its own count: so strangers cannot lock its owner out.
///
/// A guess is counted before it is checked (`reserve`), so that guesses sent together count as those sent in turn. Memory
/// is bounded; the least recently used entry is forgotten. Each node counts on its own, and allows its share of the attempts.
package struct LoginThrottle: Sendable {
    package struct Policy: Sendable, Hashable {
        /// The number of failures without a delay; then `firstWait`, doubling.
        package var failuresAllowed: Int
        package var firstWait: Duration
        package var longestWait: Duration
        /// Failures are forgotten after this long without another, and so are successes.
        package var memory: Duration

        package init(
            failuresAllowed: Int, firstWait: Duration = .milliseconds(100), longestWait: Duration = .seconds(30),
            memory: Duration = LoginThrottle.memory
        ) {
            self.failuresAllowed = failuresAllowed
            self.firstWait = firstWait
            self.longestWait = longestWait
            self.memory = memory
        }

        /// Limits guesses at a password, over all addresses.
        package static let password = Policy(
            failuresAllowed: 20, firstWait: .seconds(1), longestWait: .seconds(60), memory: .seconds(86_400))
        /// Limits guesses at a code of six digits, over all addresses: some 160 guesses a day at three right codes of a million.
        package static let code = Policy(
            failuresAllowed: 10, firstWait: .seconds(1), longestWait: .seconds(600), memory: .seconds(86_400))

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
                longestWait: longestWait * share.nodes, memory: memory)
        }
    }

    /// A guess at the secret of an account.
    package struct Guess: Sendable, Hashable {
        /// A hash of the account's name.
        package let account: Int
        package let address: NetworkAddress
        /// A browser from which the account was used before; nil for a stranger's.
        package let device: Int?
        /// The limit over all addresses; nil where there is none.
        package let policy: Policy?

        package init(at account: Int, from address: NetworkAddress, device: Int? = nil, policy: Policy?) {
            self.account = account
            self.address = address
            self.device = device
            self.policy = policy
        }

        /// The sources to which the guess is counted.
        fileprivate var sources: [Source] {
            if let device { return [.device(device, account)] }
            let here = [Source.address(address), .name(account, address)]
            return policy == nil ? here : here + [.account(account)]
        }
    }

    private let ofName: Policy
    private let ofAddress: Policy
    private var entries: BoundedCache<Source, Entry>
    private var share = NodeShare.whole

    /// See `Policy.memory`.
    package static let memory = Duration.seconds(900)

    package init(
        name: Policy = Policy(failuresAllowed: 5), address: Policy = Policy(failuresAllowed: 100),
        countMax: Int = 65_536
    ) {
        ofName = name
        ofAddress = address
        entries = BoundedCache(countMax: countMax)
    }

    fileprivate enum Source: Hashable {
        case address(NetworkAddress)
        case name(Int, NetworkAddress)
        case account(Int)
        case device(Int, Int)
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

    // MARK: Secrets that cannot be guessed

    /// The time that the name has to wait at the address before its secret is checked; nil when it may try.
    ///
    /// - Parameter name: a hash of the user name, which may be of any length; nil when it cannot be read.
    package func wait(for name: Int?, at address: NetworkAddress, now: Instant) -> Duration? {
        let named = name.flatMap { entries.value(for: .name($0, address)) }
        if let wait = named?.wait(ofName.part(share), at: now) { return wait }
        if let named, now < named.succeededAt + Self.memory { return nil }
        return entries.value(for: .address(address))?.wait(ofAddress.part(share), at: now)
    }

    /// Counts a wrong secret, unless the caller has to wait; then it gets the wait in place of the verdict.
    package mutating func countFailure(of name: Int?, at address: NetworkAddress, now: Instant) -> Duration? {
        if let wait = wait(for: name, at: address, now: now) { return wait }
        failed(name, at: address, now: now)
        return nil
    }

    package mutating func failed(_ name: Int?, at address: NetworkAddress, now: Instant) {
        note(.address(address), now, ofAddress)
        if let name { note(.name(name, address), now, ofName) }
    }

    /// Records a success, if the address has failures, so that its neighbours cannot block it.
    package mutating func succeeded(_ name: Int, at address: NetworkAddress, now: Instant) {
        guard entries.value(for: .address(address)) != nil else { return }
        entries.set(Entry(succeededAt: now), for: .name(name, address))
    }

    // MARK: Secrets that can be guessed

    /// Counts a guess as a failure before it is checked; returns the time that the caller has to wait instead, if any.
    package mutating func reserve(_ guess: Guess, now: Instant) -> Duration? {
        if let wait = wait(for: guess, now: now) { return wait }
        for source in guess.sources { note(source, now, policy(of: source, guess)) }
        return nil
    }

    /// Takes back the count of a guess that was not checked.
    package mutating func withdraw(_ guess: Guess) {
        for source in guess.sources {
            guard var entry = entries.value(for: source) else { continue }
            entry.failures = max(0, entry.failures - 1)
            if entry.failures == 0 { entry.failedAt = .distantPast }
            if entry.failures == 0, entry.succeededAt == .distantPast {
                entries.remove(source)
            } else {
                entries.set(entry, for: source)
            }
        }
    }

    /// Takes back the count of a right guess, with the earlier failures of its name.
    package mutating func succeeded(_ guess: Guess, now: Instant) {
        withdraw(guess)
        for source in guess.sources where source != .address(guess.address) { entries.remove(source) }
        // A known browser's login does not help a stranger at the same address.
        if guess.device == nil { succeeded(guess.account, at: guess.address, now: now) }
    }

    private func wait(for guess: Guess, now: Instant) -> Duration? {
        if let device = guess.device {
            return entries.value(for: .device(device, guess.account))?.wait(ofName.part(share), at: now)
        }
        if let wait = wait(for: guess.account, at: guess.address, now: now) { return wait }
        guard let policy = guess.policy else { return nil }
        return entries.value(for: .account(guess.account))?.wait(policy.part(share), at: now)
    }

    private func policy(of source: Source, _ guess: Guess) -> Policy {
        switch source {
        case .address: ofAddress
        case .name, .device: ofName
        case .account: guess.policy ?? ofName
        }
    }

    private mutating func note(_ source: Source, _ now: Instant, _ policy: Policy) {
        var entry = entries.value(for: source) ?? Entry()
        if entry.failedAt + policy.memory < now { entry.failures = 0 }
        entry.failures += 1
        entry.failedAt = now
        entries.set(entry, for: source)
    }
}
