/// The last events of an application, numbered from one. Readers have a place in it, and no queue of their own: one that
/// reads too slowly is told how many are gone.
package struct EventRing<Event: Sendable>: Sendable {
    private var events: [Event] = []
    /// Where in `events` the oldest is, once they are all there.
    private var head = 0
    /// The number of the newest; 0 before the first.
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

    /// What a reader finds.
    package struct Reading: Sendable {
        /// How many between the reader's place and the first of `events` are gone.
        package let lost: Int64
        package let events: [(number: Int64, event: Event)]
    }

    /// The events after a place. A place is any number, since it came from outside: one before the first event reads all
    /// there is, one behind the last reads nothing.
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
