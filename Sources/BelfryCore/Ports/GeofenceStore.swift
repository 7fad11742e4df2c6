/// Geofences as back ends make them, as devices fetch them, and whom to tell that they changed.
///
/// Those of another application behave as unknown. Each change that devices can see gets a stamp and leaves an update
/// for the platforms concerned, in the transaction of the change.
package protocol GeofenceStore: Sendable {
    /// Throws `InvalidInput` on `locations` when the application has no such location, and when it has too many geofences.
    func create(_ plan: GeofencePlan, of application: Key<Application>) async throws -> Geofence
    func geofence(_ key: Key<Geofence>, of application: Key<Application>) async throws -> Geofence?
    func geofences(of application: Key<Application>, _ query: MapQuery) async throws -> Listing<Geofence>
    /// nil when there is none. A plan that stays as it is is no change.
    ///
    /// - Parameter change: makes the new plan from the old one; may run more than once.
    func update(
        _ key: Key<Geofence>, of application: Key<Application>,
        change: @escaping @Sendable (GeofencePlan) throws -> GeofencePlan
    ) async throws -> Geofence?
    /// Returns false when there is none.
    func delete(_ key: Key<Geofence>, of application: Key<Application>) async throws -> Bool

    /// What changed for the devices of a platform since they came last.
    ///
    /// - Parameter since: a `lastModified` of before. `zero`, or one that was never given out, gets all active geofences.
    func geofenceUpdates(since: Instant, on platform: Platform) async throws -> GeofenceChanges

    /// Starts and ends the geofences whose time has come; returns whether more of them may wait.
    func turnGeofences() async throws -> Bool
    /// Platforms whose devices are to be told by now, the longest due first.
    func dueGeofenceUpdates(atMost limit: Int) async throws -> [GeofenceUpdate]
    /// Takes the update away, unless geofences changed since it was read.
    func settle(_ update: GeofenceUpdate) async throws
    /// Has the update come up again later.
    func postpone(_ update: GeofenceUpdate, for pause: Duration) async throws
    /// Forgets geofences that were deleted and would have expired before `time`; returns whether there may be more.
    func forgetDeletedGeofences(expiredBefore time: Instant) async throws -> Bool
}

/// That the devices of a platform have to be told of changed geofences. At most one for each platform.
package struct GeofenceUpdate: Sendable, Hashable {
    package let platformKey: Key<Platform>
    package let applicationKey: Key<Application>
    /// How many changes it stands for.
    package let changeCount: Int64

    package init(platformKey: Key<Platform>, applicationKey: Key<Application>, changeCount: Int64) {
        self.platformKey = platformKey
        self.applicationKey = applicationKey
        self.changeCount = changeCount
    }
}

/// What a store takes of one application.
package enum GeofenceLimits {
    /// Geofences that are not over: what one answer to a device may have to hold.
    package static let liveMax = 1_000
}
