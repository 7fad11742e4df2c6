/// Geofences as back ends manage them and devices fetch them, and the platforms to notify when they change.
///
/// Geofences of another application are unknown. Each change that devices can see gets a stamp and leaves an update for
/// the platforms concerned, in the transaction of the change.
package protocol GeofenceStore: Sendable {
    /// Throws `InvalidInput` on `locations` if the application has no such location, or has too many geofences.
    func create(_ plan: GeofencePlan, of application: Key<Application>) async throws -> Geofence
    /// Takes over the geofences of another server, so that devices continue with those that they have: ids and times of change
    /// stay, later ids and stamps are above them, and no device is notified. A geofence that exists already stays as it is. A
    /// geofence whose id another application has gets a new one, and devices are sent the removal of the old one.
    ///
    /// Returns the id of each.
    ///
    /// - Parameter lastModified: the value that devices send when they have seen all of them.
    func importGeofences(
        _ geofences: [GeofenceImport], lastModified: Instant, of application: Key<Application>
    ) async throws -> [Key<Geofence>]
    func geofence(_ key: Key<Geofence>, of application: Key<Application>) async throws -> Geofence?
    func geofences(of application: Key<Application>, _ query: GeoListQuery) async throws -> ListPage<Geofence>
    /// Returns nil if there is no such geofence. An unchanged plan is not a change.
    ///
    /// - Parameter change: makes the new plan from the old one; may run more than once.
    func update(
        _ key: Key<Geofence>, of application: Key<Application>,
        change: @escaping @Sendable (GeofencePlan) throws -> GeofencePlan
    ) async throws -> Geofence?
    /// Returns false if there is no such geofence.
    func delete(_ key: Key<Geofence>, of application: Key<Application>) async throws -> Bool

    /// The geofence changes since a device's last fetch.
    ///
    /// - Parameter since: the `lastModified` of that fetch. `zero`, or a value never issued, gets all active geofences.
    func geofenceUpdates(since: Instant, on platform: Platform) async throws -> GeofenceChanges

    /// Starts and ends the geofences that are due; returns whether there may be more.
    func startAndEndDueGeofences() async throws -> Bool
    /// Updates whose platforms are due to be notified, the longest due first.
    func dueGeofenceUpdates(atMost limit: Int) async throws -> [GeofenceUpdate]
    /// Removes the update, unless geofences changed since it was read.
    func settle(_ update: GeofenceUpdate) async throws
    /// Makes the update due again later.
    func postpone(_ update: GeofenceUpdate, for pause: Duration) async throws
    /// Deletes the records of deleted geofences that would have expired before `time`; returns whether there may be
    /// more.
    func deleteExpiredGeofenceDeletions(expiredBefore time: Instant) async throws -> Bool
}

/// A reminder to notify the devices of a platform of changed geofences. At most one for each platform.
package struct GeofenceUpdate: Sendable, Hashable {
    package let platformKey: Key<Platform>
    package let applicationKey: Key<Application>
    /// The number of changes it stands for.
    package let changeCount: Int64

    package init(platformKey: Key<Platform>, applicationKey: Key<Application>, changeCount: Int64) {
        self.platformKey = platformKey
        self.applicationKey = applicationKey
        self.changeCount = changeCount
    }
}

/// The limits of one application.
package enum GeofenceLimits {
    /// Geofences that are not over: the most that one response to a device may contain.
    package static let liveMax = 1_000
}
