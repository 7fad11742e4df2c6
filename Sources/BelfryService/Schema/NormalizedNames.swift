/// Brings the names that older versions stored into their normal forms, and merges rows that have the same name then.
///
/// Names in ASCII were in that form already, but for blanks around them: only rows with other names are read. Its statements name the
/// columns that existed then: a column of a later version is added after it ran.
enum NormalizedNames: SchemaMigration {
    static let identifier = "0005 normalized names"

    static func run(in db: some SQLConnection) throws {
        let names = NameMigration(db: db)
        try names.mendTopics()
        try names.mendDevices()
        try names.mendUsers()
        try names.mendAccounts()
        try names.mendAudiences()
        try names.mendPlaces()
        for column in NameStatements.columns { try names.mend(column) }
    }
}

/// Names of versions that kept the blanks around them. What a version before it writes meanwhile is a name of its own, as it was there.
enum NamesWithoutBlanks: SchemaMigration {
    static let identifier = "0009 names without blanks \(SchemaVersion.additiveMark)"

    static func run(in db: some SQLConnection) throws { try NormalizedNames.run(in: db) }
}

private struct NameMigration<Connection: SQLConnection> {
    let db: Connection

    /// How many rows are in memory at a time.
    private static var pageSize: Int { 1_000 }
    /// How many subscriptions are in memory before they are written.
    private static var gainedMax: Int { 10_000 }

    /// Calls `body` with each row that a statement finds, in the order of its first column, the id.
    private func eachRow<Row>(
        _ sql: SQLText, as convert: (Connection.Statement.Row) throws -> Row, do body: (Int64, Row) throws -> Void
    ) throws {
        var last: Int64 = 0
        while true {
            let rows = try db.prepared(sql).all(last, Self.pageSize) { (id: $0.integer(0), row: try convert($0)) }
            for each in rows { try body(each.id, each.row) }
            guard rows.count == Self.pageSize, let end = rows.last?.id else { return }
            last = end
        }
    }

    // MARK: Topics

    /// Renames topics. Where another has the name already, its devices are subscribed to that one, which stays for as long as either
    /// would have stayed.
    func mendTopics() throws {
        let now = Instant(milliseconds: try db.prepared(NameStatements.now).number() ?? 0)
        var merged: [Int64: Int64] = [:]
        try eachRow(NameStatements.topics, as: { (Self.topic($0), Key<Application>($0.integer(3))) }) { id, row in
            let (topic, application) = row
            let name = topic.name.mended.caseFolded
            // An expired topic is about to be deleted: no device is subscribed to it.
            guard !name.hasBytes(of: topic.name), topic.isLiving(at: now) else { return }
            let other = try db.prepared(NameStatements.topicNamed).first(application, name, as: Self.topic)
            guard let other, other.isLiving(at: now) else {
                if let other { try delete(other.key.rawValue) }
                try db.prepared(NameStatements.renameTopic).run(name, id)
                return
            }
            merged[id] = other.key.rawValue
            try delete(id)
            let expiresAt = topic.expiresAt.flatMap { mine in other.expiresAt.map { max($0, mine) } }
            try db.prepared(TopicListStatements.setExpiry).run(expiresAt, other.key)
        }
        // Nodes of an older version remember topics until one is deleted.
        try db.prepared(NameStatements.forgetTopics).run()
        if !merged.isEmpty { try moveSubscriptions(merged) }
    }

    /// A topic as it was when the migration was made: columns of later versions are not there yet.
    private static func topic(_ row: some SQLRow) -> Topic {
        Topic(key: Key(row.integer(0)), name: row.text(1), expiresAt: row.instantIfAny(2))
    }

    private func delete(_ topic: Int64) throws {
        try db.prepared(TopicDeletionStatements.delete).run(topic, Instant?.none)
        try db.prepared(TopicDeletionStatements.note).run(topic)
    }

    /// - Parameter merged: for the id of each topic that is gone, the one that has its devices.
    private func moveSubscriptions(_ merged: [Int64: Int64]) throws {
        let mark = try db.postingMark()
        var (gained, count) = ([SubscriptionList: [Int64]](), 0)
        try eachRow(
            NameStatements.subscribers,
            as: { row in
                (
                    platform: Key<Platform>(row.integer(1)), isActive: row.integer(2) > 0,
                    // A damaged row is reported where the device is read.
                    topics: row.withBlob(3) { TopicList.readable($0) }
                )
            }
        ) { device, row in
            guard row.topics.contains(where: { merged[$0] != nil }) else { return }
            let topics = Set(row.topics.map { merged[$0] ?? $0 })
            try db.prepared(SubscriberStatements.setTopics).run(TopicList.encode(topics.sorted()), device)
            guard row.isActive else { return }
            for topic in topics.subtracting(row.topics) {
                let list = SubscriptionList(topic: topic, platform: row.platform)
                // Devices past it are read from their rows, and merged later.
                guard device <= mark.last(of: list) else { continue }
                gained[list, default: []].append(device)
                count += 1
            }
            guard count >= Self.gainedMax else { return }
            try flush(gained)
            (gained, count) = ([:], 0)
        }
        try flush(gained)
    }

