/// The phase of a geofence: before its start, active, or over.
///
/// A phase is stored and only time advances it, so the geofences that devices get do not depend on when they ask: a
/// clock that is set back removes none.
package enum GeofencePhase: Int64, Sendable, Hashable, CaseIterable {
    /// It has not started: devices do not get it.
    case waiting = 0
    case active = 1
    /// It has expired.
    case over = 2

    package init(of plan: some GeofencePeriod, at now: Instant) {
        self = plan.expiresAt <= now ? .over : plan.startsAt <= now ? .active : .waiting
    }

    /// The phase that follows this one as time passes.
    package func advanced(of plan: some GeofencePeriod, at now: Instant) -> GeofencePhase {
        let next = GeofencePhase(of: plan, at: now)
        return next.rawValue > rawValue ? next : self
    }

    /// When the phase ends.
    package func end(of plan: some GeofencePeriod) -> Instant? {
        switch self {
        case .waiting: plan.startsAt
        case .active: plan.expiresAt
        case .over: nil
        }
    }
}

/// Something with a start and an end.
package protocol GeofencePeriod {
    /// `zero` means at once.
    var startsAt: Instant { get }
    var expiresAt: Instant { get }
}

/// The numbers by which devices ask for changes since their last request.
package enum GeofenceStamp {
    /// The stamp of an application's next change: the time, or more where the clock stands still or was set back.
    ///
    /// Stamps ascend strictly in the order of the commits. So a device that has seen everything up to one stamp misses
    /// nothing of a later commit, however close together they are.
    package static func next(after last: Instant, now: Instant) -> Instant { max(now, last + .milliseconds(1)) }
}
