/// A caller who asks to have a key derived from a password.
package struct DerivationCaller: Sendable, Hashable {
    /// nil where the address is not known.
    package let address: NetworkAddress?
    /// A hash of the account's name, whether or not there is such an account.
    package let account: Int
    /// Whether the server knows the caller by more than a name: by a session, a key, or a browser that was let in before.
    package let isKnown: Bool

    /// A command on the server's own machine.
    package static let local = DerivationCaller(address: nil, account: 0, isKnown: true)

    /// A caller whose key, session or link was checked.
    package static func known(_ name: String) -> DerivationCaller {
        DerivationCaller(address: nil, account: name.hashValue, isKnown: true)
    }
}

extension AuditAuthor {
    package var derivationCaller: DerivationCaller { keyID.map { .known($0) } ?? .local }
}

/// Decides whose key is derived next, since only one derivation runs at a time and each takes long.
///
/// Strangers have a few places by address and by account; known callers have a reserve of their own by account. The
/// next is the one whose address, or account, has used least lately; known callers go first, but three in a row let a
/// stranger pass. Where all places are taken, the newcomer takes the place of the waiting stranger who has used most, if
/// that is more than its own use: so no crowd of addresses keeps out an address that has used nothing yet.
package struct DerivationTurns: TurnRules {
    package struct Limits: Sendable, Hashable {
        /// The most waiting strangers of one address, of one account, and in all.
        package var address = 2
        package var account = 4
        package var strangers = 32
        /// The most waiting known callers of one account, and in all.
        package var knownAccount = 2
        package var known = 8

        package init() {}
    }

    private enum Holder: Hashable, Sendable {
        case address(NetworkAddress?)
        case account(Int)

        init(_ caller: DerivationCaller) {
            self = caller.isKnown ? .account(caller.account) : .address(caller.address?.site)
        }
    }

    /// The use of a holder. It counts half as much after `halfLife` derivations of others.
    private struct Use: Sendable {
        var count: Int
        var at: Int

        func now(_ derived: Int) -> Int { count >> min(62, (derived - at) / DerivationTurns.halfLife) }
    }

    private static let halfLife = 64
    private static let knownInARow = 3
    /// The weight of one derivation, so large that something is left to compare after a few halvings.
    private static let unit = 1 << 10

    private let limits: Limits
    private var waiting: [Ticket: DerivationCaller] = [:]
    private var serving: Ticket?
    private var lastTicket = 0
    private var uses = BoundedCache<Holder, Use>(countMax: 16_384)
    private var derived = 0
    private var knownServed = 0

    package init(limits: Limits = Limits()) { self.limits = limits }

    package var waitingCount: Int { waiting.count }

    package mutating func arrive(_ caller: DerivationCaller) -> TurnArrival {
        lastTicket += 1
        let ticket = lastTicket
        guard serving != nil else {
            serve(ticket, caller)
            return .served(ticket)
        }
        let arrival = arrival(of: caller, as: ticket)
        guard case .waits(_, let displaced) = arrival else { return arrival }
        if let displaced { waiting[displaced] = nil }
        waiting[ticket] = caller
        return arrival
    }

    package mutating func finish(_ ticket: Ticket) -> [Ticket] {
        guard serving == ticket else { return [] }
        serving = nil
        let (known, strangers) = (next(areKnown: true), next(areKnown: false))
        let isStrangersTurn = knownServed >= Self.knownInARow && strangers != nil
        guard let called = isStrangersTurn ? strangers : known ?? strangers, let caller = waiting[called] else {
            return []
        }
        waiting[called] = nil
        serve(called, caller)
        return [called]
    }

    package mutating func leave(_ ticket: Ticket) -> Bool { waiting.removeValue(forKey: ticket) != nil }

    private mutating func serve(_ ticket: Ticket, _ caller: DerivationCaller) {
        serving = ticket
        derived += 1
        knownServed = caller.isKnown ? knownServed + 1 : 0
        uses.set(Use(count: use(of: caller) + Self.unit, at: derived), for: Holder(caller))
    }

    private func use(of caller: DerivationCaller) -> Int { uses.value(for: Holder(caller))?.now(derived) ?? 0 }

    /// The ticket that waits longest among the parties that used least.
    private func next(areKnown: Bool) -> Ticket? {
        waiting.filter { $0.value.isKnown == areKnown }
            .min { (use(of: $0.value), $0.key) < (use(of: $1.value), $1.key) }?.key
    }

    /// Decides whether a caller waits or is turned away while another is served.
    private func arrival(of caller: DerivationCaller, as ticket: Ticket) -> TurnArrival {
        let same = waiting.filter { $0.value.isKnown == caller.isKnown }
        let ofAccount = same.filter { $0.value.account == caller.account }
        guard !caller.isKnown else {
            guard ofAccount.count < limits.knownAccount else { return .overShare }
            return same.count < limits.known ? .waits(ticket) : displacing(same, caller, ticket) ?? .turnedAway
        }
        let ofAddress = same.count { Holder($0.value) == Holder(caller) }
        guard ofAddress < limits.address else { return .overShare }
        guard ofAccount.count < limits.account else { return displacing(ofAccount, caller, ticket) ?? .overShare }
        return same.count < limits.strangers ? .waits(ticket) : displacing(same, caller, ticket) ?? .turnedAway
    }

    /// nil where no waiting caller has used more.
    private func displacing(
        _ waiting: [Ticket: DerivationCaller], _ caller: DerivationCaller, _ ticket: Ticket
    ) -> TurnArrival? {
        let most = waiting.max { (use(of: $0.value), $0.key) < (use(of: $1.value), $1.key) }
        guard let most, use(of: most.value) > use(of: caller) else { return nil }
        return .waits(ticket, displacing: most.key)
    }
}
