import FoundationEssentials

/// Registers the devices of Carma's apps with their contacts, which are users here.
package struct CarmaService: Sendable {
    let store: any Store
    let pushes: PushService
    let clock: any WallClock

    package func app(_ appID: String, of customerID: Int64) async throws -> CarmaApp {
        guard let app = try await store.carmaApp(appID.normalized, of: customerID),
            try await store.application(app.applicationKey) != nil
        else { throw StoreError.unknown("such app") }
        return app
    }

    /// Registers the contact's tokens and changes its given fields.
    package func register(_ change: CarmaContactChange, in app: CarmaApp) async throws -> CarmaContact {
        let id = try Self.checked(change)
        let platforms = try await store.platforms(of: app.applicationKey)
        // All tokens are looked at before anything is written.
        let devices = try change.devices.filter { !$0.isInvalid }.map { device in
            let (token, platform) = try Self.place(device.token ?? "", among: platforms)
            let registration = try Registration(
                token: token, about: device.about, customUserID: .set(id), topics: .keep)
            return (registration: registration, platform: platform, country: device.country)
        }
        try await store.register(devices, of: id, try Self.profile(change.attributes), app.applicationKey)
        return try await contact(id, in: app) ?? CarmaContact(app: app, user: User(id: id), devices: [])
    }

    static func checked(id: String?) throws(InvalidInput) -> String {
        guard let id, !id.isEmpty else { throw InvalidInput(field: "originalId", "is missing") }
        do { return try User.checked(id: id) } catch { throw error.renamed(["user_id": "originalId"]) }
    }

    static func checked(_ change: CarmaContactChange, needsDevices: Bool = true) throws(InvalidInput) -> String {
        let id = try checked(id: change.originalID)
        guard !change.devices.isEmpty || !needsDevices else {
            throw InvalidInput(field: "deviceInfo", "has no devicetoken")
        }
        guard change.devices.count <= CarmaDevice.perContact else {
            throw InvalidInput(
                field: "deviceInfo", "has \(change.devices.count) devices, the limit is \(CarmaDevice.perContact)")
        }
        guard change.devices.allSatisfy({ $0.token?.isEmpty == false }) else {
            throw InvalidInput(field: "devicetoken", "is missing")
        }
        guard change.devices.allSatisfy({ ($0.country?.utf8.count ?? 0) <= CarmaDevice.countryBytesMax }) else {
            throw InvalidInput(field: "deviceInfo.country", "is longer than \(CarmaDevice.countryBytesMax) bytes")
        }
        return id
    }

    /// The change of a user's profile. Throws in the caller's words where a name or a text is too long for an attribute.
    static func profile(_ attributes: [String: UserAttribute?]) throws(InvalidInput) -> UserProfile.Change {
        let prefix = CarmaAttribute.property
        let nameMax = UserProfile.nameBytesMax - prefix.utf8.count
        for (name, value) in attributes {
            let property = name.hasPrefix(prefix) ? name.dropFirst(prefix.count) : nil
            if let property, property.utf8.count > nameMax {
                throw InvalidInput(
                    field: "properties", "has a name of \(property.utf8.count) bytes, the limit is \(nameMax)")
            }
            guard case .text(let text)? = value, text.utf8.count > UserProfile.textBytesMax else { continue }
            throw InvalidInput(
                field: property.map { "properties.\($0)" } ?? name,
                "is \(text.utf8.count) bytes, the limit is \(UserProfile.textBytesMax)")
        }
        return UserProfile.Change(attributes: attributes)
    }

    /// The platform of a token: hex digits are Apple's.
    private static func place(
        _ text: String, among platforms: [Platform]
    ) throws(InvalidInput) -> (DeviceToken, Platform) {
        if let token = try? DeviceToken(anySpelling: text, for: .ios), token.bytes.count >= 32 {
            let ios = platforms.filter { $0.kind == .ios }
            guard let platform = ios.first(where: { $0.mode == .production }) ?? ios.first else {
                throw InvalidInput(field: "devicetoken", "is one of APNs, and the app has no platform of type ios")
            }
            return (token, platform)
        }
        for kind in [PlatformKind.android, .androidFCM, .huawei, .amazon, .androidBaidu] {
            guard let platform = platforms.first(where: { $0.kind == kind }) else { continue }
            return (try DeviceToken(text, for: kind), platform)
        }
        throw InvalidInput(field: "devicetoken", "is not one of APNs, and the app has no platform of another type")
    }

    /// Removes tokens from a contact, however they became the contact's; tokens that it does not have are ignored.
    package func invalidate(_ change: CarmaContactChange, in app: CarmaApp) async throws -> CarmaContact {
        let id = try Self.checked(change)
        let rows = try await store.carmaDevices(of: id, app.applicationKey)
        let platforms = try await store.platforms(of: app.applicationKey)
        for device in change.devices {
            guard let (token, platform) = try? Self.place(device.token ?? "", among: platforms) else { continue }
            let row = rows.first { $0.token == token.text(for: platform.kind) }
            let key = row?.platformKey ?? platform.key
            if let holder = try await store.holders(of: [token], on: key)[token],
                let held = try await store.device(holder.uuid, on: key), held.token == token, held.isActive,
                held.customUserID == id
            {
                try await store.unregister(holder.uuid, on: key)
            } else if row?.invalidation != CarmaDevice.Invalidation.none {
                continue
            }
            if let row { try await store.note(row.invalidated(.byApp, at: clock.now)) }
        }
        return try await contact(id, in: app) ?? CarmaContact(app: app, user: User(id: id), devices: [])
    }

    /// The contact with all its devices; nil where it has neither a profile nor a token.
    package func contact(_ id: String, in app: CarmaApp) async throws -> CarmaContact? {
        let id = id.asName
        let user = try await store.user(id, of: app.applicationKey)
        var devices: [(CarmaDevice, Device?)] = []
        for row in try await store.carmaDevices(of: id, app.applicationKey) {
            let device = try await store.device(row.device, on: row.platformKey)
            devices.append((try await current(row, device), device))
        }
        guard user != nil || !devices.isEmpty else { return nil }
        return CarmaContact(app: app, user: user ?? User(id: id), devices: devices)
    }

    /// Notes when a contact has lost a token: its provider rejected it, a newer one took its place, or it is another user's.
    private func current(_ row: CarmaDevice, _ device: Device?) async throws -> CarmaDevice {
        guard row.invalidation == .none else { return row }
        let isHeld = row.isHeld(by: device)
        if isHeld, let device, device.isActive {
            // Not noted: the device may come back.
            return device.customUserID == row.contact ? row : row.invalidated(.replaced, at: device.registeredAt)
        }
        let changed = row.invalidated(isHeld ? .byProvider : .replaced, at: clock.now)
        return try await store.note(changed, insteadOf: row, readWith: device) ? changed : row
    }
}

extension CarmaDevice {
    fileprivate func invalidated(_ why: Invalidation, at now: Instant) -> CarmaDevice {
        CarmaDevice(
            applicationKey: applicationKey, contact: contact, token: token, platformKey: platformKey, device: device,
            country: country, invalidation: why, invalidatedAt: now)
    }

    fileprivate func isHeld(by device: Device?) -> Bool {
        guard let held = device?.token else { return false }
        return held.bytes == Array(token.utf8) || held.bytes.hex == token
    }
}
