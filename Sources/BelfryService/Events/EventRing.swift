/// The last events of an application, numbered from one. Readers hold a position in it, not a queue: a slow reader
/// gets the number of events that it missed.
package struct EventRing<Event: Sendable>: Sendable {
    private var events: [Event] = []
    /// The index of the oldest event in `events`, once the ring is full.
    private var head = 0
    /// The number of the newest event; 0 before the first.
    package private(set) var last: Int64 = 0
    private let countMax: Int

    package init(countMax: Int) {
        precondition(countMax > 0, "a ring holds something")
        self.countMax = countMax
    }

    package mutating func append(_ event: Event) {
        last += 1
        if events.count < countMax {
            events.append(event)
        } else {
            events[head] = event
            head = (head + 1) % countMax
        }
    }

    /// The result of reading from a position.
    package struct Reading: Sendable {
        /// The number of lost events between the reader's position and the first of `events`.
        package let lost: Int64
        package let events: [(number: Int64, event: Event)]
    }

    /// The events after a position. The position comes from outside and may be any number: one before the first event
    /// reads all there is, one past the last reads nothing.
    package func read(after place: Int64, atMost limit: Int) -> Reading {
        guard place < last else { return Reading(lost: 0, events: []) }
        let oldest = last - Int64(events.count) + 1
        let place = max(place, 0)
        let first = max(place + 1, oldest)
        let lost = max(0, oldest - 1 - place)
        let end = min(last, first + Int64(limit) - 1)
        let found = (first...end).map { number in
            (number, events[(head + Int(number - oldest)) % events.count])
        }
        return Reading(lost: lost, events: found)
    }
}
