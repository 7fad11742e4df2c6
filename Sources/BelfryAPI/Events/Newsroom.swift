import BelfryCore
import FoundationEssentials

/// What is known of the pushes of one application that somebody reads about.
///
/// It is told which pushes may have changed, finds by itself those that others accept, and asks for their receipts; events
/// are what differs between two receipts. So the counters of an event are the receipt's, they never go back, and a delivery
/// that is faster than the readers makes fewer events instead of a queue.
struct Newsroom {
    private(set) var ring: EventRing<PushEvent>
    private var known: Generations<UUID, Receipt>
    /// Those that may have changed since the last look.
    private var changed: Set<UUID> = []
    /// Those that are not settled, to be looked at now and then: a hint may be missing.
    private var open: Set<UUID> = []
    /// The application's newest when they were last asked for.
    private var newest: Set<UUID>
    private let openMax: Int
    var readers: Set<Int> = []
    /// When the last reader went; nil while there is one.
    var leftAt: Instant?

    /// What happened so far to those that are there already is no news.
    init(_ options: EventHub.Options, newest: [Receipt], open: [Receipt]) {
        ring = EventRing(countMax: options.ringMax)
        known = Generations(countMax: options.openMax * 2)
        openMax = options.openMax
        self.newest = Set(newest.map(\.push.receiptID))
        for receipt in newest + open { remember(receipt) }
    }

    /// More pushes at once than are followed are heard of at their next change.
    mutating func noticed(_ push: UUID) {
        if changed.count < openMax { changed.insert(push) }
    }

    mutating func lookAgain() {
        for push in open { noticed(push) }
    }

    /// Whether all of them were accepted since the newest were asked for.
    func knowsNone(of pushes: [UUID]) -> Bool { newest.isDisjoint(with: pushes) }

    /// What was accepted since the newest were asked for, by whomever.
    mutating func found(_ newest: [UUID]) {
        for push in newest where !self.newest.contains(push) && known.value(for: push) == nil { noticed(push) }
        self.newest = Set(newest)
    }

    mutating func nextChanged() -> UUID? { changed.popFirst() }

    /// Returns whether there is news.
    mutating func saw(_ receipt: Receipt) -> Bool {
        let events = PushEvent.events(from: known.value(for: receipt.push.receiptID), to: receipt)
        remember(receipt)
        for event in events { ring.append(event) }
        return !events.isEmpty
    }

    private mutating func remember(_ receipt: Receipt) {
        let id = receipt.push.receiptID
        known.set(receipt, for: id)
        if receipt.settledAt != nil {
            open.remove(id)
        } else if open.count < openMax {
            open.insert(id)
        }
    }
}
