import FoundationEssentials

extension Store {
    /// A page of the matching devices, and the number of all that match. A search for a text finds the newest first.
    ///
    /// - Parameter time: how long a text is searched for; what was found by then is a part. nil finds all, or fails.
    package func devices(
        _ search: DeviceSearch, skip: Int, limit: Int, within time: Duration? = nil
    ) async throws -> ListPage<Device> {
        try await look(search, isShort: search.topic == nil) { directory in
            try directory.slice(skip: skip, limit: limit, within: time)
        }
    }

    /// The next matching devices after a device, for readers of the whole list.
    package func devices(_ search: DeviceSearch, after: Key<Device>?, limit: Int) async throws -> [Device] {
        try await look(search, isShort: search.filter.isEmpty) { directory in try directory.behind(after, limit: limit)
        }
    }

    /// The number of matching devices.
    package func deviceCount(_ search: DeviceSearch) async throws -> Int {
        try await look(search, isShort: search.topic == nil) { directory in try directory.count() }
    }

    /// The next matching devices, for a caller who waits: without an index they are searched for this long at most, in one pass
    /// with their count. A search for a text finds the newest first.
    ///
    /// - Parameter isCounted: whether the first page has the count; otherwise the search ends when the page is full.
    package func devicePage(
        _ search: DeviceSearch, after: Key<Device>?, limit: Int, within time: Duration, isCounted: Bool = true
    ) async throws -> DevicePage {
        try await look(search, isShort: search.topic == nil && search.filter.isEmpty) { directory in
            try directory.page(
                after: after, limit: limit, within: time, isCounted: isCounted && after == nil)
        }
    }

    /// The next custom user ids of active devices after an id, each once, in the order of their bytes.
    ///
    /// - Parameter text: a part of the id; case matters.
    package func customUserIDs(
        on platforms: [Key<Platform>], containing text: String?, after id: String?, limit: Int
    ) async throws -> [String] {
        var application: Key<Application>?
        if let first = platforms.first { application = try await platform(first)?.applicationKey }
        return try await search(for: application) { db, _ in
            let statement = try db.prepared(CustomUserStatements.behind)
            let ids = try platforms.flatMap { try statement.all($0, id ?? "", text, limit) { $0.text(0) } }
            let inOrder = Set(ids).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            return Array(inOrder.prefix(limit))
        }
    }

    /// The next custom user ids with a prefix, by index.
    package func customUserIDs(
        on platforms: [Key<Platform>], beginning prefix: IDPrefix, after id: String?, limit: Int
    ) async throws -> [String] {
        var application: Key<Application>?
        if let first = platforms.first { application = try await platform(first)?.applicationKey }
        return try await search(for: application, isShort: true) { db, _ in
            let statement = try db.prepared(CustomUserStatements.beginning)
            // The first may be the last one of before.
            let ids = try platforms.flatMap { platform in
                try statement.all(platform, prefix.start(after: id), prefix.end, limit + 1) { $0.text(0) }
            }
            let inOrder = Set(ids).filter { $0 != id }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            return Array(inOrder.prefix(limit))
        }
    }

    /// - Parameter isShort: whether it takes only a few steps along an index when the search has no text.
    private func look<Value: Sendable>(
        _ search: DeviceSearch, isShort: Bool,
        _ body: @Sendable @escaping (DeviceDirectory<Session.Connection>) throws -> Value
    ) async throws -> Value {
        var platforms: [Platform] = []
        for key in search.platforms { if let platform = try await platform(key) { platforms.append(platform) } }
        return try await self.search(for: platforms.first?.applicationKey, isShort: isShort && search.text == nil) {
            [platforms, secrets, damagedRows, now = clock.now] db, budget in
            try body(
                DeviceDirectory(
                    db: db, search: search, platforms: platforms, secrets: secrets, now: now, budget: budget,
                    damaged: damagedRows))
        }
    }
}

/// Answers a search from one snapshot.
private struct DeviceDirectory<Connection: SQLConnection> {
    let db: Connection
    let search: DeviceSearch
    let platforms: [Platform]
    let secrets: Secrets
    let now: Instant
    let budget: SearchBudget
    let damaged: DamagedRows

