import BelfryCore
import FoundationEssentials

/// What is known of the pushes of one application that somebody reads about.
///
/// It is told which pushes may have changed, and asks for their receipts; events are what differs between two receipts. So
/// the counters of an event are the receipt's, they never go back, and a delivery that is faster than the readers makes
/// fewer events instead of a queue.
struct Newsroom {
    private(set) var ring: EventRing<PushEvent>
    private var known: Generations<UUID, Receipt>
    /// Those that may have changed since the last look.
    private var changed: [UUID: PushHead] = [:]
    /// Those that are not settled, to be looked at now and then: a hint may be missing.
    private var open: [UUID: PushHead] = [:]
    private let openMax: Int
    var readers: Set<Int> = []
    /// When the last reader went; nil while there is one.
    var leftAt: Instant?

    init(_ options: EventHub.Options) {
        ring = EventRing(countMax: options.ringMax)
        known = Generations(countMax: options.openMax * 2)
        openMax = options.openMax
    }

    /// More pushes at once than are followed are heard of at their next change.
    mutating func noticed(_ push: PushHead) {
        if changed.count < openMax { changed[push.receiptID] = push }
    }

    mutating func lookAgain() {
        for push in open.values { noticed(push) }
    }

    mutating func nextChanged() -> PushHead? { changed.popFirst()?.value }

    /// Returns whether there is news.
    mutating func saw(_ receipt: Receipt) -> Bool {
        let id = receipt.push.receiptID
        let events = PushEvent.events(from: known.value(for: id), to: receipt)
        known.set(receipt, for: id)
        if receipt.settledAt != nil {
            open[id] = nil
        } else if open.count < openMax {
            open[id] = receipt.push
        }
        for event in events { ring.append(event) }
        return !events.isEmpty
    }
}
