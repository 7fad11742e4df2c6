package import BelfryService

extension MemoryStore {
    package func create(_ place: Place, of application: Key<Application>) async throws -> Location {
        let now = clock.now
        return try transaction { contents in
            guard contents.applications[application] != nil else { throw StoreError.unknown("application") }
            try contents.check(quotas, .locations, of: application)
            let location = Location(key: contents.nextKey(), place: place, createdAt: now, updatedAt: now)
            contents.map.locations[location.key] = Contents.Owned(application: application, item: location)
            return location
        }
    }

    package func location(_ key: Key<Location>, of application: Key<Application>) async throws -> Location? {
        contents.map.locations[key].flatMap { $0.application == application ? $0.item : nil }
    }

    package func locations(
        of application: Key<Application>, _ query: GeoListQuery
    ) async throws -> ListPage<Location> {
        let owned = contents.map.locations.values.filter { $0.application == application }.map(\.item)
        return ListPage(
            owned.filter { $0.updatedAt >= query.changedSince && query.finds($0.place.name) }
                .sorted { $0.key < $1.key }, query)
    }

    package func update(
        _ key: Key<Location>, of application: Key<Application>,
        change: @escaping @Sendable (Place) throws -> Place
    ) async throws -> Location? {
        let now = clock.now
        return try transaction { contents in
            guard let owned = contents.map.locations[key], owned.application == application else { return nil }
            let place = try change(owned.item.place)
            guard place != owned.item.place else { return owned.item }
            let location = Location(key: key, place: place, createdAt: owned.item.createdAt, updatedAt: now)
            contents.replace(location, of: application, now: now)
            return location
        }
    }

    package func delete(_ key: Key<Location>, of application: Key<Application>) async throws -> Bool {
        try transaction { contents in
            guard contents.map.locations[key]?.application == application else { return false }
            let geofences = contents.map.geofences.values.map(\.geofence)
                .filter { $0.plan.locations.contains(key) }.map(\.key).sorted().map { "geofence \($0)" }
            let groups = contents.map.groups.values.map(\.item)
                .filter { $0.locations.contains { $0.key == key } }.map(\.key).sorted().map { "location group \($0)" }
            guard geofences.isEmpty, groups.isEmpty else {
                let users = (geofences.prefix(5) + groups.prefix(5)).joined(separator: ", ")
                throw StoreError.conflict("location \(key) is used by \(users)")
            }
            contents.map.locations[key] = nil
            return true
        }
    }

    package func create(_ plan: LocationGroupPlan, of application: Key<Application>) async throws -> LocationGroup {
        let now = clock.now
        return try transaction { contents in
            guard contents.applications[application] != nil else { throw StoreError.unknown("application") }
            try contents.check(quotas, .locationGroups, of: application)
            let group = LocationGroup(
                key: contents.nextKey(), name: plan.name, summary: plan.summary,
                locations: try contents.resolve(plan.locations, of: application, field: "location_ids"),
                createdAt: now, updatedAt: now)
            contents.map.groups[group.key] = Contents.Owned(application: application, item: group)
            return group
        }
    }

    package func locationGroup(
        _ key: Key<LocationGroup>, of application: Key<Application>
    ) async throws -> LocationGroup? {
        contents.map.groups[key].flatMap { $0.application == application ? $0.item : nil }
    }

    package func locationGroups(
        of application: Key<Application>, _ query: GeoListQuery
    ) async throws -> ListPage<LocationGroup> {
        let owned = contents.map.groups.values.filter { $0.application == application }.map(\.item)
        return ListPage(
            owned.filter { $0.updatedAt >= query.changedSince && query.finds("\($0.name)\n\($0.summary)") }
                .sorted { $0.key < $1.key }, query)
    }

    package func update(
        _ key: Key<LocationGroup>, of application: Key<Application>,
        change: @escaping @Sendable (LocationGroupPlan) throws -> LocationGroupPlan
    ) async throws -> LocationGroup? {
        let now = clock.now
        return try transaction { contents in
            guard let owned = contents.map.groups[key], owned.application == application else { return nil }
            let plan = try change(owned.item.plan)
            guard plan != owned.item.plan else { return owned.item }
            let group = LocationGroup(
                key: key, name: plan.name, summary: plan.summary,
                locations: try contents.resolve(plan.locations, of: application, field: "location_ids"),
                createdAt: owned.item.createdAt, updatedAt: now)
            contents.map.groups[key]?.item = group
            if plan.locations != owned.item.plan.locations { contents.restampThose(using: key, now: now) }
            return group
        }
    }

    package func delete(_ key: Key<LocationGroup>, of application: Key<Application>) async throws -> Bool {
        try transaction { contents in
            guard contents.map.groups[key]?.application == application else { return false }
            let users = contents.map.geofences.values.filter { $0.geofence.plan.groups.contains(key) }
                .map(\.geofence.key).sorted().prefix(5).map { "geofence \($0)" }
            guard users.isEmpty else {
                throw StoreError.conflict("location group \(key) is used by \(users.joined(separator: ", "))")
            }
            contents.map.groups[key] = nil
            return true
        }
    }
}

extension ListPage {
    /// The requested page of `all`.
    init(_ all: [Element], _ query: GeoListQuery) {
        self.init(Array(all.dropFirst(query.offset).prefix(query.size)), total: all.count)
    }
}

extension GeoListQuery {
    fileprivate func finds(_ text: String) -> Bool { keyword.isEmpty || text.caseFolded.contains(keyword) }
}
