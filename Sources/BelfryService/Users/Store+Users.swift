import FoundationEssentials

extension Store {
    package func user(_ id: String, of application: Key<Application>) async throws -> User? {
        try await readCommitted { try $0.prepared(UserStatements.byID).first(application, id, as: User.init) }
    }

    /// The next users after an id, in the order of the bytes of their ids.
    ///
    /// - Parameter text: a part of the id; case matters.
    package func users(
        of application: Key<Application>, containing text: String?, after id: String?, limit: Int
    ) async throws -> [User] {
        try await search(for: application, isShort: text == nil) { [damagedRows] db, _ in
            try DamagedRows.slice(of: limit, after: id ?? "") { last, limit in
                try db.prepared(UserStatements.behind).all(application, last, text ?? "", limit) { row in
                    (row.text(1), try damagedRows.readable("user \(row.integer(0))") { try User(row) })
                }
            }
        }
    }

    /// The next users after an id whose ids have a prefix, in the order of their bytes. It walks an index: other users cost nothing.
    package func users(
        of application: Key<Application>, beginning prefix: IDPrefix, after id: String?, limit: Int
    ) async throws -> [User] {
        try await search(for: application, isShort: true) { [damagedRows] db, _ in
            try DamagedRows.slice(of: limit, after: id ?? "") { last, limit in
                // The first may be the last one of before.
                try db.prepared(UserStatements.beginning)
                    .all(application, prefix.start(after: last), prefix.end, limit + 1) { row in
                        (row.text(1), try damagedRows.readable("user \(row.integer(0))") { try User(row) })
                    }.filter { $0.0 != last }.prefix(limit).map { $0 }
            }
        }
    }

    /// The next users behind one, in the order of the bytes of their ids; nil where there is no such user.
    package func users(
        of application: Key<Application>, after: Key<User>?, limit: Int
    ) async throws -> [FoundUser]? {
        try await search(for: application, isShort: true) { [damagedRows] db, _ in
            var first = ""
            if let after {
                guard let id = try db.prepared(UserStatements.idOf).first(after, application, as: { $0.text(0) }) else {
                    return nil
                }
                first = id
            }
            return try DamagedRows.slice(of: limit, after: first) { last, limit in
                try db.prepared(UserStatements.behind).all(application, last, "", limit) { row in
                    let key = Key<User>(row.integer(0))
                    let found = try damagedRows.readable("user \(key)") { FoundUser(key: key, user: try User(row)) }
                    return (row.text(1), found)
                }
            }
        }
    }

    /// The next users, behind one, whose attribute has this value and type, in the order in which they were made. It walks an index: other
    /// users cost nothing.
    package func users(
        of application: Key<Application>, having name: String, _ value: UserAttribute, after: Key<User>?, limit: Int
    ) async throws -> [FoundUser] {
        let value = value.indexed
        return try await search(for: application, isShort: true) { [damagedRows] db, _ in
            try DamagedRows.slice(of: limit, after: after ?? Key(0)) { last, limit in
                try db.prepared(UserStatements.having).all(application, name, value, last, limit) { row in
                    let key = Key<User>(row.integer(0))
                    return (
                        key, try damagedRows.readable("user \(key)") { FoundUser(key: key, user: try User(row)) }
                    )
                }
            }
        }
    }

    /// Creates or changes the user in one transaction.
    ///
    /// - Parameters:
    ///   - end: leaves a user as it is that was changed then or later.
    ///   - change: gets the present profile, empty for a new user.
    package func setUser(
        _ id: String, of application: Key<Application>, changedBefore end: Instant = .distantFuture,
        change: @escaping @Sendable (UserProfile) throws -> UserProfile
    ) async throws -> User {
        try await write { try $0.setUser(id, of: application, changedBefore: end, change: change) }
    }

    /// Returns false when there is none.
    package func deleteUser(_ id: String, of application: Key<Application>) async throws -> Bool {
        try await write { try $0.deleteUser(id, of: application) }
    }

    /// Deletes a user, and gives another the parts of its profile that it lacks, and what Carma keeps of it.
    func mergeUser(_ id: String, into other: String, of application: Key<Application>) async throws -> User {
        try await write { session in
            // In one order, since they may be merged the other way at the same time.
            let held = try [id, other].sorted().compactMap { try session.heldUser($0, of: application)?.user }
            let profile = held.first { $0.id == id }?.profile ?? UserProfile()
            let merged = try session.setUser(other, of: application) { try $0.filled(from: profile) }
            _ = try session.deleteUser(id, of: application)
            try session.moveCarmaContact(id, to: other, of: application)
            return merged
        }
    }

