import PostgreSQL

/// Maintains the search index, which finds devices by any part of their UUID, token, custom user id or alias. See
/// decision 7.
///
/// Devices are indexed some thousands at a time, so that a registration costs only its share of a sorted list. Devices
/// past the mark, and those that changed since (`search_index_stale`), are checked one by one. A changed device is
/// indexed again beside its earlier entry; once that has doubled the search index, it is rebuilt segment by segment,
/// and the old index is deleted. The index may name too many devices, never too few, so every device it names is
/// verified.
struct DeviceSearchIndex<Session: WriteSession> {
    let session: Session
    var sizes = SearchIndexSizes()

    /// Does the most urgent outstanding step, if there is one.
    func step() throws {
        if let segment = try session.db.prepareSegment(sizes, naming: session.secrets.naming) {
            try take(segment)
        } else {
            try clearStep()
        }
    }

    /// Writes a segment, unless the search index has advanced since it was prepared.
    func take(_ segment: PreparedSegment) throws {
        guard let state = try session.db.searchIndexState() else { return }
        switch segment.place {
        case .mark(let mark):
            guard state.mark == mark else { return }
            try write(segment)
            // A platform may have been deleted meanwhile, and its counts with it.
            let kinds = try session.db.platformKinds()
            try session.noteIndexed(segment.counts.filter { kinds[$0.key] != nil }, until: segment.last)
            for (joined, devices) in segment.joins where kinds[joined.platform.rawValue] != nil {
                session.effects.activity.change(joined.platform, joined.hour) { $0.add(devices, .joined) }
            }
            try session.prepared(SearchIndexStatements.setMark).run(segment.last)
        case .rebuild(let device):
            guard state.rebuild?.device == device else { return }
            try write(segment)
            try session.prepared(SearchIndexStatements.setRebuild).run(segment.last)
        case .stale(let devices, let newest):
            guard state.newestSegment == newest else { return }
            let delete = try session.prepared(SearchIndexStatements.deleteStale)
            for device in devices { try delete.send(device.key, device.changes) }
            try write(segment)
            if state.rebuild == nil { try session.prepared(SearchIndexStatements.beginRebuild).run(sizes.segment) }
        }
    }

    private func write(_ segment: PreparedSegment) throws {
        guard segment.deviceCount > 0 else { return }
        let key = try session.insert(SearchIndexStatements.insertSegment, segment.deviceCount, segment.devices)
        let insert = try session.prepared(SearchIndexStatements.insertPosting)
        for (block, places) in segment.postings { try insert.send(SearchIndexState.posting(key, block), places) }
    }

    /// Deletes one segment of the old index, once the new one is complete.
    func clearStep() throws {
        guard let state = try session.db.searchIndexState(), let rebuild = state.rebuild,
            rebuild.device >= state.mark
        else { return }
        guard let oldest = try session.prepared(SearchIndexStatements.oldestSegment).number(rebuild.oldSegment) else {
            try session.prepared(SearchIndexStatements.endRebuild).run()
            return
        }
        try session.prepared(SearchIndexStatements.deletePostings).run(
            SearchIndexState.posting(oldest, 0), SearchIndexState.posting(oldest + 1, 0))
        try session.prepared(SearchIndexStatements.deleteSegment).run(oldest)
    }
}

/// The numbers of devices that trigger a segment.
struct SearchIndexSizes: Sendable {
    /// Devices past the mark.
    var segment = SegmentDraft.devicesMax
    /// Devices that changed. A search checks each that is left, so they are fewer.
    var staleDevices = SegmentDraft.devicesMax / 2
}

/// The progress of the search index.
struct SearchIndexState {
    /// All devices up to this one are indexed.
    let mark: Int64
    let rebuild: Rebuild?
    /// No further device up to this one will be committed.
    let settled: Int64
    /// 0 while there is none.
    let newestSegment: Int64

    /// A rebuild of the search index: its progress, and the last segment to delete when it is complete.
    struct Rebuild {
        let device: Int64
        let oldSegment: Int64
    }

    fileprivate init(_ row: some SQLRow) {
        mark = row.integer(0)
        rebuild = row.integerIfAny(1).map { Rebuild(device: $0, oldSegment: row.integer(2)) }
        settled = row.integer(3)
        newestSegment = row.integer(4)
    }

    fileprivate func isSegmentDue(_ sizes: SearchIndexSizes) -> Bool { settled - mark >= Int64(sizes.segment) }

    static func posting(_ segment: Int64, _ block: Int) -> Int64 {
        segment * Int64(SegmentDraft.blockCount) + Int64(block)
    }
}

