import BelfryCore
import GRDB

/// Finds the devices whose texts contain a text, ascending, from one snapshot.
///
/// The catalogue names those that may; each is looked at, and so is every device that is not catalogued yet. A text too
/// short for the catalogue, or one that it names too many devices for, is looked for in all devices of the platforms, one by
/// one, for as long as the budget allows: what others have costs nothing.
struct TextSearch {
    let db: Database
    let text: [UInt8]
    let naming: DeviceNaming
    let platforms: [Platform]
    /// The id of a topic that an active device has to have, on top.
    let topic: Int64?
    let now: Instant
    let budget: SearchBudget
    private let kinds: [Key<Platform>: PlatformKind]

    /// More than these are not looked up one by one; passing over all devices costs as much.
    private static let candidatesMax = 65_536
    private static let rowsBetweenGlances = 1_024

    init(
        db: Database, text: [UInt8], naming: DeviceNaming, platforms: [Platform], topic: Int64?, now: Instant,
        budget: SearchBudget
    ) {
        self.db = db
        self.text = text
        self.naming = naming
        self.platforms = platforms
        self.topic = topic
        self.now = now
        self.budget = budget
        kinds = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0.kind) })
    }

    /// Calls `body` with each device found behind `after`, until it returns false.
    func each(after: Key<Device>?, _ body: (Key<Device>) throws -> Bool) throws {
        let after = after?.rawValue ?? 0
        guard !platforms.isEmpty else { return }
        guard let candidates = try candidates() else { return try passOver(after: after, body) }
        let mark = try db.prepared(TextSearchStatements.mark).first { $0.integer(0) } ?? 0
        let named = candidates.filter { $0 > after && $0 <= mark }.sorted()
        if try lookUp(named, body) { try passOver(after: max(after, mark), body) }
    }

    // MARK: Looking at devices

    /// Returns whether `body` wants more.
    private func lookUp(_ candidates: [Int64], _ body: (Key<Device>) throws -> Bool) throws -> Bool {
        let statement = try db.prepared(TextSearchStatements.byKey)
        for (index, candidate) in candidates.enumerated() {
            try glance(index)
            let isFound = try statement.first(candidate, as: holds) ?? false
            if isFound, try !body(Key(candidate)) { return false }
        }
        return true
    }

    private func passOver(after: Int64, _ body: (Key<Device>) throws -> Bool) throws {
        var run = try DeviceRun(.registered, on: platforms, after: Key(after), now: now, db)
        while case let devices = try run.next(Self.rowsBetweenGlances), !devices.isEmpty {
            guard try lookUp(devices.map(\.rawValue), body) else { return }
        }
    }

    private func holds(_ row: Columns) throws -> Bool {
        guard let kind = kinds[Key(row.integer(1))] else { return false }
        if let topic {
            guard row.integer(5) > 0, try row.withBlob(6, { try TopicList.decode($0) }).contains(topic) else {
                return false
            }
        }
        return CatalogueEntry(row, kind: kind, naming: naming).text.contains(text)
    }

    private func glance(_ index: Int) throws {
        if index.isMultiple(of: Self.rowsBetweenGlances) { try budget.check() }
    }

    // MARK: The catalogue

    /// All catalogued devices that may be meant; nil when that is too many, or cannot be told.
    private func candidates() throws -> Set<Int64>? {
        guard let sequences = TextGrams.sequences(in: text) else { return nil }
        var found: [Int64] = []
        let drawers = try db.prepared(TextSearchStatements.drawer)
        for volume in try db.prepared(TextSearchStatements.volumes).all(as: { $0.integer(0) }) {
            try budget.check()
            let places = try sequences.flatMap { try self.places(of: $0, in: volume, drawers) }
            guard !places.isEmpty else { continue }
            found += try devices(at: places, in: volume)
            guard found.count <= Self.candidatesMax else { return nil }
        }
        found += try db.prepared(TextSearchStatements.errata).all(Self.candidatesMax + 1) { $0.integer(0) }
        return found.count <= Self.candidatesMax ? Set(found) : nil
    }

    /// Places of a volume that have all the grams.
    private func places(of grams: [UInt16], in volume: Int64, _ drawers: Prepared) throws -> [UInt16] {
        try VolumeDraft.places(ofAll: grams) { gram in
            let card = Catalogue.card(volume, VolumeDraft.drawer(of: gram))
            return try drawers.first(card) { $0.withBlob(0) { VolumeDraft.places(of: gram, in: $0) } } ?? []
        }
    }

    private func devices(at places: [UInt16], in volume: Int64) throws -> [Int64] {
        let devices = try db.prepared(TextSearchStatements.devices).first(volume) { row in
            row.withBlob(0) { DeviceList.decode($0) }
        }
        guard let devices = devices ?? nil, places.allSatisfy({ $0 < devices.count }) else {
            throw StoreError.damaged("volume \(volume) of the catalogue")
        }
        return places.map { devices[Int($0)].rawValue }
    }
}

enum TextSearchStatements {
    static let byKey = """
        SELECT id, platform_id, token, custom_user_id, alias, reach, topics /* search.by_key */
          FROM device
         WHERE id = ?1
        """

    static let volumes = """
        SELECT id /* search.volumes */ FROM catalogue_volume ORDER BY id
        """

    static let drawer = """
        SELECT places /* search.drawer */ FROM catalogue_card WHERE id = ?1
        """

    static let devices = """
        SELECT devices /* search.devices */ FROM catalogue_volume WHERE id = ?1
        """

    /// The last device that is catalogued.
    static let mark = """
        SELECT device_id /* search.mark */ FROM catalogue WHERE id = 1
        """

    /// Those that changed since they were catalogued.
    static let errata = """
        SELECT device_id /* search.errata */ FROM catalogue_erratum LIMIT ?1
        """
}
