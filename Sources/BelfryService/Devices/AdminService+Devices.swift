extension AdminService {
    /// Registers a device as its app would.
    package func register(
        _ registration: Registration, on platform: Platform, of application: Application, by author: AuditAuthor
    ) async throws -> Device {
        try platform.kind.check(registration.detail)
        let change = AuditedChange(by: author, "device.create", platform, of: application)
        return try await store.audited(change) { try await store.registerAlone(registration, as: nil, on: platform) }
    }

    /// Changes the details of an active device. Its token stays.
    package func update(
        _ device: Device, on platform: Platform, of application: Application, _ change: DeviceChange,
        by author: AuditAuthor
    ) async throws -> Device {
        guard let token = device.token else { throw StoreError.inactiveDevice }
        var registration = try Registration(
            token: token, about: Device.About(alias: change.alias), customUserID: change.customUserID,
            topics: change.topics, detail: change.detail, profile: change.profile)
        registration.isEdit = true
        let line = AuditedChange(
            by: author, "device.update", device.uuid.lowercased, of: Permission.Subject(application))
        return try await store.audited(line) {
            try await store.registerAlone(registration, as: device.uuid, on: platform)
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

    /// Deletes the device with all its rows. Its app may register it again, under another UUID.
    package func erase(
        _ device: Device, on platform: Platform, of application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(
            by: author, "device.erase", device.uuid.lowercased, of: Permission.Subject(application))
        try await store.audited(change) { try await store.delete(device, on: platform) }
    }
}

extension StoreError {
    static let inactiveDevice = StoreError.conflict(
        "the device is not active: it comes back when its app registers again")
}

/// The changes an operator makes to a device.
package struct DeviceChange: Sendable, Hashable {
    /// nil leaves it as it is; `""` is none.
    package let alias: String?
    package let customUserID: Registration.Change<String>
    package let topics: Registration.TopicChange
    package var detail = DeviceDetail.Change()
    package var profile = DeviceProfile()
}