/// A segment of the search index, prepared from a snapshot.
///
/// Reading thousands of devices takes tens of milliseconds, during which SQLite's writer would serve no one else. What
/// changes between the snapshot and the write is a stale device by then, or stays one.
struct PreparedSegment: Sendable {
    /// The state that the segment continues: it is useless if the search index has advanced meanwhile.
    enum Place: Sendable, Hashable {
        /// All devices up to this one are indexed.
        case mark(Int64)
        /// The rebuild has reached this device.
        case rebuild(Int64)
        /// The number of the last segment; these devices cease to be stale, unless they change again.
        case stale([StaleDevice], after: Int64)
    }

    /// A device, and how often its text changed since it was indexed.
    struct StaleDevice: Sendable, Hashable {
        let key: Int64
        let changes: Int64
    }

    let place: Place
    /// The last device of the segment.
    let last: Int64
    let deviceCount: Int
    let devices: [UInt8]
    let postings: [(block: Int, places: [UInt8])]
    /// The number of devices of each platform.
    let counts: [Int64: Int]
    /// The number of devices that joined, by platform and hour.
    let joins: [Joined: Int64]

    struct Joined: Hashable {
        let platform: Key<Platform>
        let hour: Int64
    }

    fileprivate struct Draft {
        let kinds: [Int64: PlatformKind]
        let naming: DeviceNaming
        var segment = SegmentDraft()
        var counts: [Int64: Int] = [:]
        var joins: [Joined: Int64] = [:]

        /// From the columns of `SearchIndexStatements.behind`.
        mutating func add(_ row: some SQLRow) {
            let platform = row.integer(1)
            segment.add(Key(row.integer(0)), DeviceText(row, kind: kinds[platform] ?? .ios, naming: naming))
            counts[platform, default: 0] += 1
            if let hour = row.integerIfAny(6) { joins[Joined(platform: Key(platform), hour: hour), default: 0] += 1 }
        }

        func segment(at place: Place, until last: Int64) -> PreparedSegment {
            var postings: [(block: Int, places: [UInt8])] = []
            segment.blocks { postings.append((block: $0, places: $1)) }
            return PreparedSegment(
                place: place, last: last, deviceCount: segment.devices.count,
                devices: DeviceList.encode(segment.devices), postings: postings, counts: counts,
                joins: joins)
        }
    }
}

extension SQLConnection {
    fileprivate func searchIndexState() throws -> SearchIndexState? {
        try prepared(SearchIndexStatements.state).first(as: SearchIndexState.init)
    }

    /// The next segment of devices, if one is due.
    func prepareSegment(_ sizes: SearchIndexSizes, naming: DeviceNaming) throws -> PreparedSegment? {
        guard let state = try searchIndexState() else { return nil }
        if state.isSegmentDue(sizes) {
            return try segment(of: sizes, after: state.mark, until: state.settled, at: .mark(state.mark), naming)
        }
        let stale = try prepared(SearchIndexStatements.staleCount).count(sizes.staleDevices)
        if stale >= sizes.staleDevices {
            return try segmentOfStaleDevices(sizes, after: state.newestSegment, naming)
        }
        guard let rebuild = state.rebuild, rebuild.device < state.mark else { return nil }
        return try segment(of: sizes, after: rebuild.device, until: state.mark, at: .rebuild(rebuild.device), naming)
    }

    /// Devices may have been deleted, so that few or none are left.
    private func segment(
        of sizes: SearchIndexSizes, after first: Int64, until last: Int64, at place: PreparedSegment.Place,
        _ naming: DeviceNaming
    ) throws -> PreparedSegment {
        var draft = PreparedSegment.Draft(kinds: try platformKinds(), naming: naming)
        try prepared(SearchIndexStatements.behind).each(first, last, sizes.segment) { draft.add($0) }
        let devices = draft.segment.devices
        let end = devices.count == sizes.segment ? devices.last?.rawValue ?? last : last
        return draft.segment(at: place, until: end)
    }

    /// The stale devices are read before their texts: a change in between makes one stale again.
    private func segmentOfStaleDevices(
        _ sizes: SearchIndexSizes, after newest: Int64, _ naming: DeviceNaming
    ) throws -> PreparedSegment {
        let stale = try prepared(SearchIndexStatements.stale).all(sizes.segment) {
            PreparedSegment.StaleDevice(key: $0.integer(0), changes: $0.integer(1))
        }
        var draft = PreparedSegment.Draft(kinds: try platformKinds(), naming: naming)
        try prepared(SearchIndexStatements.named).each(SQLKeys(stale.map(\.key))) { draft.add($0) }
        return draft.segment(at: .stale(stale, after: newest), until: 0)
    }

    fileprivate func platformKinds() throws -> [Int64: PlatformKind] {
        var kinds: [Int64: PlatformKind] = [:]
        try prepared(SearchIndexStatements.kinds).each { row in
            kinds[row.integer(0)] = PlatformKind(rawValue: row.text(1))
        }
        return kinds
    }
}