    private func flush(_ gained: [SubscriptionList: [Int64]]) throws {
        for (list, devices) in gained.sorted(by: { $0.key < $1.key }) { try db.add(devices, to: list) }
    }

    // MARK: Users and their devices

    func mendDevices() throws {
        try eachRow(NameStatements.devices, as: { ($0.textIfAny(1), $0.textIfAny(2)) }) { device, names in
            let changes = [names.0, names.1].compactMap { $0 }.filter {
                !$0.mended.hasBytes(of: $0) || $0.foldsAnew
            }
            guard !changes.isEmpty else { return }
            try db.prepared(NameStatements.setDevice).run(names.0?.mended, names.1?.mended, device)
            try db.prepared(NameStatements.noteStale).run(device)
        }
    }

    /// Renames users. Of two that have one id then, the one that was changed last wins where both have a value.
    func mendUsers() throws {
        // A row that a merge wrote differs from the one that was read.
        var merged: Set<Int64> = []
        try eachRow(
            NameStatements.users,
            as: { (user: try? User($0), application: Key<Application>($0.integer(7)), attributes: $0.text(4)) }
        ) { key, row in
            // A damaged profile is reported where the user is read.
            guard let user = row.user, !merged.contains(key) else { return }
            let id = user.id.mended
            let other = try db.prepared(NameStatements.userNamed).first(row.application, id) {
                ($0.integer(0), try? User($0))
            }
            guard let other, other.0 != key else {
                let attributes = String(decoding: user.profile.attributes.json.encoded, as: UTF8.self)
                guard id.hasBytes(of: user.id), attributes.hasBytes(of: row.attributes), !attributes.foldsAnew else {
                    return try write(user, as: id, key, row.application)
                }
                return
            }
            guard let twin = other.1 else { return }
            try db.prepared(UserStatements.clearAttributes).run(key)
            try db.prepared(NameStatements.deleteUser).run(key)
            try write(try user.merged(with: twin), as: id, other.0, row.application)
            merged.insert(other.0)
        }
    }

    private func write(_ user: User, as id: String, _ key: Int64, _ application: Key<Application>) throws {
        let (profile, attributes) = (user.profile, user.profile.attributes)
        try db.prepared(NameStatements.setUser).run(
            id, profile.language, profile.timeZone, String(decoding: attributes.json.encoded, as: UTF8.self),
            user.createdAt, user.updatedAt, key)
        try db.prepared(UserStatements.clearAttributes).run(key)
        try db.index(attributes, of: key, in: application)
    }

    /// Softphones' accounts. Of two that are one then, the one that was seen last stays.
    func mendAccounts() throws {
        try eachRow(
            NameStatements.accounts,
            as: { (application: $0.integer(1), selector: $0.text(2), appID: $0.text(3), account: $0.textIfAny(4)) }
        ) { key, row in
            let selector = row.selector.mended
            try db.prepared(NameStatements.deleteOlderAccounts).run(row.application, selector, row.appID, key)
            if try db.prepared(NameStatements.hasNewerAccount).hasRow(row.application, selector, row.appID, key) {
                try db.prepared(NameStatements.deleteAccount).run(key)
            } else {
                try db.prepared(NameStatements.setAccount).run(selector, row.account?.mended, key)
            }
        }
    }

    // MARK: What names them

    func mendAudiences() throws {
        try eachRow(NameStatements.audiences, as: { $0.blob(1) }) { push, stored in
            // A damaged row is reported where it is read.
            guard let text = try? Audience(stored: stored).normalized.storedText, !text.hasBytes(of: stored) else {
                return
            }
            try db.prepared(NameStatements.setAudience).run(text, push)
        }
        try eachRow(NameStatements.targets, as: { $0.blob(1) }) { schedule, stored in
            guard let text = try? Target(stored: stored).normalized.storedText, !text.hasBytes(of: stored) else {
                return
            }
            try db.prepared(NameStatements.setTarget).run(text, schedule)
        }
    }

