/// The locations of an application and their groups. Those of another application are unknown.
package protocol LocationStore: Sendable {
    func create(_ place: Place, of application: Key<Application>) async throws -> Location
    func location(_ key: Key<Location>, of application: Key<Application>) async throws -> Location?
    func locations(of application: Key<Application>, _ query: GeoListQuery) async throws -> ListPage<Location>
    /// Changes a location, and so every geofence that uses it; returns nil if there is no such location.
    ///
    /// - Parameter change: makes the new location from the old one; may run more than once.
    func update(
        _ key: Key<Location>, of application: Key<Application>,
        change: @escaping @Sendable (Place) throws -> Place
    ) async throws -> Location?
    /// Throws `StoreError.conflict` with the geofences or groups that use it. Returns false if there is no such
    /// location.
    func delete(_ key: Key<Location>, of application: Key<Application>) async throws -> Bool

    /// Throws `InvalidInput` on `location_ids` if the application has no such location.
    func create(_ plan: LocationGroupPlan, of application: Key<Application>) async throws -> LocationGroup
    func locationGroup(_ key: Key<LocationGroup>, of application: Key<Application>) async throws -> LocationGroup?
    func locationGroups(of application: Key<Application>, _ query: GeoListQuery) async throws -> ListPage<LocationGroup>
    func update(
        _ key: Key<LocationGroup>, of application: Key<Application>,
        change: @escaping @Sendable (LocationGroupPlan) throws -> LocationGroupPlan
    ) async throws -> LocationGroup?
    func delete(_ key: Key<LocationGroup>, of application: Key<Application>) async throws -> Bool
}

/// Selects a part of a list, which is in the order of creation.
package struct GeoListQuery: Sendable, Hashable {
    /// Counted from 1.
    package let page: Int
    package let size: Int
    /// Only items that were changed then or later.
    package let changedSince: Instant
    /// Only items with this in their name or description; case does not matter.
    package let keyword: String

    package static let sizeMax = 50

    /// A page of up to `sizeMax` items; numbers that are out of range are moved to the nearest valid one.
    package init(page: Int = 1, size: Int = 25, changedSince: Instant = .distantPast, keyword: String = "") {
        self.size = min(max(size, 1), Self.sizeMax)
        self.page = max(page, 1)
        self.changedSince = changedSince
        self.keyword = keyword.caseFolded
    }

    /// The number of items before the page.
    package var offset: Int {
        let (offset, overflow) = (page - 1).multipliedReportingOverflow(by: size)
        return overflow ? .max : offset
    }
}