extension DeviceText {
    /// From the columns id, platform, token, custom user id, alias and imported UUID.
    init(_ row: some SQLRow, kind: PlatformKind, naming: DeviceNaming) {
        self.init(
            uuid: naming.uuid(of: Key(row.integer(0))), importedUUID: row.uuid(5),
            token: row.blobIfAny(2).map(DeviceToken.init(bytes:)),
            kind: kind,
            customUserID: row.textIfAny(3), alias: row.textIfAny(4))
    }
}

enum SearchIndexStatements {
    /// In PostgreSQL ids do not ascend as commits do; see `DeviceHorizon`.
    static let state: SQLText = """
        SELECT device_id, rebuild_device_id, rebuild_segment_id, \(
            sqlite: "(SELECT coalesce(max(id), 0) FROM device)",
            postgres: "(SELECT settled_device_id FROM device_horizon WHERE id = 1)"),
               (SELECT coalesce(max(id), 0) FROM search_index_segment) /* search_index.state */
          FROM search_index
         WHERE id = 1
        """

    static let kinds: SQLText = "SELECT id, kind /* search_index.kinds */ FROM platform"

    /// Scans the primary key.
    static let behind: SQLText = """
        SELECT id, platform_id, token, custom_user_id, alias, imported_uuid,
               \(ActivityStatements.joinedHour) /* search_index.behind */
          FROM device
         WHERE id > $1 AND id <= $2
         ORDER BY id
         LIMIT $3
        """

    static let named: SQLText = """
        SELECT id, platform_id, token, custom_user_id, alias, imported_uuid,
               \(ActivityStatements.joinedHour) /* search_index.named */
          FROM device
         WHERE id \(among: "$1")
         ORDER BY id
        """

    static let staleCount: SQLText = """
        SELECT count(*) /* search_index.stale_count */ FROM (SELECT 1 FROM search_index_stale LIMIT $1) AS few
        """

    /// Scans the primary key.
    static let stale: SQLText = """
        SELECT device_id, changes /* search_index.stale */ FROM search_index_stale ORDER BY device_id LIMIT $1
        """

    /// Skips a device that is being changed, and one that was changed meanwhile: it stays stale.
    static let deleteStale: SQLText = """
        DELETE FROM search_index_stale /* search_index.delete_stale */
         WHERE device_id = (SELECT device_id FROM search_index_stale WHERE device_id = $1 AND changes = $2
                               \(SQLText.forUpdateSkipLocked))
        """

    static let setMark: SQLText = "UPDATE search_index /* search_index.set_mark */ SET device_id = $1 WHERE id = 1"

    static let insertSegment: SQLText = """
        INSERT INTO search_index_segment /* search_index.insert_segment */ (device_count, devices) VALUES ($1, $2) RETURNING id
        """

    static let insertPosting: SQLText = """
        INSERT INTO search_index_posting /* search_index.insert_posting */ (id, places) VALUES ($1, $2)
        """

    /// Segments contain about as many devices as exist, unless many were indexed again.
    static let beginRebuild: SQLText = """
        UPDATE search_index /* search_index.begin_rebuild */
           SET rebuild_device_id = 0, rebuild_segment_id = (SELECT max(id) FROM search_index_segment)
         WHERE id = 1 AND (SELECT sum(device_count) FROM search_index_segment) > 2 * device_id + $1
        """

    static let setRebuild: SQLText = """
        UPDATE search_index /* search_index.set_rebuild */ SET rebuild_device_id = $1 WHERE id = 1
        """

    static let oldestSegment: SQLText = """
        SELECT id /* search_index.oldest_segment */ FROM search_index_segment WHERE id <= $1 ORDER BY id LIMIT 1
        """

    /// Scans the primary key.
    static let deletePostings: SQLText = """
        DELETE FROM search_index_posting /* search_index.delete_postings */ WHERE id >= $1 AND id < $2
        """

    static let deleteSegment: SQLText =
        "DELETE FROM search_index_segment /* search_index.delete_segment */ WHERE id = $1"

    static let endRebuild: SQLText = """
        UPDATE search_index /* search_index.end_rebuild */ SET rebuild_device_id = NULL, rebuild_segment_id = NULL WHERE id = 1
        """
}

extension PostgresWriteSession {
    /// Nodes count devices in `SharedUse`.
    package func noteIndexed(_ counts: [Int64: Int], until device: Int64) {}

    /// Called for devices whose token, custom user id or alias changed.
    func noteStaleDevices(_ devices: [Key<Device>]) throws {
        guard !devices.isEmpty else { return }
        try prepared(PostgresSearchIndexStatements.noteStaleDevices).send(PostgresArray(devices.sorted()))
    }
}

enum PostgresSearchIndexStatements {
    /// Devices that are stale already are locked: they stay stale until this transaction has ended.
    static let noteStaleDevices = """
        INSERT INTO search_index_stale /* search_index.note_stale */ (device_id)
        SELECT device_id FROM unnest($1) AS changed (device_id)
            ON CONFLICT (device_id) DO UPDATE SET changes = search_index_stale.changes + 1
        """
}