    /// Throws where the devices of two users are more than one may have on a platform.
    func checkDevices(of id: String, movingTo other: String, on platforms: [Key<Platform>]) async throws {
        let quotas = quotaCounts.quotas
        guard let limit = quotas[.userDevices] else { return }
        try await readCommitted { db in
            for platform in platforms {
                let counts = try db.deviceCounts(ofUsers: [id, other], on: platform, atMost: limit)
                try quotas.check(.userDevices, use: counts[other] ?? 0, adding: counts[id] ?? 0)
            }
        }
    }

    /// The active devices of a user, at most `limit`.
    package func devices(ofUser id: String, on platforms: [Key<Platform>], limit: Int) async throws -> [Device] {
        let now = clock.now
        return try await readCommitted { [secrets, damagedRows] db in
            let placed = try db.devices(ofUsers: [id], on: platforms, atMost: limit)
            let keys = placed.values.flatMap(\.self).sorted().prefix(limit)
            return try db.prepared(DirectoryStatements.byKeys).all(SQLKeys(keys)) { row in
                try damagedRows.readable("device \(row.integer(0))") { try DeviceRow(row) }
            }.compactMap(\.self).map { row in
                row.device(naming: secrets.naming, topicNames: try db.topicNames(row.topics, at: now))
            }
        }
    }

    /// Removes from inactive devices what tells of their user: the id, alias, language, time zone, topics and attributes.
    package func forgetUser(of devices: [Key<Device>]) async throws {
        try await write { session in
            let keys = SQLKeys(devices)
            try session.prepared(UserStatements.noteStale).send(keys)
            // An inactive device is in no list.
            try session.prepared(UserStatements.forget).send(keys, TopicList.encode([]))
            try session.prepared(UserStatements.forgetDetails).send(keys)
        }
    }
}

extension WriteSession {
    func setUser(
        _ id: String, of application: Key<Application>, changedBefore end: Instant = .distantFuture,
        change: (UserProfile) throws -> UserProfile
    ) throws -> User {
        try check(application)
        var (held, isNew) = (try heldUser(id, of: application), false)
        if held == nil {
            try check(.users, of: application)
            // Another transaction may have made the user meanwhile.
            isNew = try prepared(UserStatements.create).hasRow(application, id, now)
            held = try heldUser(id, of: application)
        }
        guard let (key, old) = held else { throw StoreError.unavailable("user '\(id)' was deleted meanwhile") }
        if !isNew, let changedAt = old.updatedAt, changedAt >= end { return old }
        let profile = try change(old.profile)
        let attributes = String(decoding: profile.attributes.json.encoded, as: UTF8.self)
        try prepared(UserStatements.set).send(profile.language, profile.timeZone, attributes, now, key)
        if profile.attributes != old.profile.attributes {
            try index(profile.attributes, of: key, isNew: isNew, in: application)
        }
        if isNew { note(1, .users, of: application) }
        if isNew || profile != old.profile { try tell(isNew ? .userCreated : .userChanged, user: id, of: application) }
        return User(id: id, profile: profile, createdAt: old.createdAt, updatedAt: now)
    }

    /// Returns false when there is none.
    fileprivate func deleteUser(_ id: String, of application: Key<Application>) throws -> Bool {
        guard try prepared(UserStatements.delete).run(application, id) > 0 else { return false }
        note(-1, .users, of: application)
        try tell(.userDeleted, user: id, of: application)
        return true
    }

    /// The user, whom no other transaction changes until this one ends.
    fileprivate func heldUser(_ id: String, of application: Key<Application>) throws -> (key: Int64, user: User)? {
        try prepared(UserStatements.held).first(application, id) { (key: $0.integer(0), user: try User($0)) }
    }

    fileprivate func index(
        _ attributes: [String: UserAttribute], of user: Int64, isNew: Bool, in application: Key<Application>
    ) throws {
        if !isNew { try prepared(UserStatements.clearAttributes).send(user) }
        try db.index(attributes, of: user, in: application)
    }
}

extension SQLConnection {
    /// Writes the attributes by which a user is found, who has none there.
    func index(_ attributes: [String: UserAttribute], of user: Int64, in application: Key<Application>) throws {
        guard !attributes.isEmpty else { return }
        let sorted = attributes.sorted { $0.key < $1.key }
        try prepared(UserStatements.insertAttributes).sendEach(
            sorted.map { _ in application }, sorted.map { _ in user }, sorted.map(\.key),
            sorted.map(\.value.indexed))
    }
}

