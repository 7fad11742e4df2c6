package import BelfryCore
import GRDB

extension SQLiteStore: DirectoryStore {
    package func devices(_ search: DeviceSearch, skip: Int, limit: Int) async throws -> Listing<Device> {
        try await look(search, isShort: search.topic == nil) { desk in try desk.stretch(skip: skip, limit: limit) }
    }

    package func devices(_ search: DeviceSearch, after: Key<Device>?, limit: Int) async throws -> [Device] {
        try await look(search, isShort: true) { desk in try desk.behind(after, limit: limit) }
    }

    package func deviceCount(_ search: DeviceSearch) async throws -> Int {
        try await look(search, isShort: search.topic == nil) { desk in try desk.count() }
    }

    package func customUserIDs(
        on platforms: [Key<Platform>], containing text: String?, after id: String?, limit: Int
    ) async throws -> [String] {
        var application: Key<Application>?
        if let first = platforms.first { application = try await platform(first)?.applicationKey }
        return try await librarian.search(for: application) { db, _ in
            let statement = try db.prepared(CustomUserStatements.behind)
            let ids = try platforms.flatMap { try statement.all($0, id ?? "", text, limit) { $0.text(0) } }
            let inOrder = Set(ids).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            return Array(inOrder.prefix(limit))
        }
    }

    /// Looks for devices on the librarian's connections, unless it is a few steps along an index.
    ///
    /// - Parameter isShort: whether that is so when no text is looked for.
    private func look<Value: Sendable>(
        _ search: DeviceSearch, isShort: Bool, _ body: @Sendable @escaping (FrontDesk) throws -> Value
    ) async throws -> Value {
        var platforms: [Platform] = []
        for key in search.platforms { if let platform = try await platform(key) { platforms.append(platform) } }
        let answer = {
            @Sendable [platforms, secrets, damagedRows, now = clock.now] (db: Database, budget: SearchBudget) in
            try body(
                FrontDesk(
                    db: db, search: search, platforms: platforms, naming: secrets.naming, now: now, budget: budget,
                    damaged: damagedRows))
        }
        guard search.text != nil || !isShort else { return try await pool.read(within: SearchBudget(), answer) }
        return try await librarian.search(for: platforms.first?.applicationKey, answer)
    }
}

/// Answers a search from one snapshot.
private struct FrontDesk {
    let db: Database
    let search: DeviceSearch
    let platforms: [Platform]
    let naming: DeviceNaming
    let now: Instant
    let budget: SearchBudget
    let damaged: DamagedRows

    func stretch(skip: Int, limit: Int) throws -> Listing<Device> {
        if let text = try textSearch() {
            var found: [Key<Device>] = []
            var total = 0
            try text.each(after: nil) { device in
                if total >= skip, found.count < limit { found.append(device) }
                total += 1
                return true
            }
            return Listing(try devices(found), total: total)
        }
        let total = try count()
        guard limit > 0, skip < total else { return Listing([], total: total) }
        let start =
            search.topic == nil ? try DeviceCounts(db: db, platforms: platforms.map(\.key)).start(skipping: skip) : nil
        var run = try run(after: start?.device)
        try run.skip(skip - (start?.skipped ?? 0), within: budget)
        return Listing(try devices(run.next(limit)), total: total)
    }

    func behind(_ after: Key<Device>?, limit: Int) throws -> [Device] {
        try DamagedRows.stretch(of: limit, after: after) { last, limit in try rows(keys(behind: last, limit: limit)) }
    }

    private func keys(behind after: Key<Device>?, limit: Int) throws -> [Key<Device>] {
        guard let text = try textSearch() else {
            var run = try run(after: after)
            return try run.next(limit)
        }
        var found: [Key<Device>] = []
        guard limit > 0 else { return [] }
        try text.each(after: after) { device in
            found.append(device)
            return found.count < limit
        }
        return found
    }

    func count() throws -> Int {
        if let text = try textSearch() {
            var total = 0
            try text.each(after: nil) { _ in
                total += 1
                return true
            }
            return total
        }
        guard let topic = search.topic else { return try DeviceCounts(db: db, platforms: platforms.map(\.key)).total() }
        return try platforms.reduce(0) { try $0 + postings(of: $1).count(ofTopic: topic) }
    }

    private func run(after: Key<Device>?) throws -> DeviceRun {
        let list = search.topic.map { PostingList.topic($0) } ?? .registered
        return try DeviceRun(list, on: platforms, after: after, now: now, db)
    }

    /// nil when no text is looked for.
    private func textSearch() throws -> TextSearch? {
        guard let text = search.text else { return nil }
        var wanted = platforms
        var topicID: Int64?
        if let topic = search.topic {
            topicID = try platforms.first.flatMap { try postings(of: $0).topicID(topic) }
            if topicID == nil { wanted = [] }
        }
        return TextSearch(
            db: db, text: Array(text.utf8), naming: naming, platforms: wanted, topic: topicID, now: now, budget: budget)
    }

    private func postings(of platform: Platform) throws -> SQLitePostings {
        try SQLitePostings(db, platform: platform.key, application: platform.applicationKey, now: now)
    }

    private func devices(_ keys: [Key<Device>]) throws -> [Device] { try rows(keys).compactMap(\.value) }

    /// The devices of those that can be read, in the order of the keys.
    private func rows(_ keys: [Key<Device>]) throws -> [(position: Key<Device>?, value: Device?)] {
        let statement = try db.prepared(DirectoryStatements.byKey)
        return try keys.map { key in
            let found = try damaged.readable("device \(key)") {
                try statement.first(key) { row in
                    (device: try DeviceRow(row), platform: Key<Platform>(row.integer(11)))
                }
            }
            guard let found = found ?? nil else { return (key, nil) }
            let names = try db.topicNames(found.device.topics, at: now)
            return (key, found.device.device(on: found.platform, naming: naming, topicNames: names))
        }
    }
}

enum DirectoryStatements {
    static let byKey = """
        SELECT id, reach, registered_at_ms, token, topics, custom_user_id,
               os, os_version, model, manufacturer, alias, platform_id /* directory.by_key */
          FROM device
         WHERE id = ?1
        """
}

enum CustomUserStatements {
    /// Walks `device_custom_user`.
    static let behind = """
        SELECT DISTINCT custom_user_id /* custom_users.behind */ FROM device
         WHERE platform_id = ?1 AND custom_user_id > ?2 AND reach > 0 AND (?3 IS NULL OR instr(custom_user_id, ?3) > 0)
         ORDER BY custom_user_id
         LIMIT ?4
        """
}
