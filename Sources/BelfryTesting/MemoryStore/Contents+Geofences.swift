package import BelfryService

extension Contents {
    /// Locations, groups and geofences, and the changes that devices can see.
    package struct Map: Sendable {
        package var locations: [Key<Location>: Owned<Location>] = [:]
        package var groups: [Key<LocationGroup>: Owned<LocationGroup>] = [:]
        package var geofences: [Key<Geofence>: GeofenceRow] = [:]
        package var deletions: [Deletion] = []
        package var stamps: [Key<Application>: Instant] = [:]
        package var updates: [Key<Platform>: GeofenceUpdateRow] = [:]

        package init() {}
    }

    package struct Owned<Item: Sendable>: Sendable {
        package let application: Key<Application>
        package var item: Item
    }

    package struct GeofenceRow: Sendable {
        package let application: Key<Application>
        package var geofence: Geofence
        /// nil before any device got it.
        package var changedAt: Instant?
    }

    package struct Deletion: Sendable {
        package let application: Key<Application>
        package let geofence: Key<Geofence>
        package let changedAt: Instant
        package let expiresAt: Instant
    }

    package struct GeofenceUpdateRow: Sendable {
        package let application: Key<Application>
        package var changeCount: Int64
        package var firstChangeAt: Instant
        package var dueAt: Instant
    }
}

extension Contents.Map {
    mutating func remove(_ application: Key<Application>) {
        locations = locations.filter { $0.value.application != application }
        groups = groups.filter { $0.value.application != application }
        geofences = geofences.filter { $0.value.application != application }
        deletions.removeAll { $0.application == application }
        stamps[application] = nil
        updates = updates.filter { $0.value.application != application }
    }
}

// MARK: Changes and their consequences

extension Contents {
    mutating func nextStamp(of application: Key<Application>, now: Instant) -> Instant {
        let stamp = GeofenceStamp.next(after: map.stamps[application] ?? .zero, now: now)
        map.stamps[application] = stamp
        return stamp
    }

    mutating func notify(_ application: Key<Application>, of changed: Set<GeofencePlatform>, now: Instant) {
        for platform in platforms.values
        where platform.applicationKey == application && GeofenceUpdatePush.kinds.contains(platform.kind)
            && changed.contains(where: { $0.includes(platform.kind) })
        {
            var row =
                map.updates[platform.key]
                ?? GeofenceUpdateRow(application: application, changeCount: 0, firstChangeAt: now, dueAt: now)
            row.changeCount += 1
            row.dueAt = GeofenceUpdatePush.dueAt(firstChange: row.firstChangeAt, now: now)
            map.updates[platform.key] = row
        }
    }

    /// Stores a geofence, replaced or new; devices are notified if they can see a difference.
    mutating func put(_ geofence: Geofence, of application: Key<Application>, now: Instant) {
        let old = map.geofences[geofence.key]
        var row = GeofenceRow(application: application, geofence: geofence, changedAt: old?.changedAt)
        if geofence.phase == .active || old?.geofence.phase == .active {
            row.changedAt = nextStamp(of: application, now: now)
            notify(
                application, of: Set([old?.geofence.plan.platform, geofence.plan.platform].compactMap(\.self)), now: now
            )
        }
        map.geofences[geofence.key] = row
    }

    mutating func startAndEndDueGeofences(now: Instant) {
        for (key, row) in map.geofences.sorted(by: { $0.key < $1.key }) {
            let old = row.geofence
            let phase = old.phase.advanced(of: old.plan, at: now)
            guard phase != old.phase else { continue }
            map.geofences[key] = GeofenceRow(
                application: row.application, geofence: old.with(phase: phase), changedAt: row.changedAt)
            guard old.phase == .active || phase == .active else { continue }
            let stamp = nextStamp(of: row.application, now: now)
            map.geofences[key]?.changedAt = stamp
            if phase == .active { notify(row.application, of: [old.plan.platform], now: now) }
        }
    }

    /// Replaces the location wherever it is used.
    mutating func replace(_ location: Location, of application: Key<Application>, now: Instant) {
        map.locations[location.key]?.item = location
        for (key, row) in map.groups where row.item.locations.contains(where: { $0.key == location.key }) {
            map.groups[key]?.item = row.item.replacing(location)
        }
        for (key, row) in map.geofences.sorted(by: { $0.key < $1.key })
        where row.geofence.locations.contains(where: { $0.key == location.key }) {
            map.geofences[key]?.geofence = row.geofence.replacing(location)
            restamp(key, now: now)
        }
    }

    /// The locations of a group, as they are now, in all geofences that name it.
    mutating func restampThose(using group: Key<LocationGroup>, now: Instant) {
        for (key, row) in map.geofences.sorted(by: { $0.key < $1.key })
        where row.geofence.plan.groups.contains(group) {
            let own = row.geofence.plan.locations.compactMap { map.locations[$0]?.item }
            let ofGroups = row.geofence.plan.groups.flatMap { map.groups[$0]?.item.locations ?? [] }
            map.geofences[key]?.geofence = row.geofence.with(locations: (own + ofGroups).withoutRepeats)
            restamp(key, now: now)
        }
    }

    private mutating func restamp(_ key: Key<Geofence>, now: Instant) {
        guard let row = map.geofences[key], row.geofence.phase == .active else { return }
        let stamp = nextStamp(of: row.application, now: now)
        map.geofences[key]?.changedAt = stamp
        notify(row.application, of: [row.geofence.plan.platform], now: now)
    }

    func locations(of plan: GeofencePlan, in application: Key<Application>) throws(InvalidInput) -> [Location] {
        var groups: [LocationGroup] = []
        for (index, key) in plan.groups.enumerated() {
            guard let owned = map.groups[key], owned.application == application else {
                throw InvalidInput(
                    field: "location_groups[\(index)]", "is \(key), this application has no such location group")
            }
            groups.append(owned.item)
        }
        return try plan.joined(try resolve(plan.locations, of: application, field: "locations"), groups)
    }

    func resolve(
        _ keys: [Key<Location>], of application: Key<Application>, field: String
    ) throws(InvalidInput) -> [Location] {
        var locations: [Location] = []
        for (index, key) in keys.enumerated() {
            guard let owned = map.locations[key], owned.application == application else {
                throw InvalidInput(field: "\(field)[\(index)]", "is \(key), this application has no such location")
            }
            locations.append(owned.item)
        }
        return locations
    }
}

extension Geofence {
    fileprivate func with(locations: [Location]) -> Geofence {
        Geofence(
            key: key, plan: plan, locations: locations, phase: phase, createdAt: createdAt, updatedAt: updatedAt)
    }

    fileprivate func with(phase: GeofencePhase) -> Geofence {
        Geofence(
            key: key, plan: plan, locations: locations, phase: phase, createdAt: createdAt, updatedAt: updatedAt)
    }

    fileprivate func replacing(_ location: Location) -> Geofence {
        Geofence(
            key: key, plan: plan, locations: locations.map { $0.key == location.key ? location : $0 }, phase: phase,
            createdAt: createdAt, updatedAt: updatedAt)
    }
}

extension LocationGroup {
    fileprivate func replacing(_ location: Location) -> LocationGroup {
        LocationGroup(
            key: key, name: name, summary: summary,
            locations: locations.map { $0.key == location.key ? location : $0 }, createdAt: createdAt,
            updatedAt: updatedAt)
    }
}
