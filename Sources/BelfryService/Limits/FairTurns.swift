/// Decides who may next use a resource that serves a few at a time.
package protocol TurnRules: Sendable {
    associatedtype Party: Sendable
    typealias Ticket = Int

    var waitingCount: Int { get }
    mutating func arrive(_ party: Party) -> TurnArrival
    /// Frees the place of a ticket. Returns the tickets whose turn it is now.
    mutating func finish(_ ticket: Ticket) -> [Ticket]
    /// Takes a waiting ticket out of the queue; false when it is not waiting.
    mutating func leave(_ ticket: Ticket) -> Bool
}

/// The answer to a party that asks for a turn.
package enum TurnArrival: Sendable, Hashable {
    case served(Int)
    /// - displacing: a waiting ticket that has lost its place.
    case waits(Int, displacing: Int? = nil)
    /// Too many are waiting already.
    case turnedAway
    /// The party has the most waiting tickets that it may have.
    case overShare
}

/// Serves parties in rounds.
///
/// Waiting parties are served in rounds, one ticket of each, and no party gets all places: so a party with endless
/// requests never makes another one wait for more than the ticket that is being served.
package struct FairTurns<Party: Hashable & Sendable>: TurnRules {
    private var waiting: [Party: [Ticket]] = [:]
    /// Waiting parties, the next one first.
    private var round: [Party] = []
    private var serving: [Ticket: Party] = [:]
    private var lastTicket = 0
    private let placesMax: Int
    private let placesOfPartyMax: Int
    private let waitingMax: Int
    package private(set) var waitingCount = 0

    package init(places: Int, waitingMax: Int) {
        precondition(places > 0, "there is a place at least")
        placesMax = places
        placesOfPartyMax = max(1, places - 1)
        self.waitingMax = waitingMax
    }

    package mutating func arrive(_ party: Party) -> TurnArrival {
        if canServe(party), waiting[party] == nil { return .served(serve(issue(), party)) }
        guard waitingCount < waitingMax else { return .turnedAway }
        let ticket = issue()
        if waiting[party] == nil { round.append(party) }
        waiting[party, default: []].append(ticket)
        waitingCount += 1
        return .waits(ticket)
    }

    package mutating func finish(_ ticket: Ticket) -> [Ticket] {
        serving[ticket] = nil
        var called: [Ticket] = []
        while let index = round.firstIndex(where: { canServe($0) }) {
            let party = round.remove(at: index)
            guard var tickets = waiting[party], !tickets.isEmpty else { continue }
            let next = tickets.removeFirst()
            waiting[party] = tickets.isEmpty ? nil : tickets
            waitingCount -= 1
            if !tickets.isEmpty { round.append(party) }
            called.append(serve(next, party))
        }
        return called
    }

    package mutating func leave(_ ticket: Ticket) -> Bool {
        guard let (party, tickets) = waiting.first(where: { $0.value.contains(ticket) }) else { return false }
        let left = tickets.filter { $0 != ticket }
        waiting[party] = left.isEmpty ? nil : left
        if left.isEmpty { round.removeAll { $0 == party } }
        waitingCount -= 1
        return true
    }

    private func canServe(_ party: Party) -> Bool {
        serving.count < placesMax && serving.values.count { $0 == party } < placesOfPartyMax
    }

    private mutating func issue() -> Ticket {
        lastTicket += 1
        return lastTicket
    }

    private mutating func serve(_ ticket: Ticket, _ party: Party) -> Ticket {
        serving[ticket] = party
        return ticket
    }
}