    func slice(skip: Int, limit: Int, within time: Duration? = nil) throws -> ListPage<Device> {
        if let text = try textSearch() {
            var found: [Key<Device>] = []
            var (total, isPartial, wait) = (0, false, SearchPause(time))
            try text.each(before: nil) { device in
                if total >= skip, found.count < limit { found.append(device) }
                total += 1
                return true
            } pause: { _ in
                isPartial = wait.isOver()
                return isPartial
            }
            return ListPage(try devices(found), total: total, isPartial: isPartial)
        }
        let total = try count()
        guard limit > 0, skip < total else { return ListPage([], total: total) }
        let start = search.topic == nil ? try db.device(of: platforms.map(\.key), skipping: skip) : nil
        var run = run(after: start?.device)
        try run.skip(skip - (start?.skipped ?? 0), within: budget)
        return ListPage(try devices(run.next(limit)), total: total)
    }

    func behind(_ after: Key<Device>?, limit: Int) throws -> [Device] {
        guard search.filter.isEmpty else {
            guard limit > 0 else { return [] }
            var found: [Key<Device>] = []
            try eachFiltered(after: after) { device in
                found.append(device)
                return found.count < limit
            }
            return try devices(found)
        }
        return try DamagedRows.slice(of: limit, after: after) { last, limit in
            try rows(keys(behind: last, limit: limit))
        }
    }

    func page(
        after: Key<Device>?, limit: Int, within time: Duration, isCounted: Bool
    ) throws -> DevicePage {
        guard search.text != nil || !search.filter.isEmpty else {
            let devices = try behind(after, limit: limit)
            return DevicePage(
                devices, count: isCounted ? DeviceCount(devices: try count()) : nil,
                next: devices.count == limit ? devices.last?.key : nil)
        }
        var (keys, matches): ([Key<Device>], Int) = ([], 0)
        // The device up to which all were looked at when time ran out.
        var (cutAt, wait) = (Key<Device>?.none, SearchPause(time))
        try eachFiltered(after: after) { device in
            if keys.count < limit { keys.append(device) }
            matches += 1
            return isCounted || keys.count < limit
        } pause: { device in
            if wait.isOver() { cutAt = device }
            return cutAt != nil
        }
        return DevicePage(
            try devices(keys), count: isCounted ? DeviceCount(devices: matches, isMore: cutAt != nil) : nil,
            next: keys.count == limit ? keys.last : cutAt, isCut: keys.count < limit && cutAt != nil)
    }

    private static var rowsAtOnce: Int { 512 }

    /// Calls `body` with each device after `after` that meets the filter too, until it returns false.
    ///
    /// - Parameter pause: called after each few rows with the last that was looked at; true ends the search.
    private func eachFiltered(
        after: Key<Device>?, _ body: (Key<Device>) throws -> Bool, pause: (Key<Device>) -> Bool = { _ in false }
    ) throws {
        if let text = try textSearch() {
            // Without a filter no row is read for one, so a match need not wait for others.
            let atOnce = search.filter.isEmpty ? 1 : Self.rowsAtOnce
            var some: [Key<Device>] = []
            var isDone = false
            try text.each(before: after) { device in
                some.append(device)
                guard some.count == atOnce else { return true }
                isDone = try !filtered(some, body)
                some.removeAll(keepingCapacity: true)
                return !isDone
            } pause: {
                pause($0)
            }
            if !isDone { _ = try filtered(some, body) }
            return
        }
        if search.filter.isUnseen, search.topic == nil {
            return try walk(after: after, body, pause: pause, next: unseen)
        }
        var run = DeviceRun(list, on: platforms, after: after, now: now, db)
        try walk(after: after, body, pause: pause) { _, limit in try run.next(limit) }
    }

    private func walk(
        after: Key<Device>?, _ body: (Key<Device>) throws -> Bool, pause: (Key<Device>) -> Bool,
        next: (Key<Device>?, Int) throws -> [Key<Device>]
    ) throws {
        var last = after
        while case let keys = try next(last, Self.rowsAtOnce), let end = keys.last {
            try budget.check()
            guard try filtered(keys, body), !pause(end) else { return }
            last = end
        }
    }

    /// Returns whether `body` wants more.
    private func filtered(_ keys: [Key<Device>], _ body: (Key<Device>) throws -> Bool) throws -> Bool {
        guard !search.filter.isEmpty, !keys.isEmpty else { return try keys.allSatisfy(body) }
        let found = try db.prepared(DirectoryStatements.forFilter).all(SQLKeys(keys)) { row -> Key<Device>? in
            let isMatch = search.filter.matches(
                isActive: row.integer(1) > 0, customUserID: row.textIfAny(2),
                registeredAt: Instant(milliseconds: row.integer(3)), osVersion: row.textIfAny(4),
                isUnseen: row.integerIfAny(5) == 0)
            return isMatch ? Key(row.integer(0)) : nil
        }
        let matches = Set(found.compactMap(\.self))
        return try keys.allSatisfy { device in try !matches.contains(device) || body(device) }
    }

