package import FoundationEssentials

package typealias AnalyticsCounts = [AnalyticsKind: Int64]

/// The results for the events of one batch.
package struct AnalyticsTally: Sendable, Hashable {
    package var counted = 0
    /// Events that were reported before.
    package var repeated = 0
    /// Events about something that belongs to another caller or does not exist any more.
    package var ignored = 0

    package static func + (left: Self, right: Self) -> Self {
        Self(
            counted: left.counted + right.counted, repeated: left.repeated + right.repeated,
            ignored: left.ignored + right.ignored)
    }
}

/// The counts of a platform for an hour or a day.
package struct AnalyticsBucket: Sendable, Hashable {
    package let start: Instant
    package let counts: AnalyticsCounts
    package var activity = PlatformActivity()

    package enum Width: Int64, Sendable, Hashable, CaseIterable {
        case hour = 1
        case day = 24

        package static let hourMilliseconds: Int64 = 3_600_000
    }
}

/// The number of times that a geofence was triggered at one of its locations, on one platform.
package struct GeofenceTriggers: Sendable, Hashable {
    package let spot: Spot
    package let count: Int64
    package let lastAt: Instant

    package struct Spot: Sendable, Hashable, Comparable {
        package let geofence: Key<Geofence>
        /// nil when the app did not name it.
        package let location: Key<Location>?
        package let platform: Key<Platform>

        package static func < (left: Self, right: Self) -> Bool {
            (left.geofence, left.location ?? Key(0), left.platform)
                < (right.geofence, right.location ?? Key(0), right.platform)
        }
    }
}

/// The heartbeats of one device.
package struct Heartbeat: Sendable, Hashable {
    package let device: Key<Device>
    package let lastAt: Instant
    package let count: Int64
    /// From the acceptance of the last heartbeat's push to its arrival, by our clock and the device's; nil when the
    /// event names no push, or the device's clock is behind.
    package let latency: Duration?
}

/// The heartbeats of a platform's devices, summed up.
package struct HeartbeatSummary: Sendable, Hashable {
    /// Devices that sent one.
    package let devices: Int
    /// nil when there is none.
    package let lastAt: Instant?
    /// The latency of each device's last heartbeat that could be measured; nil when there is none.
    package let latency: Percentiles?

    package struct Percentiles: Sendable, Hashable {
        package let p50: Duration
        package let p90: Duration
        package let p99: Duration
        package let max: Duration

        /// - Parameter value: the latency at a place among so many, counted from 0 in ascending order; nil where there is none.
        package init?(count: Int, value: (Int) throws -> Duration?) rethrows {
            guard count > 0,
                let p50 = try value((count - 1) * 50 / 100), let p90 = try value((count - 1) * 90 / 100),
                let p99 = try value((count - 1) * 99 / 100), let max = try value(count - 1)
            else { return nil }
            (self.p50, self.p90, self.p99, self.max) = (p50, p90, p99, max)
        }
    }
}

extension Instant {
    /// The number of the hour or day, counted from 1970 UTC.
    package func bucket(of width: AnalyticsBucket.Width, roundedUp: Bool = false) -> Int64 {
        let length = AnalyticsBucket.Width.hourMilliseconds * width.rawValue
        let number = milliseconds.flooredQuotient(length)
        return roundedUp && !milliseconds.isMultiple(of: length) ? number + 1 : number
    }

    /// The start of an hour or day.
    package init(bucket number: Int64, of width: AnalyticsBucket.Width) {
        self.init(milliseconds: number * AnalyticsBucket.Width.hourMilliseconds * width.rawValue)
    }
}

/// An event that an app reports about a push or a geofence.
package struct AnalyticsEvent: Sendable, Hashable {
    package let kind: AnalyticsKind
    package let time: Instant
    package let device: UUID
    /// The push it is about; nil for geofences, and for heartbeats that name none.
    package var receiptID: UUID?
    package var geofence: Key<Geofence>?
    package var location: Key<Location>?

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
