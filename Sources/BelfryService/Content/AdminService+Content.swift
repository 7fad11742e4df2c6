import FoundationEssentials

// The contents of an application besides platforms. Each function throws `StoreError.unknown` if there is no such
// thing.

// MARK: - Topics and devices

extension AdminService {
    /// Creates a topic. An existing topic stays as it is.
    package func create(
        _ topic: NewTopic, of application: Application, by author: AuditAuthor
    ) async throws -> NewTopic.CreationResult {
        let change = AuditedChange(by: author, "topic.create", application, ["topic": topic.name])
        let fates = try await store.audited(change) { try await store.create([topic], of: application.key) }
        guard let fate = fates.first else { throw StoreError.unknown("such topic") }
        return fate
    }

    /// - Parameter expiresAt: nil for a topic that stays.
    package func change(
        _ topic: Topic, of application: Application, expiresAt: Instant?, by author: AuditAuthor
    ) async throws -> Topic {
        let details = ["topic": topic.name, "expires_at": expiresAt?.text ?? "never"]
        return try await store.audited(AuditedChange(by: author, "topic.update", application, details)) {
            let changed = try await store.change(topic.key, of: application.key, expiresAt: expiresAt)
            guard let changed else { throw StoreError.unknown("such topic") }
            return changed
        }
    }

    /// Deletes a topic and unsubscribes its devices.
    package func delete(_ topic: Topic, of application: Application, by author: AuditAuthor) async throws {
        let change = AuditedChange(by: author, "topic.delete", application, ["topic": topic.name])
        _ = try await store.audited(change) { try await store.deleteTopics([topic.key], of: application.key) }
    }

    /// Registers a device as its app would.
    package func register(
        _ registration: Registration, on platform: Platform, of application: Application, by author: AuditAuthor
    ) async throws -> Device {
        let change = AuditedChange(by: author, "device.create", platform, of: application)
        return try await store.audited(change) { try await store.register(registration, as: nil, on: platform) }
    }

    /// Changes the details of an active device. Its token stays.
    package func update(
        _ device: Device, on platform: Platform, of application: Application, _ change: DeviceChange,
        by author: AuditAuthor
    ) async throws -> Device {
        guard let token = device.token, device.isActive else {
            throw StoreError.conflict("the device is not active: it comes back when its app registers again")
        }
        let registration = try Registration(
            token: token, about: Device.About(alias: change.alias), customUserID: change.customUserID,
            topics: change.topics)
        let line = AuditedChange(
            by: author, "device.update", device.uuid.lowercased, of: Permission.Subject(application))
        return try await store.audited(line) {
            try await store.register(registration, as: device.uuid, on: platform)
        }
    }

    /// Deactivates a device. It keeps its UUID, and becomes active when its app registers again.
    package func deactivate(
        _ device: Device, on platform: Platform, of application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(
            by: author, "device.deactivate", device.uuid.lowercased, of: Permission.Subject(application))
        try await store.audited(change) { try await store.unregister(device.uuid, on: platform.key) }
    }

    /// Deletes the device with all its rows. Its app may register it anew, under another UUID.
    package func erase(
        _ device: Device, on platform: Platform, of application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(
            by: author, "device.erase", device.uuid.lowercased, of: Permission.Subject(application))
        try await store.audited(change) { try await store.delete(device, on: platform) }
    }
}

// MARK: - Locations and their groups

extension AdminService {
    package func create(_ place: Place, of application: Application, by author: AuditAuthor) async throws -> Location {
        let change = AuditedChange(by: author, "location.create", application, ["name": place.name])
        return try await store.audited(change) { try await store.create(place, of: application.key) }
    }

    package func update(
        _ location: Key<Location>, of application: Application, by author: AuditAuthor,
        change: @escaping @Sendable (Place) throws -> Place
    ) async throws -> Location {
        let line = AuditedChange(by: author, "location.update", application, ["location": "\(location)"])
        return try await store.audited(line) {
            let updated = try await store.update(location, of: application.key, change: change)
            guard let updated else { throw StoreError.unknown("such location") }
            return updated
        }
    }

    /// - Parameter name: nil where the location cannot be read.
    package func delete(
        _ location: Key<Location>, named name: String?, of application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(by: author, "location.delete", application, ["name": name ?? "\(location)"])
        _ = try await store.audited(change) { try await store.delete(location, of: application.key) }
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
        return try await store.audited(line) {
            let updated = try await store.update(group, of: application.key, change: change)
            guard let updated else { throw StoreError.unknown("such location group") }
            return updated
        }
    }

    /// - Parameter name: nil where the group cannot be read.
    package func delete(
        _ group: Key<LocationGroup>, named name: String?, of application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(by: author, "location_group.delete", application, ["name": name ?? "\(group)"])
        _ = try await store.audited(change) { try await store.delete(group, of: application.key) }
    }
}

// MARK: - Geofences

extension AdminService {
    package func create(
        _ plan: GeofencePlan, of application: Application, by author: AuditAuthor
    ) async throws -> Geofence {
        let locations = plan.locations.map { "\($0)" }.joined(separator: ", ")
        let change = AuditedChange(
            by: author, "geofence.create", application, ["locations": locations, "trigger": plan.trigger.rawValue])
        return try await store.audited(change) { try await store.create(plan, of: application.key) }
    }

    package func update(
        _ geofence: Key<Geofence>, of application: Application, by author: AuditAuthor,
        change: @escaping @Sendable (GeofencePlan) throws -> GeofencePlan
    ) async throws -> Geofence {
        let line = AuditedChange(by: author, "geofence.update", application, ["geofence": "\(geofence)"])
        return try await store.audited(line) {
            let updated = try await store.update(geofence, of: application.key, change: change)
            guard let updated else { throw StoreError.unknown("such geofence") }
            return updated
        }
    }

    package func delete(_ geofence: Key<Geofence>, of application: Application, by author: AuditAuthor) async throws {
        let change = AuditedChange(by: author, "geofence.delete", application, ["geofence": "\(geofence)"])
        _ = try await store.audited(change) { try await store.delete(geofence, of: application.key) }
    }

    /// Takes over the geofences of another server; see `GeofenceStore.importGeofences`.
    package func importGeofences(
        _ geofences: [GeofenceImport], lastModified: Instant, of application: Application, by author: AuditAuthor
    ) async throws -> [Key<Geofence>] {
        let change = AuditedChange(
            by: author, "geofence.import", application, ["geofences": String(geofences.count)])
        return try await store.audited(change) {
            try await store.importGeofences(geofences, lastModified: lastModified, of: application.key)
        }
    }
}
