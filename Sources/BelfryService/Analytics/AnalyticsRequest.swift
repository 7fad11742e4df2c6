import FoundationEssentials
import Hummingbird
import Metrics

extension PCF {
    /// The body of `POST /v1/analytics`: `{"events":[…]}`.
    ///
    /// A device repeats a refused request for ever, so nothing inside an event makes it fail: what cannot be used is
    /// left out.
    package struct AnalyticsRequest: Sendable, Hashable {
        package private(set) var events: [AnalyticsEvent] = []
        /// The number of events that were left out.
        package private(set) var unusableCount = 0

        /// The most events of one request; further ones are ignored. iOS keeps 100, Android any number.
        package static let eventsMax = 10_000
        /// Holds `eventsMax` events of some 400 bytes: SDKs send a batch that was too long again for ever.
        static let bytesMax = 4 << 20

        package static func parse(_ bytes: [UInt8]) throws(InvalidInput) -> Self {
            var request = Self()
            var isBatch = false
            try JSONReader.document(bytes) { reader, key throws(InvalidInput) in
                guard key == "events" else { return try reader.skip() }
                isBatch = true
                try reader.array("events") { reader, _ throws(InvalidInput) in try request.read(from: &reader) }
            }
            guard isBatch else { throw InvalidInput(field: "events", "is missing") }
            return request
        }

        private mutating func read(from reader: inout JSONReader) throws(InvalidInput) {
            guard reader.isAtObject() else {
                unusableCount += 1
                return try reader.skip()
            }
            var words: [String: String] = [:]
            try reader.object("events") { reader, key throws(InvalidInput) in
                words[key] = try reader.value("events").word
            }
            if events.count < Self.eventsMax, let event = AnalyticsEvent(words) {
                events.append(event)
            } else {
                unusableCount += 1
            }
        }
    }
}

extension JSONValue {
    /// Every value of an event is a string; a number is accepted as one.
    fileprivate var word: String? {
        switch self {
        case .string(let string): string.isEmpty ? nil : string
        case .integer(let integer): String(integer)
        case .number(let number): number.double < 1e15 ? String(number.double) : nil
        default: nil
        }
    }
}

extension AnalyticsEvent {
    /// nil when the event, its time or its device cannot be determined.
    fileprivate init?(_ words: [String: String]) {
        guard
            let kind = words["eventType"].flatMap(AnalyticsKind.init(eventType:)),
            let time = words["eventTime"].flatMap(EventTime.parse),
            let device = words["deviceUuid"].flatMap({ UUID(text: $0) })
        else { return nil }
        let receiptID = words["receiptId"].flatMap { UUID(text: $0) }
        let geofence = words["geofenceId"].flatMap { Int64($0) }
        switch kind {
        case .sent: return nil
        case .received, .opened, .dismissed:
            guard receiptID != nil else { return nil }
            self.init(kind: kind, time: time, device: device, receiptID: receiptID)
        case .heartbeat:
            self.init(kind: kind, time: time, device: device, receiptID: receiptID)
        case .geofenceTriggered:
            guard let geofence else { return nil }
            self.init(
                kind: kind, time: time, device: device, geofence: Key(geofence),
                location: words["locationId"].flatMap { Int64($0) }.map { Key($0) })
        }
    }
}

extension AnalyticsKind {
    /// iOS up to 1.4.0 writes types in capitals, and has a name of its own for the trigger. Only BelfryKit reports dismissals.
    /// Source: the PCF SDKs, docs/compatibility/pcf.md.
    fileprivate init?(eventType: String) {
        switch eventType.lowercased() {
        case "pcf_push_event_type_push_notification_received": self = .received
        case "pcf_push_event_type_push_notification_opened": self = .opened
        case "pcf_push_event_type_push_notification_dismissed": self = .dismissed
        case "pcf_push_event_type_geofence_location_triggered",
            "pcf_push_event_type_push_geofence_location_trigger":
            self = .geofenceTriggered
        case "pcf_push_event_type_heartbeat": self = .heartbeat
        default: return nil
        }
    }
}

extension PCF {
    /// Handlers of `/v1/analytics`.
    struct Analytics: Sendable {
        let store: any Store
        let options: Options
        private let counted = Counter(metric: .events, [("result", "counted")])
        private let repeated = Counter(metric: .events, [("result", "repeated")])
        private let ignored = Counter(metric: .events, [("result", "ignored")])
        private let unusable = Counter(metric: .events, [("result", "unusable")])

        var bodyBytesMax: Int { max(options.bodyBytesMax, AnalyticsRequest.bytesMax) }

        func record(_ request: Request, on platform: Platform) async throws -> Response {
            let body = try AnalyticsRequest.parse(try await request.bytes(atMost: bodyBytesMax))
            let tally = try await store.record(body.events, on: platform, lateMax: options.eventsLateMax)
            counted.increment(by: tally.counted)
            repeated.increment(by: tally.repeated)
            ignored.increment(by: tally.ignored)
            unusable.increment(by: body.unusableCount)
            return .object { _ in }
        }
    }
}
