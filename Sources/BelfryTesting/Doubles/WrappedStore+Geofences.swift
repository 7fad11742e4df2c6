package import BelfryService

extension WrappedStore {
    package func create(_ place: Place, of application: Key<Application>) async throws -> Location {
        try await base.create(place, of: application)
    }
    package func location(_ key: Key<Location>, of application: Key<Application>) async throws -> Location? {
        try await base.location(key, of: application)
    }
    package func locations(of application: Key<Application>, _ query: GeoListQuery) async throws -> ListPage<Location> {
        try await base.locations(of: application, query)
    }
    package func update(
        _ key: Key<Location>, of application: Key<Application>, change: @escaping @Sendable (Place) throws -> Place
    ) async throws -> Location? {
        try await base.update(key, of: application, change: change)
    }
    package func delete(_ key: Key<Location>, of application: Key<Application>) async throws -> Bool {
        try await base.delete(key, of: application)
    }

    package func create(_ plan: LocationGroupPlan, of application: Key<Application>) async throws -> LocationGroup {
        try await base.create(plan, of: application)
    }
    package func locationGroup(
        _ key: Key<LocationGroup>, of application: Key<Application>
    ) async throws -> LocationGroup? {
        try await base.locationGroup(key, of: application)
    }
    package func locationGroups(
        of application: Key<Application>, _ query: GeoListQuery
    ) async throws -> ListPage<LocationGroup> {
        try await base.locationGroups(of: application, query)
    }
    package func update(
        _ key: Key<LocationGroup>, of application: Key<Application>,
        change: @escaping @Sendable (LocationGroupPlan) throws -> LocationGroupPlan
    ) async throws -> LocationGroup? {
        try await base.update(key, of: application, change: change)
    }
    package func delete(_ key: Key<LocationGroup>, of application: Key<Application>) async throws -> Bool {
        try await base.delete(key, of: application)
    }

    package func create(_ plan: GeofencePlan, of application: Key<Application>) async throws -> Geofence {
        try await base.create(plan, of: application)
    }
    package func importGeofences(
        _ geofences: [GeofenceImport], lastModified: Instant, of application: Key<Application>
    ) async throws -> [Key<Geofence>] {
        try await base.importGeofences(geofences, lastModified: lastModified, of: application)
    }
    package func geofence(_ key: Key<Geofence>, of application: Key<Application>) async throws -> Geofence? {
        try await base.geofence(key, of: application)
    }
    package func geofences(of application: Key<Application>, _ query: GeoListQuery) async throws -> ListPage<Geofence> {
        try await base.geofences(of: application, query)
    }
    package func update(
        _ key: Key<Geofence>, of application: Key<Application>,
        change: @escaping @Sendable (GeofencePlan) throws -> GeofencePlan
    ) async throws -> Geofence? {
        try await base.update(key, of: application, change: change)
    }
    package func delete(_ key: Key<Geofence>, of application: Key<Application>) async throws -> Bool {
        try await base.delete(key, of: application)
    }
    package func geofenceUpdates(since: Instant, on platform: Platform) async throws -> GeofenceChanges {
        try await base.geofenceUpdates(since: since, on: platform)
    }
    package func startAndEndDueGeofences() async throws -> Bool { try await base.startAndEndDueGeofences() }
    package func dueGeofenceUpdates(atMost limit: Int) async throws -> [GeofenceUpdate] {
        try await base.dueGeofenceUpdates(atMost: limit)
    }
    package func settle(_ update: GeofenceUpdate) async throws { try await base.settle(update) }
    package func postpone(_ update: GeofenceUpdate, for pause: Duration) async throws {
        try await base.postpone(update, for: pause)
    }
    package func deleteExpiredGeofenceDeletions(expiredBefore time: Instant) async throws -> Bool {
        try await base.deleteExpiredGeofenceDeletions(expiredBefore: time)
    }

    package func record(
        _ events: [AnalyticsEvent], on platform: Platform, lateMax: Duration
    ) async throws -> AnalyticsTally {
        try await base.record(events, on: platform, lateMax: lateMax)
    }
    package func counts(of push: Key<Push>) async throws -> [Key<Platform>: AnalyticsCounts] {
        try await base.counts(of: push)
    }
    package func counts(
        on platform: Key<Platform>, from start: Instant, until end: Instant, by width: AnalyticsBucket.Width
    ) async throws -> [AnalyticsBucket] {
        try await base.counts(on: platform, from: start, until: end, by: width)
    }
    package func geofenceTriggers(
        of application: Key<Application>, after: GeofenceTriggers.Spot?, limit: Int
    ) async throws -> [GeofenceTriggers] {
        try await base.geofenceTriggers(of: application, after: after, limit: limit)
    }
    package func heartbeats(
        on platform: Key<Platform>, after: Key<Device>?, limit: Int
    ) async throws -> [Heartbeat] {
        try await base.heartbeats(on: platform, after: after, limit: limit)
    }
    package func heartbeatSummary(on platform: Key<Platform>, since: Instant) async throws -> HeartbeatSummary {
        try await base.heartbeatSummary(on: platform, since: since)
    }
    package func deleteExpiredAnalytics(countsBefore: Instant, eventsBefore: Instant) async throws -> Bool {
        try await base.deleteExpiredAnalytics(countsBefore: countsBefore, eventsBefore: eventsBefore)
    }
}
