package import FoundationEssentials

/// Finds the devices whose texts contain a text, the newest first, from one snapshot.
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

    /// Calls `body` with each device found that is older than one, until it returns false.
    ///
    /// - Parameter pause: called between each few rows and the next with the last that was looked at; true ends the search.
    func each(
        before: Key<Device>?, _ body: (Key<Device>) throws -> Bool, pause: (Key<Device>) -> Bool = { _ in false }
    ) throws {
        let before = before?.rawValue ?? .max
        guard !platforms.isEmpty else { return }
        if let indexed = try candidates() {
            guard try lookPast(indexed.mark, before: before, body, pause) else { return }
            let older = indexed.devices.filter { $0 < before && $0 <= indexed.mark }
            _ = try lookUp(older.sorted(by: >), body, pause)
        } else if let whole = try whole() {
            _ = try lookUp(whole.filter { $0 < before }, body, pause)
        } else {
            try passOver(before: before, body, pause)
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
            for device in try statement.all(SQLKeys(some), as: found).reversed() {
                if let device, try !body(device) { return false }
            }
            if some.endIndex < candidates.count, pause(Key(some[some.endIndex - 1])) { return false }
        }
        return true
    }

    /// Looks at the devices past the mark of the search index, which are the newest. Returns whether `body` and `pause` want more.
    ///
    /// There is no pause among the first, as many as two segments have: it would leave out what the index names. More are
    /// there only while the index is far behind.
    private func lookPast(
        _ mark: Int64, before: Int64, _ body: (Key<Device>) throws -> Bool, _ pause: (Key<Device>) -> Bool
    ) throws -> Bool {
        let statement = try db.prepared(TextSearchStatements.past)
        var (before, count) = (before, 0)
        while true {
            try budget.check()
            let rows = try statement.all(mark, before, Self.rowsAtOnce) { (key: $0.integer(0), device: try found($0)) }
            for row in rows {
                if let device = row.device, try !body(device) { return false }
            }
            guard let last = rows.last, rows.count == Self.rowsAtOnce else { return true }
            (before, count) = (last.key, count + rows.count)
            if count >= 2 * SegmentDraft.devicesMax, pause(Key(before)) { return false }
        }
    }

    private func passOver(
        before: Int64, _ body: (Key<Device>) throws -> Bool, _ pause: (Key<Device>) -> Bool
    ) throws {
        let statement = try db.prepared(TextSearchStatements.newest)
        var before = before
        while true {
            let some = try platforms.flatMap {
                try statement.all($0.key, before, Self.rowsAtOnce) { $0.integer(0) }
            }.sorted(by: >).prefix(Self.rowsAtOnce)
            guard let last = some.last, try lookUp(Array(some), body, pause), some.count == Self.rowsAtOnce,
                !pause(Key(last))
            else { return }
            before = last
        }
    }

    /// The device of the row, if it matches.
    private func found(_ row: some SQLRow) throws -> Key<Device>? {
        guard let kind = platforms.first(where: { $0.key.rawValue == row.integer(1) })?.kind else { return nil }
        if let topic {
            guard row.integer(6) > 0, row.withBlob(7, { TopicList.readable($0) }).contains(topic) else {
                return nil
            }
        }
        return DeviceText(row, kind: kind, naming: naming).contains(text) ? Key(row.integer(0)) : nil
    }

    // MARK: The search index

    /// The device of a UUID; nil when the text is none that this database gave, nor another server that devices came from.
    private func whole() throws -> [Int64]? {
        guard let uuid = UUID(text: String(decoding: text, as: UTF8.self)) else { return nil }
        if let device = naming.device(of: uuid) { return [device.rawValue] }
        let importers = platforms.filter(\.hasImports).map(\.key)
        return importers.isEmpty ? nil : try db.device(importedAs: uuid, on: importers).map { [$0.rawValue] }
    }

    /// All devices up to the mark that may match, and the mark; nil when there are too many, or they cannot be determined.
    private func candidates() throws -> (devices: Set<Int64>, mark: Int64)? {
        guard let sequences = TextGrams.sequences(in: text) else { return nil }
        let state = try db.prepared(TextSearchStatements.mark).first { (mark: $0.integer(0), newest: $0.integer(1)) }
        guard let (mark, newest) = state, newest - mark <= Self.candidatesMax else { return nil }
        var found = try db.prepared(TextSearchStatements.stale).all(Self.candidatesMax + 1) { $0.integer(0) }
        let segments = try db.prepared(TextSearchStatements.segments).all { $0.integer(0) }
        for start in stride(from: 0, to: segments.count, by: Self.segmentsAtOnce) {
            try budget.check()
            let some = segments[start..<min(start + Self.segmentsAtOnce, segments.count)]
            let places = try places(of: sequences, in: some)
            found += try devices(at: places)
            guard found.count <= Self.candidatesMax else { return nil }
        }
        return found.count <= Self.candidatesMax ? (Set(found), mark) : nil
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

    /// Merges three ranges of `device_reach`.
    static let newest: SQLText = """
        \(reach: 0, newestFirst: true) /* search.newest */
        UNION ALL
        \(reach: 1, newestFirst: true)
        UNION ALL
        \(reach: 2, newestFirst: true)
         ORDER BY id DESC
         LIMIT $3
        """

    static let segments: SQLText = "SELECT id /* search.segments */ FROM search_index_segment ORDER BY id"

    static let postings: SQLText =
        "SELECT id, places /* search.postings */ FROM search_index_posting WHERE id \(among: "$1")"

    static let devices: SQLText = """
        SELECT id, devices /* search.devices */ FROM search_index_segment WHERE id \(among: "$1")
        """

    /// Scans the primary key.
    static let past: SQLText = """
        SELECT id, platform_id, token, custom_user_id, alias, imported_uuid, reach, topics /* search.past */
          FROM device
         WHERE id > $1 AND id < $2
         ORDER BY id DESC
         LIMIT $3
        """

    /// The mark of the search index, and the newest device.
    static let mark: SQLText = """
        SELECT device_id, coalesce((SELECT id FROM device ORDER BY id DESC LIMIT 1), 0) /* search.mark */
          FROM search_index WHERE id = 1
        """

    /// Devices that changed since they were indexed.
    static let stale: SQLText = "SELECT device_id /* search.stale */ FROM search_index_stale LIMIT $1"
}