    /// The shortest list that has all devices that the filter may find.
    private var list: PostingList {
        if let topic = search.topic { return .topic(topic) }
        if let user = search.filter.customUserID, search.filter.isActive != false { return .customUser(user) }
        return search.filter.isActive == true ? .active : .registered
    }

    private func unseen(after: Key<Device>?, limit: Int) throws -> [Key<Device>] {
        let statement = try db.prepared(DeviceStatements.unseen)
        let found = try platforms.flatMap { platform in
            try statement.all(platform.key, after?.rawValue ?? 0, limit) { Key<Device>($0.integer(0)) }
        }
        return Array(found.sorted().prefix(limit))
    }

    private func keys(behind after: Key<Device>?, limit: Int) throws -> [Key<Device>] {
        guard limit > 0 else { return [] }
        guard let text = try textSearch() else {
            var run = run(after: after)
            return try run.next(limit)
        }
        var found: [Key<Device>] = []
        try text.each(before: after) { device in
            found.append(device)
            return found.count < limit
        }
        return found
    }

    func count() throws -> Int {
        if search.text != nil { return try slice(skip: 0, limit: 0).total }
        guard let topic = search.topic else { return try db.deviceCount(on: platforms.map(\.key)) }
        return try platforms.reduce(0) { try $0 + postings(of: $1).count(ofTopic: topic) }
    }

    private func run(after: Key<Device>?) -> DeviceRun<Connection> {
        let list = search.topic.map { PostingList.topic($0) } ?? .registered
        return DeviceRun(list, on: platforms, after: after, now: now, db)
    }

    /// nil when the search has no text.
    private func textSearch() throws -> TextSearch<Connection>? {
        guard let text = search.text else { return nil }
        var wanted = platforms
        var topicID: Int64?
        if let topic = search.topic {
            topicID = try platforms.first.flatMap { try postings(of: $0).topicID(topic) }
            if topicID == nil { wanted = [] }
        }
        return TextSearch(
            db: db, text: Array(text.utf8), naming: secrets.naming, platforms: wanted, topic: topicID, now: now,
            budget: budget)
    }

    private func postings(of platform: Platform) -> DevicePostings<Connection> {
        db.postings(of: platform.key, application: platform.applicationKey, now: now)
    }

    private func devices(_ keys: [Key<Device>]) throws -> [Device] { try rows(keys).compactMap(\.value) }

    /// The readable devices among these, in the order of the keys.
    private func rows(_ keys: [Key<Device>]) throws -> [(position: Key<Device>?, value: Device?)] {
        let found = try db.prepared(DirectoryStatements.byKeys).all(SQLKeys(keys)) { row in
            try damaged.readable("device \(row.integer(0))") { try DeviceRow(row) }
        }.compactMap(\.self)
        let devices = Dictionary(
            uniqueKeysWithValues: try found.map { row in
                (row.key, row.device(naming: secrets.naming, topicNames: try db.topicNames(row.topics, at: now)))
            })
        return keys.map { ($0, devices[$0]) }
    }
}

enum DirectoryStatements {
    static let forFilter: SQLText = """
        SELECT id, reach, custom_user_id, registered_at_ms, os_version, import_stage /* directory.for_filter */
          FROM device
         WHERE id \(among: "$1")
         ORDER BY id
        """

    static let byKeys: SQLText = """
        SELECT \(DeviceRow.columns) /* directory.by_keys */
          FROM device
         WHERE id \(among: "$1")
         ORDER BY id
        """
}

enum CustomUserStatements {
    /// Scans `device_custom_user`.
    static let beginning: SQLText = """
        SELECT DISTINCT custom_user_id /* custom_users.beginning */ FROM device
         WHERE platform_id = $1 AND custom_user_id >= $2 AND custom_user_id < $3 AND reach > 0
           AND custom_user_id IS NOT NULL
         ORDER BY custom_user_id
         LIMIT $4
        """

    /// Scans `device_custom_user`.
    static let behind: SQLText = """
        SELECT DISTINCT custom_user_id /* custom_users.behind */ FROM device
         WHERE platform_id = $1 AND custom_user_id > $2 AND reach > 0
           AND custom_user_id IS NOT NULL AND ($3 IS NULL OR \(SQLText.position)(custom_user_id, $3) > 0)
         ORDER BY custom_user_id
         LIMIT $4
        """
}
