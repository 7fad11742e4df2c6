/// Counts of the events that apps report about their pushes. Only eight bytes of an event are kept, to detect repeats.
package protocol AnalyticsStore: Sendable {
    /// Counts the events, each once however often it is reported.
    ///
    /// Ignores events of another platform's devices, events about another application's pushes or geofences, and events
    /// reported too late to detect repeats.
    func record(_ events: [AnalyticsEvent], on platform: Platform, lateMax: Duration) async throws -> AnalyticsTally

    /// The counts of one push, by platform.
    func counts(of push: Key<Push>) async throws -> [Key<Platform>: AnalyticsCounts]
    /// The counts of a platform, by hour or by day (UTC), ascending; empty hours and days are left out.
    func counts(
        on platform: Key<Platform>, from start: Instant, until end: Instant, by bucket: AnalyticsBucket.Width
    ) async throws -> [AnalyticsBucket]
    /// The number of times that geofences were triggered, in the order of `GeofenceTriggers.Spot`, after `after`.
    func geofenceTriggers(
        of application: Key<Application>, after: GeofenceTriggers.Spot?, limit: Int
    ) async throws -> [GeofenceTriggers]
    /// The devices of a platform that send heartbeats, ascending, after `after`.
    func heartbeats(on platform: Key<Platform>, after: Key<Device>?, limit: Int) async throws -> [Heartbeat]
    /// The devices of a platform that have sent a heartbeat since a time, taken together.
    func heartbeatSummary(on platform: Key<Platform>, since: Instant) async throws -> HeartbeatSummary

    /// Deletes some of the expired rows; returns whether there may be more.
    func deleteExpiredAnalytics(countsBefore: Instant, eventsBefore: Instant) async throws -> Bool
}

package typealias AnalyticsCounts = [AnalyticsKind: Int64]

/// The results for the events of one batch.
package struct AnalyticsTally: Sendable, Hashable {
    package var counted = 0
    /// Events that were reported before.
    package var repeated = 0
    /// Events about something that belongs to another caller or does not exist any more.
    package var ignored = 0

    package init(counted: Int = 0, repeated: Int = 0, ignored: Int = 0) {
        self.counted = counted
        self.repeated = repeated
        self.ignored = ignored
    }

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

    package enum Width: Int64, Sendable, Hashable, CaseIterable {
        case hour = 1
        case day = 24

        package static let hourMilliseconds: Int64 = 3_600_000
    }

    package init(start: Instant, counts: AnalyticsCounts) {
        self.start = start
        self.counts = counts
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

        package init(geofence: Key<Geofence>, location: Key<Location>?, platform: Key<Platform>) {
            self.geofence = geofence
            self.location = location
            self.platform = platform
        }

        package static func < (left: Self, right: Self) -> Bool {
            (left.geofence, left.location ?? Key(0), left.platform)
                < (right.geofence, right.location ?? Key(0), right.platform)
        }
    }

    package init(spot: Spot, count: Int64, lastAt: Instant) {
        self.spot = spot
        self.count = count
        self.lastAt = lastAt
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

    package init(device: Key<Device>, lastAt: Instant, count: Int64, latency: Duration?) {
        self.device = device
        self.lastAt = lastAt
        self.count = count
        self.latency = latency
    }
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

    package init(devices: Int, lastAt: Instant?, latency: Percentiles?) {
        self.devices = devices
        self.lastAt = lastAt
        self.latency = latency
    }
}

extension Instant {
    /// The number of the hour or day, counted from 1970 UTC.
    package func bucket(of width: AnalyticsBucket.Width, roundedUp: Bool = false) -> Int64 {
        let length = AnalyticsBucket.Width.hourMilliseconds * width.rawValue
        let number = milliseconds.floored(by: length)
        return roundedUp && !milliseconds.isMultiple(of: length) ? number + 1 : number
    }

    /// The start of an hour or day.
    package init(bucket number: Int64, of width: AnalyticsBucket.Width) {
        self.init(milliseconds: number * AnalyticsBucket.Width.hourMilliseconds * width.rawValue)
    }
}

extension Int64 {
    /// The number of whole lengths, rounded down.
    package func floored(by length: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: length)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