extension User {
    /// From the columns of `UserStatements.byID` and `behind`.
    init(_ row: some SQLRow) throws {
        let attributes = try StoreError.reading("user \(row.integer(0))") {
            guard case .object(let members) = try JSONValue(json: row.text(4).utf8) else {
                throw InvalidInput(field: "attributes", "is no object")
            }
            return try [String: UserAttribute](json: members)
        }
        self.init(
            id: row.text(1),
            profile: UserProfile(stored: row.textIfAny(2), timeZone: row.textIfAny(3), attributes: attributes),
            createdAt: Instant(milliseconds: row.integer(5)), updatedAt: Instant(milliseconds: row.integer(6)))
    }
}

enum UserStatements {
    static let byID = select("by_id", where: "public_id = $2")
    static let held = select("held", where: "public_id = $2 \(SQLText.forNoKeyUpdate)")
    static let behind = select(
        "behind",
        where: "public_id > $2 AND ($3 = '' OR \(SQLText.position)(public_id, $3) > 0) ORDER BY public_id LIMIT $4")
    static let beginning = select(
        "beginning", where: "public_id >= $2 AND public_id < $3 ORDER BY public_id LIMIT $4")

    /// Scans `app_user_public`.
    private static func select(_ name: String, where condition: SQLText) -> SQLText {
        """
        SELECT id, public_id, language, time_zone, attributes, created_at_ms, updated_at_ms /* users.\(name) */
          FROM app_user
         WHERE application_id = $1 AND \(condition)
        """
    }

    static let idOf: SQLText = """
        SELECT public_id /* users.id_of */ FROM app_user WHERE id = $1 AND application_id = $2
        """

    static let create: SQLText = """
        INSERT INTO app_user /* users.create */ (application_id, public_id, attributes, created_at_ms, updated_at_ms)
        VALUES ($1, $2, '{}', $3, $3)
            ON CONFLICT (application_id, public_id) DO NOTHING
        RETURNING id
        """

    static let set: SQLText = """
        UPDATE app_user /* users.set */ SET language = $1, time_zone = $2, attributes = $3, updated_at_ms = $4
         WHERE id = $5
        """

    /// Scans `user_attribute_value`. PostgreSQL takes the inner statement by itself, since it ends in a limit.
    static let having: SQLText = """
        SELECT app_user.id, public_id, language, time_zone, attributes, created_at_ms, updated_at_ms /* users.having */
          FROM \(sqlite: "user_attribute CROSS JOIN app_user ON app_user.id = user_id",
            postgres: "(SELECT user_id FROM user_attribute")
         WHERE user_attribute.application_id = $1 AND name = $2 AND value = $3 AND user_id > $4
         ORDER BY user_id
         LIMIT $5
           \(postgres: ") AS found JOIN app_user ON app_user.id = user_id ORDER BY user_id")
        """

    static let clearAttributes: SQLText = """
        DELETE FROM user_attribute /* users.clear_attributes */ WHERE user_id = $1
        """

    static let insertAttributes: SQLText = """
        INSERT INTO user_attribute /* users.insert_attributes */ (application_id, user_id, name, value)
        \(sqlite: "VALUES ($1, $2, $3, $4)", postgres: "SELECT * FROM unnest($1, $2, $3, $4)")
        """

    static let delete: SQLText = """
        DELETE FROM app_user /* users.delete */ WHERE application_id = $1 AND public_id = $2
        """

    /// Marks devices as stale in the search index, which finds them by user id and alias; see `DeviceSearchIndex`.
    static let noteStale: SQLText = """
        INSERT INTO search_index_stale /* users.note_stale */ (device_id)
        SELECT id FROM device WHERE id \(among: "$1") AND reach = 0
            ON CONFLICT (device_id) DO UPDATE SET changes = search_index_stale.changes + 1
        """

    /// Clears the language and the time zone that devices reported for the person.
    static let forgetDetails: SQLText = """
        UPDATE device_detail /* users.forget_details */ SET language = NULL, time_zone = NULL
         WHERE (platform_id, device_id) IN (SELECT platform_id, id FROM device WHERE id \(among: "$1") AND reach = 0)
        """

    static let forget: SQLText = """
        UPDATE device /* users.forget */ SET custom_user_id = NULL, alias = NULL, topics = $2
         WHERE id \(among: "$1") AND reach = 0
        """
}
