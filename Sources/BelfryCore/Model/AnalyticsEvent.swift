package import FoundationEssentials

/// What an app tells of its life with pushes.
package struct AnalyticsEvent: Sendable, Hashable {
    package let kind: AnalyticsKind
    package let time: Instant
    package let device: UUID
    /// The push it is about; nil for geofences, and for heartbeats that do not say.
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

    /// What makes two tellings the same event, for a hash.
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

/// What is counted of pushes and platforms. Kept as numbers: never renumber, only add.
package enum AnalyticsKind: Int64, Sendable, Hashable, CaseIterable, Comparable {
    /// A provider took the message; we count this ourselves.
    case sent = 0
    case received = 1
    case opened = 2
    case geofenceTriggered = 3
    case heartbeat = 4

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