    func mendPlaces() throws {
        try eachRow(NameStatements.tags, as: { $0.blob(1) }) { geofence, stored in
            guard let tags = try? [String](storedTags: stored) else { return }
            let text = JSONValue.strings(tags.map(\.mended.lowerCase).withoutRepeats).storedText
            guard !text.hasBytes(of: stored) else { return }
            try db.prepared(NameStatements.setTags).run(text, geofence)
        }
        try eachRow(NameStatements.locations, as: { $0.text(1).normalized }) { location, name in
            try db.prepared(NameStatements.setLocation).run(name, name.caseFolded, location)
        }
        try eachRow(NameStatements.groups, as: { ($0.text(1).normalized, $0.text(2).normalized) }) { group, texts in
            let (name, summary) = texts
            try db.prepared(NameStatements.setGroup).run(name, summary, "\(name)\n\(summary)".caseFolded, group)
        }
    }

    func mend(_ column: NameStatements.Column) throws {
        try eachRow(column.rows, as: { $0.text(1) }) { row, name in
            let normalized = column.isLowerCase ? name.lowerCase : column.isOfPeople ? name.mended : name.normalized
            if !normalized.hasBytes(of: name) { try db.prepared(column.set).run(normalized, row) }
        }
    }
}

extension String {
    /// The text as a name. One of blanks alone, which is no valid name any more, stays.
    fileprivate var mended: String {
        let name = asName
        return name.isEmpty ? normalized : name
    }

    /// Compares by bytes, as databases do: `==` takes two spellings of one text for one.
    fileprivate func hasBytes(of other: String) -> Bool { hasBytes(of: other.utf8) }

    fileprivate func hasBytes(of other: some Sequence<UInt8>) -> Bool { utf8.elementsEqual(other) }

    /// Whether its case is folded otherwise now than in older versions, which search indexes have to follow.
    fileprivate var foldsAnew: Bool { !caseFolded.hasBytes(of: lowercased()) }
}

extension User {
    fileprivate func merged(with other: User) throws -> User {
        let (newer, older) = (updatedAt ?? .zero) > (other.updatedAt ?? .zero) ? (self, other) : (other, self)
        // Together they may say more than a user can.
        let profile = (try? newer.profile.filled(from: older.profile)) ?? newer.profile
        return User(
            id: id, profile: profile, createdAt: min(createdAt ?? .zero, other.createdAt ?? .zero),
            updatedAt: newer.updatedAt)
    }
}

enum NameStatements {
    static let now: SQLText = """
        SELECT \(sqlite: "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
            postgres: "(extract(epoch FROM now()) * 1000)::bigint") /* names.now */
        """

    static let topics: SQLText = """
        SELECT id, name, expires_at_ms, application_id /* names.topics */ FROM topic
         WHERE id > $1 AND \(unmended: "name")
         ORDER BY id
         LIMIT $2
        """

    static let topicNamed: SQLText = """
        SELECT id, name, expires_at_ms /* names.topic */ FROM topic WHERE application_id = $1 AND name = $2
        """

    static let renameTopic: SQLText = "UPDATE topic /* names.rename_topic */ SET name = $1 WHERE id = $2"

    static let forgetTopics: SQLText = """
        \(sqlite: "DELETE FROM topic /* names.forget_topics */ WHERE false",
            postgres: PostgresTopicDeletionStatements.countOn)
        """

    static let subscribers: SQLText = """
        SELECT id, platform_id, reach, topics /* names.subscribers */ FROM device WHERE id > $1 ORDER BY id LIMIT $2
        """

    static let devices: SQLText = """
        SELECT id, custom_user_id, alias /* names.devices */ FROM device
         WHERE id > $1 AND (\(unmended: "custom_user_id") OR \(unmended: "alias"))
         ORDER BY id
         LIMIT $2
        """

    static let setDevice: SQLText = """
        UPDATE device /* names.set_device */ SET custom_user_id = $1, alias = $2 WHERE id = $3
        """

    static let noteStale: SQLText = """
        INSERT INTO search_index_stale /* names.note_stale */ (device_id) VALUES ($1)
            ON CONFLICT (device_id) DO UPDATE SET changes = search_index_stale.changes + 1
        """

    static let users: SQLText = """
        SELECT id, public_id, language, time_zone, attributes, created_at_ms, updated_at_ms, application_id /* names.users */
          FROM app_user
         WHERE id > $1 AND (\(unmended: "public_id") OR \(unmended: "attributes"))
         ORDER BY id
         LIMIT $2
        """

    static let userNamed: SQLText = """
        SELECT id, public_id, language, time_zone, attributes, created_at_ms, updated_at_ms /* names.user */
          FROM app_user
         WHERE application_id = $1 AND public_id = $2
        """

    static let setUser: SQLText = """
        UPDATE app_user /* names.set_user */
           SET public_id = $1, language = $2, time_zone = $3, attributes = $4, created_at_ms = $5, updated_at_ms = $6
         WHERE id = $7
        """

    static let deleteUser: SQLText = "DELETE FROM app_user /* names.delete_user */ WHERE id = $1"

