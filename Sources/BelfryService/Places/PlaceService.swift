/// Changes the locations, groups and geofences of applications. Each change has its line in the audit log; each function throws
/// `StoreError.unknown` if there is no such thing.
package struct PlaceService: Sendable {
    private let store: any Store

    package init(store: any Store) { self.store = store }

    // MARK: Locations and their groups

    package func create(_ place: Place, of application: Application, by author: AuditAuthor) async throws -> Location {
        let change = AuditedChange(by: author, "location.create", application, ["name": place.name])
        return try await store.audited(change) { try await store.create(place, of: application.key) }
    }

    package func update(
        _ location: Key<Location>, of application: Application, by author: AuditAuthor,
        change: @escaping @Sendable (Place) throws -> Place
    ) async throws -> Location {
        let line = AuditedChange(by: author, "location.update", application, ["location": "\(location)"])
        return try await store.audited(line, orUnknown: "location") {
            try await store.update(location, of: application.key, change: change)
        }
    }

    /// - Parameter name: nil where the location cannot be read.
    package func delete(
        _ location: Key<Location>, named name: String?, of application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(by: author, "location.delete", application, ["name": name ?? "\(location)"])
        try await store.audited(change, orUnknown: "location") { try await store.delete(location, of: application.key) }
    }

    package func create(
        _ plan: LocationGroupPlan, of application: Application, by author: AuditAuthor
    ) async throws -> LocationGroup {
        let change = AuditedChange(by: author, "location_group.create", application, ["name": plan.name])
        return try await store.audited(change) { try await store.create(plan, of: application.key) }
    }

    package func update(
        _ group: Key<LocationGroup>, of application: Application, by author: AuditAuthor,
        change: @escaping @Sendable (LocationGroupPlan) throws -> LocationGroupPlan
    ) async throws -> LocationGroup {
        let line = AuditedChange(by: author, "location_group.update", application, ["group": "\(group)"])
        return try await store.audited(line, orUnknown: "location group") {
            try await store.update(group, of: application.key, change: change)
        }
    }

    /// - Parameter name: nil where the group cannot be read.
    package func delete(
        _ group: Key<LocationGroup>, named name: String?, of application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(by: author, "location_group.delete", application, ["name": name ?? "\(group)"])
        try await store.audited(change, orUnknown: "location group") {
            try await store.delete(group, of: application.key)
        }
    }

    // MARK: Geofences

    /// Creates a location and a geofence at it, or neither.
    package func create(
        _ place: Place, of application: Application, by author: AuditAuthor,
        geofence plan: @escaping @Sendable (Key<Location>) throws -> GeofencePlan
    ) async throws -> Geofence {
        try await store.checkPlainText("data", in: application.key)
        let first = AuditedChange(by: author, "location.create", application, ["name": place.name])
        let second = AuditedChange(by: author, "geofence.create", application, ["locations": place.name])
        return try await store.audited(second) {
            try await store.create(place, of: application.key, audited: first, geofence: plan)
        }
    }

    package func create(
        _ plan: GeofencePlan, of application: Application, by author: AuditAuthor
    ) async throws -> Geofence {
        try await store.checkPlainText("data", in: application.key)
        let locations = plan.locations.map { "\($0)" }.joined(separator: ", ")
        let change = AuditedChange(
            by: author, "geofence.create", application, ["locations": locations, "trigger": plan.trigger.rawValue])
        return try await store.audited(change) { try await store.create(plan, of: application.key) }
    }

    package func update(
        _ geofence: Key<Geofence>, of application: Application, by author: AuditAuthor,
        change: @escaping @Sendable (GeofencePlan) throws -> GeofencePlan
    ) async throws -> Geofence {
        try await store.checkPlainText("data", in: application.key)
        let line = AuditedChange(by: author, "geofence.update", application, ["geofence": "\(geofence)"])
        return try await store.audited(line, orUnknown: "geofence") {
            try await store.update(geofence, of: application.key, change: change)
        }
    }

    package func delete(_ geofence: Key<Geofence>, of application: Application, by author: AuditAuthor) async throws {
        let change = AuditedChange(by: author, "geofence.delete", application, ["geofence": "\(geofence)"])
        try await store.audited(change, orUnknown: "geofence") { try await store.delete(geofence, of: application.key) }
    }

    /// Takes over the geofences of another server; see `Store.importGeofences`.
    package func importGeofences(
        _ geofences: [GeofenceImport], lastModified: Instant, of application: Application, by author: AuditAuthor
    ) async throws -> [Key<Geofence>] {
        try await store.checkPlainText("geofences", in: application.key)
        let change = AuditedChange(
            by: author, "geofence.import", application, ["geofences": String(geofences.count)])
        return try await store.audited(change) {
            try await store.importGeofences(geofences, lastModified: lastModified, of: application.key)
        }
    }
}
