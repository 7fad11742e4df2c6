import FoundationEssentials
import Hummingbird
import Metrics

extension Web {
    /// Counts what browsers report of their pushes.
    ///
    /// Pages are gone before they could mend a request, so what cannot be used inside it is left out.
    struct Events: Sendable {
        private let store: any Store
        private let lateMax: Duration
        private let counters: [String: Counter]

        /// A worker sends them one by one, and those it kept while it was offline.
        static let eventsMax = 100

        init(store: any Store, lateMax: Duration) {
            self.store = store
            self.lateMax = lateMax
            counters = Dictionary(
                uniqueKeysWithValues: ["counted", "repeated", "ignored", "unusable"].map {
                    ($0, Counter(metric: .events, [("result", $0)]))
                })
        }

        func record(_ request: Request, on platform: Platform) async throws -> Response {
            let body = try Body.parse(try await request.bytes(atMost: Web.bodyBytesMax))
            let tally = try await store.record(body.events, on: platform, lateMax: lateMax)
            counters["counted"]?.increment(by: tally.counted)
            counters["repeated"]?.increment(by: tally.repeated)
            counters["ignored"]?.increment(by: tally.ignored)
            counters["unusable"]?.increment(by: body.unusableCount)
            return Response(status: .noContent)
        }

        /// `{"device_uuid": …, "events": [{"type": "opened", "receipt_id": …, "time": …}]}`, times in milliseconds since 1970.
        struct Body {
            private(set) var events: [AnalyticsEvent] = []
            private(set) var unusableCount = 0

            private struct Written {
                var type: String?
                var receiptID: UUID?
                var time: Int64?
            }

            static func parse(_ bytes: [UInt8]) throws(InvalidInput) -> Self {
                var device: UUID?
                var written: [Written] = []
                try JSONReader.document(bytes) { reader, field throws(InvalidInput) in
                    switch field {
                    case "device_uuid": device = try reader.uuid(field)
                    case "events":
                        try reader.array(field) { reader, _ throws(InvalidInput) in
                            written.append(try Self.event(from: &reader))
                        }
                    default: try reader.skip()
                    }
                }
                guard let device else { throw InvalidInput.missing("device_uuid") }
                guard written.count <= eventsMax else {
                    throw InvalidInput(field: "events", "has \(written.count) events, the limit is \(eventsMax)")
                }
                return Self(written, of: device)
            }

            private init(_ written: [Written], of device: UUID) {
                events = written.compactMap { event in
                    guard let kind = event.type.flatMap(Self.kind), let time = event.time, let id = event.receiptID
                    else { return nil }
                    return AnalyticsEvent(
                        kind: kind, time: Instant(milliseconds: time), device: device, receiptID: id)
                }
                unusableCount = written.count - events.count
            }

            private static func event(from reader: inout JSONReader) throws(InvalidInput) -> Written {
                var event = Written()
                try reader.object("events") { reader, field throws(InvalidInput) in
                    let value = try reader.value("events")
                    switch (field, value) {
                    case ("type", .string(let type)): event.type = type
                    case ("receipt_id", .string(let id)): event.receiptID = UUID(text: id)
                    case ("time", .integer(let time)): event.time = time
                    default: return
                    }
                }
                return event
            }

            private static func kind(_ type: String) -> AnalyticsKind? {
                switch type {
                case "received": .received
                case "opened": .opened
                case "dismissed": .dismissed
                default: nil
                }
            }
        }
    }
}
