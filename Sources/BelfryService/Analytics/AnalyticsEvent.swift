package import FoundationEssentials

/// An event that an app reports about a push or a geofence.
package struct AnalyticsEvent: Sendable, Hashable {
    package let kind: AnalyticsKind
    package let time: Instant
    package let device: UUID
    /// The push it is about; nil for geofences, and for heartbeats that name none.
    package let receiptID: UUID?
    package let geofence: Key<Geofence>?
    package let location: Key<Location>?

    package init(
        kind: AnalyticsKind, time: Instant, device: UUID, receiptID: UUID? = nil, geofence: Key<Geofence>? = nil,
        location: Key<Location>? = nil
    ) {
        self.kind = kind
        self.time = time
        self.device = device
        self.receiptID = receiptID
        self.geofence = geofence
        self.location = location
    }

    /// The bytes that identify an event, to detect repeats.
    package var identity: [UInt8] {
        var bytes: [UInt8] = [UInt8(truncatingIfNeeded: kind.rawValue)]
        bytes.append(contentsOf: withUnsafeBytes(of: device.uuid) { Array($0) })
        for number in [time.milliseconds, geofence?.rawValue ?? 0, location?.rawValue ?? 0] {
            bytes.append(contentsOf: withUnsafeBytes(of: number.littleEndian) { Array($0) })
        }
        if let receiptID { bytes.append(contentsOf: withUnsafeBytes(of: receiptID.uuid) { Array($0) }) }
        return bytes
    }
}

/// The kinds of events that are counted for pushes and platforms. Stored as numbers: never renumber, only add.
package enum AnalyticsKind: Int64, Sendable, Hashable, CaseIterable, Comparable {
    /// A provider accepted the message; Belfry counts this itself.
    case sent = 0
    case received = 1
    case opened = 2
    case geofenceTriggered = 3
    case heartbeat = 4
    /// The notification was removed without being opened.
    case dismissed = 5

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
