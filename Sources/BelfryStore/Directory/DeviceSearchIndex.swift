import BelfryCore

/// Keeps the search index, by which devices are found from any part of their UUID, token, custom user id or alias. See
/// decision 7.
///
/// Devices are indexed some thousands at a time, so that a registration pays nothing but its share of a sorted list.
/// Those behind the mark, and those that changed since (`search_index_stale`), are looked at one by one. A changed
/// device is indexed again beside what was said of it before; once that has doubled the search index, it is written
/// anew, segment by segment, and the old index goes. What it says may be too much, never too little: every device it
/// names is looked at.
struct DeviceSearchIndex<Session: WriteSession> {
    let session: Session
    var sizes = SearchIndexSizes()

    /// Does the most urgent of what there is to do, if there is any.
    func step() throws {
        if let segment = try session.db.prepareSegment(sizes, naming: session.secrets.naming) {
            try take(segment)
        } else {
            try clearStep()
        }
    }

    /// Writes a segment down, unless the search index has gone on since it was put together.
    func take(_ segment: PreparedSegment) throws {
        guard let state = try session.db.searchIndexState() else { return }
        switch segment.place {
        case .mark(let mark):
            guard state.mark == mark else { return }
            try write(segment)
            // A platform may have gone meanwhile, and its counts with it.
            let kinds = try session.db.platformKinds()
            try session.noteIndexed(segment.counts.filter { kinds[$0.key] != nil }, until: segment.last)
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

    /// Takes one segment of the old index away, once the new one is whole.
    func clearStep() throws {
        guard let state = try session.db.searchIndexState(), let rebuild = state.rebuild,
            rebuild.device >= state.mark
        else { return }
        let oldest = try session.prepared(SearchIndexStatements.oldestSegment).first(rebuild.oldSegment) {
            $0.integer(0)
        }
        guard let oldest else {
            try session.prepared(SearchIndexStatements.endRebuild).run()
            return
        }
        try session.prepared(SearchIndexStatements.deletePostings).run(
            SearchIndexState.posting(oldest, 0), SearchIndexState.posting(oldest + 1, 0))
        try session.prepared(SearchIndexStatements.deleteSegment).run(oldest)
    }
}

/// How many devices make a segment.
struct SearchIndexSizes: Sendable {
    /// Devices behind the mark.
    var segment = SegmentDraft.devicesMax
    /// Devices that changed. A search looks at each that is left, so they are fewer.
    var staleDevices = SegmentDraft.devicesMax / 2
}

/// How far the search index has come.
struct SearchIndexState {
    /// All devices up to this one are indexed.
    let mark: Int64
    let rebuild: Rebuild?
    /// No device comes any more up to this one.
    let settled: Int64
    /// 0 while there is none.
    let newestSegment: Int64

    /// The search index written anew: how far it has come, and the last segment that goes when it is there.
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

/// A segment of the search index, put together from a snapshot.
///
/// To read thousands of devices and sort their grams takes tens of milliseconds, which would be everybody's if SQLite's
/// writer did it. What changes between the snapshot and the writing is a stale device by then, or stays one.
struct PreparedSegment: Sendable {
    /// What the segment continues: it is of no use when the search index has gone on meanwhile.
    enum Place: Sendable, Hashable {
        /// All devices up to this one are indexed.
        case mark(Int64)
        /// The rebuild has come to this device.
        case rebuild(Int64)
        /// The search index has so many segments; these devices are stale no more, unless they change again.
        case stale([StaleDevice], after: Int64)
    }

    /// A device, and how often its text changed since it was indexed.
    struct StaleDevice: Sendable, Hashable {
        let key: Int64
        let changes: Int64
    }

    let place: Place
    /// How far the search index has come with it.
    let last: Int64
    let deviceCount: Int
    let devices: [UInt8]
    let postings: [(block: Int, places: [UInt8])]
    /// Of each platform.
    let counts: [Int64: Int]

    fileprivate struct Draft {
        let kinds: [Int64: PlatformKind]
        let naming: DeviceNaming
        private(set) var segment = SegmentDraft()
        private var counts: [Int64: Int] = [:]

        init(kinds: [Int64: PlatformKind], naming: DeviceNaming) {
            self.kinds = kinds
            self.naming = naming
        }

        /// From the columns of `SearchIndexStatements.behind`.
        mutating func add(_ row: some SQLRow) {
            let platform = row.integer(1)
            segment.add(Key(row.integer(0)), DeviceText(row, kind: kinds[platform] ?? .ios, naming: naming))
            counts[platform, default: 0] += 1
        }

        func segment(at place: Place, until last: Int64) -> PreparedSegment {
            var postings: [(block: Int, places: [UInt8])] = []
            segment.blocks { postings.append((block: $0, places: $1)) }
            return PreparedSegment(
                place: place, last: last, deviceCount: segment.devices.count,
                devices: DeviceList.encode(segment.devices), postings: postings, counts: counts)
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
        let stale = try prepared(SearchIndexStatements.staleCount).first(sizes.staleDevices) { Int($0.integer(0)) }
        if stale ?? 0 >= sizes.staleDevices {
            return try segmentOfStaleDevices(sizes, after: state.newestSegment, naming)
        }
        guard let rebuild = state.rebuild, rebuild.device < state.mark else { return nil }
        return try segment(of: sizes, after: rebuild.device, until: state.mark, at: .rebuild(rebuild.device), naming)
    }

    /// Devices may have gone, so that there are few or none.
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

    /// Those that are stale are read before their texts: what changes in between counts once more.
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
    /// From the columns id, platform, token, custom user id and alias.
    init(_ row: some SQLRow, kind: PlatformKind, naming: DeviceNaming) {
        self.init(
            uuid: naming.uuid(of: Key(row.integer(0))), token: row.blobIfAny(2).map(DeviceToken.init(bytes:)),
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
        SELECT id, platform_id, token, custom_user_id, alias /* search_index.behind */
          FROM device
         WHERE id > $1 AND id <= $2
         ORDER BY id
         LIMIT $3
        """

    static let named: SQLText = """
        SELECT id, platform_id, token, custom_user_id, alias /* search_index.named */
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

    /// Passes over a device that is being changed, and one that was changed meanwhile: it stays stale.
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

    /// Segments name about as many devices as there are, unless many were indexed again.
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
