import FoundationEssentials

/// The known state of the pushes of one application that has readers.
///
/// Hints say which pushes may have changed, and polls which are open and which are the newest; events are the differences between two
/// receipts. So counters never decrease, and a delivery that is faster than the readers makes fewer events instead of a queue.
struct EventLog {
    private(set) var ring: EventRing<PushEvent>
    /// The newest open pushes at the last poll.
    private var open: [UUID: Receipt]
    /// Other pushes that changed lately.
    private var others: BoundedCache<UUID, Receipt>
    /// Pushes to read again.
    private var changed: Set<UUID> = []
    /// The application's newest pushes at the last poll.
    private var newest: Set<UUID>
    private let openMax: Int
    /// Open pushes before this one existed already, and were too many to be followed.
    private let horizon: Key<Push>
    var readers: Set<Int> = []
    /// When the last reader left; nil while there is one.
    var leftAt: Instant?

    /// Events before the first reader are not reported.
    init(_ options: EventHub.Options, newest: [Receipt], open: [Receipt]) {
        ring = EventRing(countMax: options.ringMax)
        others = BoundedCache(countMax: options.openMax * 2)
        openMax = options.openMax
        horizon = open.count < options.openMax ? Key(0) : open.map(\.push.key).min() ?? Key(0)
        self.newest = Set(newest.map(\.push.receiptID))
        self.open = Dictionary(uniqueKeysWithValues: open.map { ($0.push.receiptID, $0) })
        for receipt in newest { remember(receipt) }
    }

    /// If more pushes change at once than are followed, the others are reported at their next change.
    mutating func noticed(_ push: UUID) {
        if changed.count < openMax { changed.insert(push) }
    }

    /// Whether all of them were accepted since the newest pushes were polled.
    func knowsNone(of pushes: [UUID]) -> Bool { newest.isDisjoint(with: pushes) }

    /// Pushes accepted since the last poll, on any node.
    mutating func found(_ newest: [UUID]) {
        for push in newest where !self.newest.contains(push) && known(push) == nil { noticed(push) }
        self.newest = Set(newest)
    }

    mutating func nextChanged() -> UUID? { changed.popFirst() }

    /// The newest pushes that are open now. Pushes that were open and are not any more have changed.
    ///
    /// Returns whether there is a change.
    mutating func looked(at open: [Receipt]) -> Bool {
        let isNew = saw(open.reversed())
        let before = self.open
        self.open = Dictionary(uniqueKeysWithValues: open.map { ($0.push.receiptID, $0) })
        for (push, receipt) in before where self.open[push] == nil {
            others.set(receipt, for: push)
            noticed(push)
        }
        return isNew
    }

    /// Returns whether there is a change.
    mutating func saw(_ receipts: [Receipt]) -> Bool {
        let last = ring.last
        for receipt in receipts {
            let events = PushEvent.events(from: known(receipt.push.receiptID), to: receipt)
            remember(receipt)
            for event in events where event.kind != .accepted || receipt.push.key > horizon { ring.append(event) }
        }
        return ring.last > last
    }

    private func known(_ push: UUID) -> Receipt? { open[push] ?? others.value(for: push) }

    private mutating func remember(_ receipt: Receipt) {
        let id = receipt.push.receiptID
        if open[id] != nil, receipt.settledAt == nil {
            open[id] = receipt
        } else {
            open[id] = nil
            others.set(receipt, for: id)
        }
    }
}
