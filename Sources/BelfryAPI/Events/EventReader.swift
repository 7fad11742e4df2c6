import BelfryService
import Metrics
import NIOCore

/// One reader of an application's events, with its position. The reader leaves when this is released.
package final class EventReader: Sendable {
    private let hub: EventHub
    private let application: Key<Application>
    private let number: Int
    /// Wakes the reader: there may be new events, or a heartbeat is due. Ends with the hub.
    let ticks: AsyncStream<Void>
    let start: Place

    struct Place: Sendable {
        var number: Int64
        /// Whether this process issued it; the number of events missed since another position is unknown.
        var isKnown: Bool
    }

    private static let lost = Counter(metric: .eventsLost)

    init(hub: EventHub, application: Key<Application>, number: Int, ticks: AsyncStream<Void>, place: Place) {
        self.hub = hub
        self.application = application
        self.number = number
        self.ticks = ticks
        start = place
    }

    deinit { hub.leave(number, application) }

    var heartbeat: Duration { hub.options.heartbeat }
    var now: Instant { hub.clock.now }

    /// The next events in their wire form, preceded by a note about lost ones; moves the position past them. nil when
    /// there are none.
    func next(from place: inout Place) -> ByteBuffer? {
        guard let reading = hub.read(application, after: place.number) else { return nil }
        var wire = EventWire()
        if !place.isKnown {
            wire.lost(nil)
        } else if reading.lost > 0 {
            Self.lost.increment(by: reading.lost)
            wire.lost(reading.lost)
        }
        place.isKnown = true
        place.number = max(place.number + reading.lost, reading.events.last?.number ?? place.number)
        for (number, event) in reading.events { wire.event(event, id: "\(hub.epoch)-\(number)") }
        return wire.buffer.readableBytes > 0 ? wire.buffer : nil
    }
}