/// Numbers by which a text is found from any sufficiently long part of it.
///
/// A gram stands for four consecutive bytes. Of an indexed text, the grams at even positions are kept, half of all. A
/// part of it may begin at an even position or an odd one, so one of its two sequences of grams is among the kept
/// ones. Two groups of bytes may share a number, so matches must be verified.
package enum TextGrams {
    /// The shortest part that has a gram in both sequences.
    package static let partBytesMin = 5
    /// All grams are below this.
    package static let count = 1 << 16

    private static let width = 4
    /// The most grams of a sequence. By chance one finds six devices of each segment, and two find one in two hundred segments.
    private static let sequenceMax = 2

    /// Calls `body` with each gram that a text is indexed under. A gram may come twice.
    package static func each(in text: ArraySlice<UInt8>, _ body: (UInt16) -> Void) {
        var place = text.startIndex
        while place + width <= text.endIndex {
            body(gram(text, at: place))
            place += 2
        }
    }

    /// A text that contains `part` is indexed under all grams of one of these sequences; nil when the part is too
    /// short.
    package static func sequences(in part: [UInt8]) -> [[UInt16]]? {
        guard part.count >= partBytesMin else { return nil }
        return [0, 1].map { start in
            let places = stride(from: start, through: part.count - width, by: 2)
            // The end distinguishes ids better than the beginning, which they often share.
            return Array(Set(places.suffix(sequenceMax).map { gram(part[...], at: $0) }))
        }
    }

    private static func gram(_ text: ArraySlice<UInt8>, at place: Int) -> UInt16 {
        var word: UInt32 = 0
        for offset in 0..<width { word = word << 8 | UInt32(text[place + offset]) }
        // The upper half of a product with an odd number of golden ratio. Source: Knuth, TAOCP 3, §6.4.
        return UInt16(truncatingIfNeeded: (word &* 0x9E37_79B1) >> 16)
    }
}

/// The texts by which a device is found: its UUID, the one that another server gave it, token, custom user id and alias,
/// with case folded and as bytes.
package struct DeviceText: Sendable {
    /// The texts one after the other, each ended by a byte that UTF-8 does not use: a search makes one such array for
    /// each device that it inspects.
    private let bytes: [UInt8]
    fileprivate static let end: UInt8 = 0xFF

    package init(
        uuid: UUID, importedUUID: UUID? = nil, token: DeviceToken?, kind: PlatformKind, customUserID: String?,
        alias: String?
    ) {
        let (user, alias) = (customUserID.map(Self.folded), alias.map(Self.folded))
        var token = token?.bytes
        if !kind.spellsTokensInHex, let text = token, !text.allSatisfy({ $0 < 0x80 }) {
            token = Array(String(decoding: text, as: UTF8.self).caseFolded.utf8)
        }
        let sizeMax = 77 + 2 * (token?.count ?? 0) + (user?.utf8.count ?? 0) + (alias?.utf8.count ?? 0)
        bytes = Array(unsafeUninitializedCapacity: sizeMax) { buffer, count in
            var draft = Draft(buffer: buffer)
            draft.append(uuid)
            if let importedUUID { draft.append(importedUUID) }
            if let token { kind.spellsTokensInHex ? draft.append(hexOf: token) : draft.append(token) }
            if let user { draft.append(user.utf8) }
            if let alias { draft.append(alias.utf8) }
            count = draft.count
        }
    }

    package var fields: [ArraySlice<UInt8>] { bytes.split(separator: Self.end) }

    /// - Parameter text: with case folded.
    package func contains(_ text: [UInt8]) -> Bool {
        guard let first = text.first, bytes.count >= text.count else { return text.isEmpty }
        return bytes.withUnsafeBufferPointer { whole in
            text.withUnsafeBufferPointer { text in
                for start in 0...(whole.count - text.count) where whole[start] == first {
                    if whole[start..<start + text.count].elementsEqual(text) { return true }
                }
                return false
            }
        }
    }

    /// ASCII is folded as it is copied.
    private static func folded(_ text: String) -> String {
        text.utf8.allSatisfy { $0 < 0x80 } ? text : text.caseFolded
    }

    private struct Draft {
        let buffer: UnsafeMutableBufferPointer<UInt8>
        var count = 0

        mutating func append(_ uuid: UUID) {
            withUnsafeBytes(of: uuid.uuid) { uuid in
                for (index, byte) in uuid.enumerated() {
                    if index == 4 || index == 6 || index == 8 || index == 10 { append(UInt8(ascii: "-")) }
                    append(hexOf: byte)
                }
            }
            append(DeviceText.end)
        }

        mutating func append(hexOf token: [UInt8]) {
            for byte in token { append(hexOf: byte) }
            append(DeviceText.end)
        }

        mutating func append(_ text: some Sequence<UInt8>) {
            for byte in text { append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte) }
            append(DeviceText.end)
        }

        private mutating func append(hexOf byte: UInt8) {
            append((byte >> 4).hexDigit)
            append((byte & 15).hexDigit)
        }

        private mutating func append(_ byte: UInt8) {
            buffer[count] = byte
            count += 1
        }
    }
}
