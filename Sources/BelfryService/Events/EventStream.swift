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
    package init(_ reader: EventReader, while mayGoOn: @escaping @Sendable () async -> Bool) {
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
                // Beats come twice as often as this is needed, since events come between them.
                if spokeAt + reader.heartbeat / 2 <= reader.now {
                    try await writer.write(EventWire.heartbeat)
                    spokeAt = reader.now
                }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "text/event-stream", .xAccelBuffering: "no"], body: body)
    }
}

extension Admin {
    /// The event stream of an application's pushes: `/admin/v1/apps/:app_uuid/events`.
    struct Events: Sendable {
        let factory: RouteFactory
        let hub: EventHub

        var routes: [Route] { [factory.application(.get, "apps/:app_uuid/events", .read, follow)] }

        private func follow(_ call: Call, _ application: Application) async throws -> Response {
            try await factory.shares.streaming(.streams, for: ShareHolder(call.key, application)) {
                let reader = try await hub.subscribe(to: application.key, after: call.request.headers[.lastEventID])
                let taken = call.key.secretHashes(at: factory.clock.now)
                return EventStream(reader) { await mayRead(application, by: call.key, taken) }.response
            }
        }

        /// Whether there is the application, the key still opens it, and a secret that it had is still taken. What cannot be asked right now
        /// ends nothing; the next time will tell.
        func mayRead(_ application: Application, by key: AdminKey, _ taken: [[UInt8]]) async -> Bool {
            do {
                guard try await factory.store.application(application.key) != nil,
                    let key = try await factory.store.adminKey(key.id),
                    key.secretHashes(at: factory.clock.now).contains(where: { taken.contains($0) })
                else { return false }
                return Permission.verdict(
                    scope: key.scope, bounds: key.bounds, for: .read, on: Permission.Subject(application)) == .allowed
            } catch {
                return true
            }
        }
    }
}

/// Writes events for a browser's `EventSource`. Source: WHATWG HTML, "Server-sent events".
struct EventWire {
    private(set) var buffer = ByteBuffer()

    /// How soon to reconnect when the connection breaks, in milliseconds.
    static let greeting = ByteBuffer(string: "retry: 2000\n\n")
    /// A comment, which readers skip.
    static let heartbeat = ByteBuffer(string: ":\n\n")

    mutating func event(_ event: PushEvent, id: String) {
        let receipt = event.receipt
        write(event.kind.rawValue, id: id) { json in
            json.uuid("receipt_id", receipt.push.receiptID)
            json.string("state", receipt.state.rawValue)
            json.string("accepted_at", receipt.push.acceptedAt.text)
            json.string("settled_at", receipt.settledAt?.text)
            json.integer("devices", Int64(receipt.devices))
            json.integer("answered", Int64(receipt.answered))
            json.integers(
                "counts", receipt.counts.map { ($0.key.name, Int64($0.value)) }.sorted { $0.0 < $1.0 })
            json.array("parked", receipt.parked) { json, platform in
                json.object { json in
                    json.string("platform_uuid", platform.uuid.lowercased)
                    json.string("cause", platform.parking.cause.rawValue)
                    json.string("detail", platform.parking.detail)
                    json.string("next_probe_at", platform.parking.probe?.at.text)
                }
            }
        }
    }

    /// - Parameter count: nil when it is unknown.
    mutating func lost(_ count: Int64?) {
        write("lost", id: nil) { json in
            if let count { json.integer("count", count) } else { json.string("count", nil) }
        }
    }

    private mutating func write(_ name: String, id: String?, _ members: (inout JSONWriter) -> Void) {
        var json = JSONWriter()
        json.object(members)
        if let id { buffer.writeString("id: \(id)\n") }
        buffer.writeString("event: \(name)\ndata: ")
        buffer.writeImmutableBuffer(json.buffer)
        buffer.writeString("\n\n")
    }
}
