package import BelfryService

extension MemoryStore {
    package func user(_ id: String, of application: Key<Application>) async throws -> User? {
        contents.users[Contents.UserPlace(application: application, id: id)]
    }

    package func users(
        of application: Key<Application>, beginning prefix: IDPrefix, after id: String?, limit: Int
    ) async throws -> [User] {
        let all = try await users(of: application, containing: nil, after: id, limit: .max)
        return Array(all.filter { $0.id.utf8.starts(with: prefix.text.utf8) }.prefix(limit))
    }

    package func users(
        of application: Key<Application>, containing text: String?, after id: String?, limit: Int
    ) async throws -> [User] {
        let all = contents.users.filter { $0.key.application == application }.values
            .sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
        let found = all.filter { user in
            (id.map { $0.utf8.lexicographicallyPrecedes(user.id.utf8) } ?? true)
                && (text.map { user.id.contains($0) } ?? true)
        }
        return Array(found.prefix(limit))
    }

    package func users(
        of application: Key<Application>, after: Key<User>?, limit: Int
    ) async throws -> [FoundUser]? {
        let all = placedUsers(of: application).sorted { $0.user.id.utf8.lexicographicallyPrecedes($1.user.id.utf8) }
        guard let after else { return Array(all.prefix(limit)) }
        guard let place = all.firstIndex(where: { $0.key == after }) else { return nil }
        return Array(all.dropFirst(place + 1).prefix(limit))
    }

    /// The position among all users stands for the key.
    private func placedUsers(of application: Key<Application>) -> [FoundUser] {
        contents.users.filter { $0.key.application == application }.values
            .sorted { ($0.createdAt ?? .zero, $0.id) < ($1.createdAt ?? .zero, $1.id) }
            .enumerated().map { FoundUser(key: Key(Int64($0) + 1), user: $1) }
    }

    package func users(
        of application: Key<Application>, having name: String, _ value: UserAttribute, after: Key<User>?, limit: Int
    ) async throws -> [FoundUser] {
        let found = placedUsers(of: application)
            .filter { $0.user.profile.attributes[name]?.indexed == value.indexed && $0.key > after ?? Key(0) }
        return Array(found.prefix(limit))
    }

    package func setUser(
        _ id: String, of application: Key<Application>,
        change: @escaping @Sendable (UserProfile) throws -> UserProfile
    ) async throws -> User {
        let now = clock.now
        return try transaction { contents in
            guard contents.applications[application] != nil else { throw StoreError.unknown("application") }
            let place = Contents.UserPlace(application: application, id: id)
            let old = contents.users[place]
            if old == nil { try contents.check(quotas, .users, of: application) }
            let profile = try change(old?.profile ?? UserProfile())
            let user = User(id: id, profile: profile, createdAt: old?.createdAt ?? now, updatedAt: now)
            contents.users[place] = user
            return user
        }
    }

    package func deleteUser(_ id: String, of application: Key<Application>) async throws -> Bool {
        transaction { $0.users.removeValue(forKey: Contents.UserPlace(application: application, id: id)) != nil }
    }

    package func devices(ofUser id: String, on platforms: [Key<Platform>], limit: Int) async throws -> [Device] {
        let found = contents.devices.values.filter {
            $0.customUserID == id && $0.isActive && platforms.contains($0.platformKey)
        }
        return Array(found.sorted { $0.key < $1.key }.prefix(limit))
    }

    package func forgetUser(of devices: [Key<Device>]) async throws {
        transaction { contents in
            for key in devices {
                guard let device = contents.devices[key], !device.isActive else { continue }
                contents.devices[key] = device.forgotten
                contents.deviceDetails[key] = contents.deviceDetails[key].map {
                    DeviceDetail(badge: $0.badge, spelling: $0.spelling)
                }
            }
        }
    }
}

extension Device {
    fileprivate var forgotten: Device {
        var about = about
        about.alias = nil
        return Device(
            key: key, uuid: uuid, platformKey: platformKey, token: token, isActive: isActive, about: about,
            customUserID: nil, topics: topics, registeredAt: registeredAt, importMark: importMark, ownUUID: ownUUID)
    }
}
