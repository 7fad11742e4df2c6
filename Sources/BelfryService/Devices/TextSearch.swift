import FoundationEssentials

/// Finds the devices whose texts contain a text, ascending, from one snapshot.
///
/// The search index names candidates; each is verified. A text too short for the search index, or one with too many
/// candidates, is searched for in all devices of the platforms, one by one, as long as the budget allows, so other
/// applications' devices cost nothing. A whole UUID is looked up directly.
struct TextSearch<Connection: SQLConnection> {
    let db: Connection
    let text: [UInt8]
    let naming: DeviceNaming
    let platforms: [Platform]
    /// The id of a topic that an active device must also have.
    let topic: Int64?
    let now: Instant
    let budget: SearchBudget

    /// The most candidates that are looked up one by one; scanning all devices costs as much as more.
    private static var candidatesMax: Int { 65_536 }
    private static var rowsAtOnce: Int { 1_024 }
    private static var segmentsAtOnce: Int { 64 }

    /// Calls `body` with each device found after `after`, until it returns false.
    ///
    /// - Parameter pause: called after each few rows with the last that was looked at; true ends the search.
    func each(
        after: Key<Device>?, _ body: (Key<Device>) throws -> Bool, pause: (Key<Device>) -> Bool = { _ in false }
    ) throws {
        let after = after?.rawValue ?? 0
        guard !platforms.isEmpty else { return }
        if let candidates = try candidates() ?? whole() {
            _ = try lookUp(candidates.filter { $0 > after }.sorted(), body, pause)
        } else {
            try passOver(after: after, body, pause)
        }
    }

    // MARK: Verifying devices

    /// Returns whether `body` and `pause` want more.
    private func lookUp(
        _ candidates: [Int64], _ body: (Key<Device>) throws -> Bool, _ pause: (Key<Device>) -> Bool
    ) throws -> Bool {
        let statement = try db.prepared(TextSearchStatements.byKeys)
        for start in stride(from: 0, to: candidates.count, by: Self.rowsAtOnce) {
            try budget.check()
            let some = candidates[start..<min(start + Self.rowsAtOnce, candidates.count)]
            for device in try statement.all(SQLKeys(some), as: found) {
                if let device, try !body(device) { return false }
            }
            if let last = some.last, pause(Key(last)) { return false }
        }
        return true
    }

    private func passOver(
        after: Int64, _ body: (Key<Device>) throws -> Bool, _ pause: (Key<Device>) -> Bool
    ) throws {
        var run = DeviceRun(.registered, on: platforms, after: Key(after), now: now, db)
        while case let devices = try run.next(Self.rowsAtOnce), !devices.isEmpty {
            guard try lookUp(devices.map(\.rawValue), body, pause) else { return }
        }
    }

    /// The device of the row, if it matches.
    private func found(_ row: some SQLRow) throws -> Key<Device>? {
        guard let kind = platforms.first(where: { $0.key.rawValue == row.integer(1) })?.kind else { return nil }
        if let topic {
            guard row.integer(6) > 0, try row.withBlob(7, { try TopicList.decode($0) }).contains(topic) else {
                return nil
            }
        }
        return DeviceText(row, kind: kind, naming: naming).contains(text) ? Key(row.integer(0)) : nil
    }

    // MARK: The search index

    /// The device of a UUID; nil when the text is none that this database gave, nor another server that devices came from.
    private func whole() throws -> [Int64]? {
        guard let uuid = UUID(uuidString: String(decoding: text, as: UTF8.self)) else { return nil }
        if let device = naming.device(of: uuid) { return [device.rawValue] }
        let importers = platforms.filter(\.hasImports).map(\.key)
        return importers.isEmpty ? nil : try db.device(importedAs: uuid, on: importers).map { [$0.rawValue] }
    }

    /// All devices that may match; nil when there are too many, or they cannot be determined.
    private func candidates() throws -> [Int64]? {
        guard let sequences = TextGrams.sequences(in: text) else { return nil }
        let unindexed = try db.prepared(TextSearchStatements.unindexed)
        var found = try unindexed.all(Self.candidatesMax + 1) { $0.integer(0) }
        let segments = try db.prepared(TextSearchStatements.segments).all { $0.integer(0) }
        for start in stride(from: 0, to: segments.count, by: Self.segmentsAtOnce) {
            try budget.check()
            let some = segments[start..<min(start + Self.segmentsAtOnce, segments.count)]
            let places = try places(of: sequences, in: some)
            found += try devices(at: places)
            guard found.count <= Self.candidatesMax else { return nil }
        }
        return found.count <= Self.candidatesMax ? Array(Set(found)) : nil
    }

    /// The positions, by segment, that have all the grams of one of the sequences.
    private func places(of sequences: [[UInt16]], in segments: ArraySlice<Int64>) throws -> [Int64: [UInt16]] {
        let grams = Set(sequences.joined())
        let blocks = Set(grams.map { SegmentDraft.block(of: $0) })
        let wanted = segments.flatMap { segment in blocks.map { SearchIndexState.posting(segment, $0) } }
        var postings: [Int64: [UInt16: [UInt16]]] = [:]
        try db.prepared(TextSearchStatements.postings).each(SQLKeys(wanted)) { row in
            let posting = row.integer(0)
            let block = Int(posting % Int64(SegmentDraft.blockCount))
            for gram in grams where SegmentDraft.block(of: gram) == block {
                let places = row.withBlob(1) { SegmentDraft.places(of: gram, in: $0) }
                postings[posting / Int64(SegmentDraft.blockCount), default: [:]][gram] = places
            }
        }
        return postings.mapValues { places in
            sequences.flatMap { sequence in SegmentDraft.places(ofAll: sequence) { places[$0] ?? [] } }
        }.filter { !$0.value.isEmpty }
    }

    private func devices(at places: [Int64: [UInt16]]) throws -> [Int64] {
        try db.prepared(TextSearchStatements.devices).all(SQLKeys(places.keys)) { row -> [Int64] in
            let segment = row.integer(0)
            guard
                let devices = row.withBlob(1, { DeviceList.decode($0) }), let places = places[segment],
                places.allSatisfy({ $0 < devices.count })
            else { throw StoreError.damaged("segment \(segment) of the search index") }
            return places.map { devices[Int($0)].rawValue }
        }.flatMap(\.self)
    }
}

enum TextSearchStatements {
    static let byKeys: SQLText = """
        SELECT id, platform_id, token, custom_user_id, alias, imported_uuid, reach, topics /* search.by_keys */
          FROM device
         WHERE id \(among: "$1")
         ORDER BY id
        """

    static let segments: SQLText = "SELECT id /* search.segments */ FROM search_index_segment ORDER BY id"

    static let postings: SQLText =
        "SELECT id, places /* search.postings */ FROM search_index_posting WHERE id \(among: "$1")"

    static let devices: SQLText = """
        SELECT id, devices /* search.devices */ FROM search_index_segment WHERE id \(among: "$1")
        """

    /// Devices past the mark, and those that changed since they were indexed.
    static let unindexed: SQLText = """
        SELECT id /* search.unindexed */
          FROM (SELECT id FROM device
                 WHERE id > (SELECT device_id FROM search_index WHERE id = 1)
                 ORDER BY id LIMIT $1) AS behind
        UNION ALL
        SELECT device_id FROM search_index_stale
         LIMIT $1
        """
}
