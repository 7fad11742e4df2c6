/// The users of applications: their profiles, and their devices as one.
package struct UserService: Sendable {
    private let store: any Store

    /// The most devices of a user that are shown, and changed at a time.
    package static let devicesMax = 1_000
    private static let devicesAtOnce = 200

    package init(store: any Store) { self.store = store }

    /// nil when neither a profile nor an active device names the user.
    package func user(_ id: String, of application: Application) async throws -> User? {
        let id = id.asName
        if let user = try await store.user(id, of: application.key) { return user }
        let platforms = try await store.platforms(of: application.key).map(\.key)
        let devices = try await store.devices(ofUser: id, on: platforms, limit: 1)
        return devices.isEmpty ? nil : User(id: id)
    }

    /// The active devices of a user, with the platform of each.
    package func devices(of id: String, of application: Application) async throws -> [(Device, Platform)] {
        let platforms = try await store.platforms(of: application.key)
        let byKey = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0) })
        return try await store.devices(ofUser: id.asName, on: platforms.map(\.key), limit: Self.devicesMax)
            .compactMap { device in byKey[device.platformKey].map { (device, $0) } }
    }

    /// The next users after an id: those with a profile, and those with devices only.
    package func users(
        of application: Application, containing text: String?, after id: String?, limit: Int
    ) async throws -> [User] {
        let text = text?.normalized
        let known = try await store.users(of: application.key, containing: text, after: id, limit: limit)
        let platforms = try await store.platforms(of: application.key).map(\.key)
        return merged(
            known, try await store.customUserIDs(on: platforms, containing: text, after: id, limit: limit), limit)
    }

    /// The next users whose ids have a prefix, by indexes.
    package func users(
        of application: Application, beginning prefix: IDPrefix, after id: String?, limit: Int
    ) async throws -> [User] {
        let known = try await store.users(of: application.key, beginning: prefix, after: id, limit: limit)
        let platforms = try await store.platforms(of: application.key).map(\.key)
        return merged(
            known, try await store.customUserIDs(on: platforms, beginning: prefix, after: id, limit: limit), limit)
    }

    /// Users whose id has a text elsewhere than at its beginning, in any case, by the index of devices; none where the text is too
    /// short for it. Users without a device are not included.
    ///
    /// - Parameter time: see `Store.devicePage`.
    package func users(
        of application: Application, amid text: String, limit: Int, within time: Duration
    ) async throws -> [User] {
        guard text.utf8.count >= TextGrams.partBytesMin else { return [] }
        let platforms = try await store.platforms(of: application.key).map(\.key)
        let page = try await store.devicePage(
            DeviceSearch(platforms: platforms, text: text), after: nil, limit: limit, within: time, isCounted: false)
        let ids = Set(page.devices.filter(\.isActive).compactMap(\.customUserID)).filter { id in
            id.caseFolded.contains(text.caseFolded) && !id.utf8.starts(with: text.normalized.utf8)
        }
        return merged([], Array(ids), limit)
    }

    private func merged(_ known: [User], _ named: [String], _ limit: Int) -> [User] {
        let ids = Set(known.map(\.id))
        let all = known + named.filter { !ids.contains($0) }.map { User(id: $0) }
        return Array(all.sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }.prefix(limit))
    }

    /// Creates the user, or changes it.
    package func set(
        _ id: String, of application: Application, _ change: UserProfile.Change, by author: AuditAuthor
    ) async throws -> User {
        let id = try User.checked(id: id)
        return try await store.audited(AuditedChange(by: author, "user.set", application, ["user": id])) {
            try await store.setUser(id, of: application.key) { try $0.changed(by: change) }
        }
    }

    /// Merges two users: the second gets the devices of the first, and the parts of its profile that it lacks.
    package func merge(
        _ id: String, into other: String, of application: Application, by author: AuditAuthor
    ) async throws -> User {
        let (id, other) = (id.asName, try User.checked(id: other, field: "into"))
        guard id != other else { throw InvalidInput(field: "into", "is the user itself") }
        guard let user = try await user(id, of: application) else { throw StoreError.unknown("such user") }
        let platforms = try await store.platforms(of: application.key).map(\.key)
        // A merge that a quota stopped would stay half done.
        try await store.checkDevices(of: id, movingTo: other, on: platforms)
        let change = AuditedChange(by: author, "user.merge", application, ["user": id, "into": other])
        return try await store.audited(change) {
            // Limits are checked before any device moves.
            _ = try await store.setUser(other, of: application.key) { profile in
                _ = try profile.filled(from: user.profile)
                return profile
            }
            try await eachActiveDevice(of: id, application) { device, token, platform in
                var registration = try Registration(
                    token: token, about: Device.About(), customUserID: .set(other), topics: .keep)
                registration.isEdit = true
                do {
                    _ = try await store.register(registration, as: device.uuid, on: platform)
                } catch let left as StoreError where left == .inactiveDevice {}
            }
            return try await store.mergeUser(id, into: other, of: application.key)
        }
    }

    /// Deletes the profile, deactivates the user's devices and removes the user's traces from them. The audit log keeps its
    /// lines until they age out.
    package func erase(_ id: String, of application: Application, by author: AuditAuthor) async throws {
        // Versions before this one kept the blanks around an id.
        var isFound = false
        for id in [id.asName, id.normalized].withoutRepeats {
            guard let named = try await namedUser(id, application) else { continue }
            try await erase(id, named, of: application, by: author)
            isFound = true
        }
        guard isFound else { throw StoreError.unknown("such user") }
    }

    private func erase(
        _ id: String, _ named: [[Key<Device>]], of application: Application, by author: AuditAuthor
    ) async throws {
        try await store.audited(AuditedChange(by: author, "user.erase", application)) {
            _ = try await store.deleteUser(id, of: application.key)
            try await store.forgetCarmaContact(id, of: application.key)
            try await eachActiveDevice(of: id, application) { device, _, platform in
                try await forgetSelectors(of: device, id, application)
                try await store.unregister(device.uuid, on: platform.key)
                try await store.forgetUser(of: [device.key])
            }
            for devices in named { try await store.forgetUser(of: devices) }
        }
    }

    /// Deletes the accounts of a softphone that are the user's.
    private func forgetSelectors(of device: Device, _ id: String, _ application: Application) async throws {
        let all = try await store.acrobitsRegistrations(device: device.ownUUID, of: application.key)
        for registration in all where registration.account == id {
            try await store.deleteAcrobitsRegistrations(selector: registration.selector, of: application.key)
        }
    }

    /// The inactive devices that name the user, in slices; nil when nothing names it.
    private func namedUser(_ id: String, _ application: Application) async throws -> [[Key<Device>]]? {
        let platforms = try await store.platforms(of: application.key).map(\.key)
        var slices: [[Key<Device>]] = []
        var last: Key<Device>?
        while true {
            let found = try await store.devices(
                DeviceSearch(platforms: platforms, text: id), after: last, limit: Self.devicesAtOnce)
            let inactive = found.filter { $0.customUserID == id && !$0.isActive }.map(\.key)
            if !inactive.isEmpty { slices.append(inactive) }
            last = found.last?.key
            guard found.count == Self.devicesAtOnce else { break }
        }
        if !slices.isEmpty { return slices }
        // A damaged profile names the user all the same.
        do { return try await user(id, of: application) == nil ? nil : [] } catch StoreError.damaged { return [] }
    }

    /// Calls the body for each active device until the user has none; the body must take the device from the user.
    private func eachActiveDevice(
        of id: String, _ application: Application, _ body: (Device, DeviceToken, Platform) async throws -> Void
    ) async throws {
        let platforms = try await store.platforms(of: application.key)
        for platform in platforms {
            while case let devices = try await store.devices(
                ofUser: id, on: [platform.key], limit: Self.devicesAtOnce), !devices.isEmpty
            {
                for device in devices {
                    // Since then it may have got another token, or become another user's.
                    let present = try await store.device(device.uuid, on: platform.key)
                    guard let present, present.isActive, present.customUserID == id, let token = present.token else {
                        continue
                    }
                    try await body(present, token, platform)
                }
            }
        }
    }
}

/// The beginning of an id; case matters.
package struct IDPrefix: Sendable, Hashable {
    package let text: String

    package init(_ text: String) { self.text = text.normalized }

    /// A text above all ids with the prefix, in the order of bytes. The last code point is not a character, so no id has it.
    package var end: String { text + "\u{10FFFF}" }

    /// The start of a scan for ids after `id`; it may be `id` itself.
    package func start(after id: String?) -> String {
        guard let id, text.utf8.lexicographicallyPrecedes(id.utf8) else { return text }
        return id
    }
}

/// A user in a list, and the user's position in it.
package struct FoundUser: Sendable, Hashable {
    package let key: Key<User>
    package let user: User
}