    static let accounts: SQLText = """
        SELECT id, application_id, selector, app_id, account /* names.accounts */ FROM acrobits_registration
         WHERE id > $1 AND (\(unmended: "selector") OR \(unmended: "account"))
         ORDER BY id
         LIMIT $2
        """

    /// Deletes accounts with the account's normal name that were not seen later than it.
    static let deleteOlderAccounts: SQLText = """
        DELETE FROM acrobits_registration /* names.delete_older_accounts */
         WHERE application_id = $1 AND selector = $2 AND app_id = $3 AND id <> $4
           AND seen_at_ms <= (SELECT seen_at_ms FROM acrobits_registration WHERE id = $4)
        """

    static let hasNewerAccount: SQLText = """
        SELECT 1 /* names.has_newer_account */ FROM acrobits_registration
         WHERE application_id = $1 AND selector = $2 AND app_id = $3 AND id <> $4
        """

    static let deleteAccount: SQLText = "DELETE FROM acrobits_registration /* names.delete_account */ WHERE id = $1"

    static let setAccount: SQLText = """
        UPDATE acrobits_registration /* names.set_account */ SET selector = $1, account = $2 WHERE id = $3
        """

    static let audiences = rows("names.audiences", of: "push", "audience", "audience")
    static let setAudience: SQLText = "UPDATE push /* names.set_audience */ SET audience = $1 WHERE id = $2"

    static let targets = rows("names.targets", of: "schedule", "target", "target")
    static let setTarget: SQLText = "UPDATE schedule /* names.set_target */ SET target = $1 WHERE id = $2"

    static let tags = rows("names.tags", of: "geofence", "tags", "tags")
    static let setTags: SQLText = "UPDATE geofence /* names.set_tags */ SET tags = $1 WHERE id = $2"

    static let locations = rows("names.locations", of: "location", "name", "name")
    static let setLocation: SQLText =
        "UPDATE location /* names.set_location */ SET name = $1, search = $2 WHERE id = $3"

    static let groups = rows("names.groups", of: "location_group", "name, summary", "search")
    static let setGroup: SQLText = """
        UPDATE location_group /* names.set_group */ SET name = $1, summary = $2, search = $3 WHERE id = $4
        """

    /// The rows after `$1` in whose text something is not ASCII.
    private static func rows(_ name: String, of table: String, _ columns: String, _ text: String) -> SQLText {
        """
        SELECT id, \(columns) /* \(name) */ FROM \(table) WHERE id > $1 AND \(unmended: text) ORDER BY id LIMIT $2
        """
    }

    /// A name that nothing else has to agree with.
    struct Column: Sendable {
        let rows: SQLText
        let set: SQLText
        let isLowerCase: Bool
        /// Whether it names users.
        let isOfPeople: Bool

        /// - Parameter unique: what tells rows of the same name apart; nil where names need not be unique. A row whose name another
        ///   has then keeps its own: people have to say which of them stays.
        fileprivate init(_ table: String, _ column: String, isLowerCase: Bool = false, unique: String? = nil) {
            rows = NameStatements.rows("names.\(table).\(column)", of: table, column, column)
            let condition = unique.map {
                "AND NOT EXISTS (SELECT 1 FROM \(table) AS other WHERE other.\(column) = $1 AND \($0))"
            }
            set =
                "UPDATE \(table) /* names.set.\(table).\(column) */ SET \(column) = $1 WHERE id = $2 \(condition ?? "")"
            self.isLowerCase = isLowerCase
            isOfPeople = column == "contact"
        }
    }

    static let columns = [
        Column("application", "name"), Column("tenant", "name"), Column("platform", "name"),
        Column("admin_key", "name"),
        Column("person", "name"), Column("person", "email", isLowerCase: true, unique: "true"),
        Column("invitation", "email", isLowerCase: true), Column("carma_device", "contact"),
        Column("carma_message", "contact"),
        Column("carma_account", "user_name", unique: "other.customer_id = carma_account.customer_id"),
        Column("carma_app", "app_id", unique: "other.customer_id = carma_app.customer_id"),
    ]
}

extension SQLText.StringInterpolation {
    /// Whether a text has more bytes than characters, or blanks around it or around a text in it.
    fileprivate mutating func appendInterpolation(unmended column: String) {
        appendInterpolation("(\(bytesOf: column) <> length(\(column)) OR \(column) <> " as SQLText)
        appendInterpolation(
            sqlite: "trim(\(column), char(9, 10, 11, 12, 13, 32))", postgres: "btrim(\(column), E'\\t\\n\\x0B\\f\\r ')")
        appendInterpolation(" OR \(column) LIKE '% \"%' OR \(column) LIKE '%\" %' OR \(column) LIKE '%: %')" as SQLText)
    }
}
