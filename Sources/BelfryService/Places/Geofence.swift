/// A notification that devices show by themselves when they come to one of some locations, or leave it.
package struct Geofence: Sendable, Hashable {
    package let key: Key<Geofence>
    package let plan: GeofencePlan
    /// The plan's locations, in its order, followed by the present ones of its groups; each once.
    package let locations: [Location]
    package let phase: GeofencePhase
    package let createdAt: Instant
    package let updatedAt: Instant
}

/// The content of a geofence: where, when, on which devices, and what it shows.
package struct GeofencePlan: Sendable, Hashable, GeofencePeriod {
    /// Each once, in the order they were given. Empty only where there are groups.
    package let locations: [Key<Location>]
    /// Each once, in the order they were given. A change of a group changes the geofence.
    package let groups: [Key<LocationGroup>]
    package let trigger: Trigger
    package let platform: GeofencePlatform
    /// Topic names in lower case. Devices subscribed to none of them leave the geofence out; empty means all devices.
    package let tags: [String]
    package let data: GeofenceData
    /// When devices get it; `zero` means at once.
    package let startsAt: Instant
    /// When it ends on all devices.
    package let expiresAt: Instant

    package enum Trigger: String, Sendable, Hashable, CaseIterable {
        case enter, exit
    }

    /// Creates a value that was validated before.
    package init(
        stored locations: [Key<Location>], groups: [Key<LocationGroup>], trigger: Trigger, platform: GeofencePlatform,
        tags: [String], data: GeofenceData, startsAt: Instant, expiresAt: Instant
    ) {
        self.locations = locations
        self.groups = groups
        self.trigger = trigger
        self.platform = platform
        self.tags = tags
        self.data = data
        self.startsAt = startsAt
        self.expiresAt = expiresAt
    }

    /// The most regions that one device watches. Source: PCF SDK release notes, 100 on Android, 20 on iOS.
    package static let locationsMax = 100
    package static let groupsMax = 20

    package init(
        locations: [Key<Location>], groups: [Key<LocationGroup>] = [], trigger: Trigger,
        platform: GeofencePlatform = .all, tags: [String] = [], data: GeofenceData, startsAt: Instant = .zero,
        expiresAt: Instant
    ) throws(InvalidInput) {
        self.init(
            stored: locations.withoutRepeats, groups: groups.withoutRepeats, trigger: trigger, platform: platform,
            tags: tags.withoutRepeats, data: data, startsAt: startsAt, expiresAt: expiresAt)
        guard !locations.isEmpty || !groups.isEmpty else {
            throw InvalidInput(field: "locations", "is empty, it needs a location or a group")
        }
        guard self.groups.count <= Self.groupsMax else {
            throw InvalidInput(
                field: "location_groups", "has \(self.groups.count) groups, the limit is \(Self.groupsMax)")
        }
        guard self.locations.count <= Self.locationsMax else {
            throw InvalidInput(
                field: "locations", "has \(self.locations.count) locations, the limit is \(Self.locationsMax)")
        }
        guard self.tags.count <= Registration.topicsMax else {
            throw InvalidInput(field: "tags", "has \(self.tags.count) tags, the limit is \(Registration.topicsMax)")
        }
        guard startsAt >= .zero else { throw InvalidInput(field: "start_time", "has to be 0 or more") }
        guard expiresAt > startsAt else {
            throw InvalidInput(field: "expiry_time", "has to be after the start, \(max(startsAt, .zero).text)")
        }
    }

    /// The locations of a geofence with this plan, each once. Throws when they are more than a device watches.
    package func joined(_ own: [Location], _ groups: [LocationGroup]) throws(InvalidInput) -> [Location] {
        let all = (own + groups.flatMap(\.locations)).withoutRepeats
        guard all.count <= Self.locationsMax else {
            throw InvalidInput(
                field: "location_groups",
                "make \(all.count) locations with the others, the limit is \(Self.locationsMax)")
        }
        return all
    }
}

/// A geofence without its data and locations: all that its start, its end and its deletion need. It can be read even
/// when the rest of the row is damaged.
package struct GeofenceHead: Sendable, Hashable, GeofencePeriod {
    package let key: Key<Geofence>
    package let applicationKey: Key<Application>
    package let platform: GeofencePlatform
    package let startsAt: Instant
    package let expiresAt: Instant
    package let phase: GeofencePhase
    /// When its phase ends; nil when it is over.
    package let dueAt: Instant?

    /// - Parameters:
    ///   - platform: nil, when it cannot be read, counts as all: more devices than necessary are notified.
    ///   - phase: nil, when it cannot be read, counts as waiting; time ends it.
    package init(
        key: Key<Geofence>, applicationKey: Key<Application>, platform: GeofencePlatform?, startsAt: Instant,
        expiresAt: Instant, phase: GeofencePhase?, dueAt: Instant?
    ) {
        self.key = key
        self.applicationKey = applicationKey
        self.platform = platform ?? .all
        self.startsAt = startsAt
        self.expiresAt = expiresAt
        self.phase = phase ?? .waiting
        self.dueAt = dueAt
    }
}

/// The devices a geofence is for.
package enum GeofencePlatform: String, Sendable, Hashable, CaseIterable {
    case all, ios, android
    case androidFCM = "android-fcm"

    package func includes(_ kind: PlatformKind) -> Bool {
        switch self {
        case .all: true
        case .ios: kind == .ios
        case .android: PlatformKind.android.meaning.contains(kind)
        case .androidFCM: kind == .androidFCM
        }
    }
}

/// The changes that bring a device up to date with the geofences of its application.
package struct GeofenceChanges: Sendable, Hashable {
    /// The value that the device sends back with its next request.
    package let lastModified: Instant
    /// New or changed geofences.
    package let geofences: [Geofence]
    /// Geofences to remove; the device may never have had them.
    package let gone: [Key<Geofence>]
}

/// A geofence as another server made it.
package struct GeofenceImport: Sendable, Hashable {
    /// By which devices know it.
    package let key: Key<Geofence>
    package let plan: GeofencePlan
    package let changedAt: Instant

    package init(key: Key<Geofence>, plan: GeofencePlan, changedAt: Instant) {
        self.key = key
        self.plan = plan
        self.changedAt = changedAt
    }
}

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
