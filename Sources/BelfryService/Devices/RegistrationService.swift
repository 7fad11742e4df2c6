package import FoundationEssentials

/// Registers devices for the doors of apps and of back ends, each in one transaction with all that the app said.
package struct RegistrationService: Sendable {
    let store: any Store

    /// Registers a device, or brings one up to date, by the rules of `RegistrationRules`; it is active afterwards.
    ///
    /// - Parameter uuid: the UUID that the caller believes it has; see `DeviceStore.register`.
    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        try platform.kind.check(registration.detail)
        return try await store.register(registration, as: uuid, on: platform)
    }

    /// Like `register`, for an app whose update may name a new platform. SDKs then go on with differences to their last registration, so the
    /// device gets the values that the app had there. A crash before that is mended when the app repeats its update, since it got no answer.
    package func update(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        let device = try await register(registration, as: uuid, on: platform)
        guard let uuid, device.uuid != uuid, device.ownUUID != uuid,
            let old = try await sibling(uuid, of: platform)
        else { return device }
        // A device that was here before has values that the request does not have.
        let isNew =
            Set(device.topics) == registration.topics.wanted
            && device.customUserID == registration.customUserID.applied(to: nil)
        let merged = isNew ? try await self.merged(registration, device, old) : nil
        let isMirrored = registration.mirrorCall != nil
        return try await store.replace(old, by: device, merged, on: platform, isMirrored: isMirrored)
    }

    private func merged(_ registration: Registration, _ device: Device, _ old: Device) async throws -> Registration {
        let detail = try await store.detail(of: old.key, on: old.platformKey)?.changed(by: registration.detail)
        let user = registration.customUserID.applied(to: old.customUserID)
        let topics = registration.topics.applied(to: Set(old.topics))
        var merged = try Registration(
            token: registration.token,
            about: registration.about.filled(from: old.about).filled(from: device.about),
            customUserID: user.map { .set($0) } ?? .clear,
            topics: .replace(topics),
            detail: DeviceDetail.Change(
                badge: detail?.badge, language: detail?.language, timeZone: detail?.timeZone,
                encryptionKeys: registration.detail.encryptionKeys ?? detail?.encryptionKeys),
            profile: try await store.profile(of: old.key, on: old.platformKey).changed(by: registration.profile))
        merged.mirrorCall = registration.mirrorCall?.with(topics)
        return merged
    }

    /// The device of a UUID on another platform of the same application.
    private func sibling(_ uuid: UUID, of platform: Platform) async throws -> Device? {
        for other in try await store.platforms(of: platform.applicationKey) where other.key != platform.key {
            if let device = try await store.device(uuid, on: other.key) { return device }
        }
        return nil
    }

    /// Changes the language, the time zone or the badge number of a device.
    package func set(_ detail: DeviceDetail.Change, of device: Key<Device>, on platform: Platform) async throws {
        try await store.setDetail(of: device, on: platform.key, detail)
    }

    /// Deactivates the device. It keeps its UUID and can register again. Unknown UUIDs are ignored.
    ///
    /// - Parameter call: the request of the app, where an old server is to get it too.
    package func unregister(
        _ uuid: UUID, on platform: Key<Platform>, mirroring call: MirrorCall? = nil
    ) async throws {
        try await store.unregister(uuid, on: platform, as: .optedOut, mirroring: call)
    }
}

extension MirrorCall {
    /// The app's update with all topics of its device. The user id, which the app signs, cannot be added.
    fileprivate func with(_ topics: Set<String>) -> MirrorCall {
        guard case .object(var members)? = try? JSONValue(json: body) else { return self }
        members["tags"] = .strings(topics.sorted())
        return MirrorCall(.put, body: JSONValue.object(members).encoded)
    }
}
