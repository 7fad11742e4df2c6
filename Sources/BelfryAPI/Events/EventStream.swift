import BelfryService
import HTTPTypes
package import Hummingbird
import NIOCore

/// The response that does not end: an application's events, until the reader leaves or the server stops.
///
/// Nothing is queued for a reader: while its connection is full no events are read for it, and it continues from its
/// position in the ring afterwards.
package struct EventStream: Sendable {
    private let reader: EventReader
    private let mayGoOn: @Sendable () async -> Bool

    /// How often it is asked at most whether the reader may still have it.
    private static let askingPeriod = Duration.seconds(1)

    /// - Parameter mayGoOn: whether the reader may still have it. Asked before something is written, and at each heartbeat.
    package init(_ reader: EventReader, while mayGoOn: @escaping @Sendable () async -> Bool = { true }) {
        self.reader = reader
        self.mayGoOn = mayGoOn
    }

    package var response: Response {
        let body = ResponseBody { [reader, mayGoOn] writer in
            var place = reader.start
            var (spokeAt, askedAt) = (reader.now, reader.now)
            try await writer.write(EventWire.greeting)
            for await _ in reader.ticks {
                if askedAt + Self.askingPeriod <= reader.now {
                    guard await mayGoOn() else { break }
                    askedAt = reader.now
                }
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
        return Response(status: .ok, headers: [.contentType: "text/event-stream", .xAccelBuffering: "no"], body: body)
    }
}
