import BelfryCore
import HTTPTypes
package import Hummingbird
import NIOCore

/// The response that does not end: an application's events, until the reader leaves or the server stops.
///
/// Nothing is queued for a reader: while its connection is full no events are read for it, and it continues from its
/// position in the ring afterwards.
package struct EventStream: Sendable {
    private let reader: EventReader

    package init(_ reader: EventReader) { self.reader = reader }

    package var response: Response {
        let body = ResponseBody { [reader] writer in
            var place = reader.start
            var spokeAt = reader.now
            try await writer.write(EventWire.greeting)
            for await _ in reader.ticks {
                while let events = reader.next(from: &place) {
                    try await writer.write(events)
                    spokeAt = reader.now
                }
                if spokeAt + reader.heartbeat <= reader.now {
                    try await writer.write(EventWire.heartbeat)
                    spokeAt = reader.now
                }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "text/event-stream"], body: body)
    }
}
