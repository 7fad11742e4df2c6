import GRDB
import PostgreSQL

/// Finds devices by their tokens, and adds new ones to `device_token` many at a time.
///
/// A token belongs on a random page of that table, which would have to be found, changed and logged for it alone. So
/// the writer remembers the tokens of new devices, and when there are many moves those of one slice of all hashes into
/// the table, where they share pages. Every match is verified in the device's row; a row that loses its token is
/// removed from the table by the schema.
/// See docs/decisions/0006-what-a-registration-costs.md.
struct TokenIndex {
    let session: SQLiteWriteSession

    /// Unindexed tokens that trigger clearing a slice.
    static let unindexedMax = 65_536

    /// The device of a token, or of another token of the same installation. Both hash to `hash`.
    func holder(of token: DeviceToken, _ hash: Int64, on platform: Key<Platform>) throws -> DeviceRow? {
        try recall()
        let place = UnindexedTokens.Place(hash: hash, platform: platform)
        if let fresh = session.unindexedTokens?[place], let row = try session.device(fresh, on: platform),
            row.token?.identity == token.identity
        {
            return row
        }
        return try session.prepared(SQLiteDeviceStatements.byToken).all(platform, hash, as: DeviceRow.init)
            .first { $0.token?.identity == token.identity }
    }

    /// Called for a device whose row has a new token.
    func note(_ hash: Int64, of device: Key<Device>, on platform: Key<Platform>) throws {
        try recall()
        let place = UnindexedTokens.Place(hash: hash, platform: platform)
        if let displaced = session.unindexedTokens?.put(device, at: place) { try insert(hash, displaced) }
        if isDue { session.tokensAreDue = true }
    }

    /// Several writes may have asked for the same step.
    func stepIfDue() throws {
        try recall()
        if isDue { try step() }
    }

    /// Clears the fullest slice.
    func step() throws {
        try recall()
        guard let slice = session.unindexedTokens?.fullest else { return }
        let newest = try session.prepared(SQLiteSubscriptionStatements.lastDevice).first { $0.integer(0) } ?? 0
        let unindexed = session.unindexedTokens?.clear(slice, until: newest) ?? []
        for (place, device) in unindexed { try insert(place.hash, device) }
        try session.prepared(TokenIndexStatements.setMark).run(newest, slice)
    }

    /// Adds all devices to the table, when many were written without `note`.
    func addAll() throws {
        try session.prepared(TokenIndexStatements.addAll).run()
        try session.prepared(TokenIndexStatements.setMarks).run()
        session.unindexedTokens = nil
    }

    private var isDue: Bool { session.unindexedTokens.map { $0.count >= Self.unindexedMax } ?? false }

    private func insert(_ hash: Int64, _ device: Key<Device>) throws {
        try session.prepared(TokenIndexStatements.insert).run(hash, device)
    }

    /// Reads the tokens that the writer has dropped, or another process wrote.
    private func recall() throws {
        guard session.unindexedTokens == nil else { return }
        var unindexed = UnindexedTokens(marks: try session.prepared(TokenIndexStatements.marks).all { $0.integer(0) })
        var displaced: [(hash: Int64, device: Key<Device>)] = []
        try session.prepared(TokenIndexStatements.beyond).each(unindexed.firstMark) { row in
            let place = UnindexedTokens.Place(hash: row.integer(2), platform: Key(row.integer(1)))
            let device = Key<Device>(row.integer(0))
            guard device.rawValue > unindexed.mark(of: place.hash) else { return }
            if let other = unindexed.put(device, at: place) { displaced.append((place.hash, other)) }
        }
        session.unindexedTokens = unindexed
        for (hash, device) in displaced { try insert(hash, device) }
    }
}

/// The devices whose tokens are not in `device_token` yet, by slices of the hashes.
///
/// The table has the tokens of all devices of a slice up to its mark; those of later devices are here, and may have
/// lost their token since.
struct UnindexedTokens {
    struct Place: Hashable {
        let hash: Int64
        let platform: Key<Platform>
    }

    /// The number of slices: so many that other writes do not wait long for one, and so few that a slice has several
    /// tokens for each of its pages.
    static let sliceCount = 64

    private var slices: [[Place: Key<Device>]]
    private var marks: [Int64]
    private(set) var count = 0

    init(marks: [Int64]) {
        self.marks = marks
        slices = Array(repeating: [:], count: marks.count)
    }

    /// The first device that may be here comes after this one.
    var firstMark: Int64 { marks.min() ?? 0 }

    /// nil when all are empty.
    var fullest: Int? {
        let fullest = slices.indices.max { slices[$0].count < slices[$1].count }
        return fullest.flatMap { slices[$0].isEmpty ? nil : $0 }
    }

    func mark(of hash: Int64) -> Int64 { marks[Self.slice(of: hash)] }

    subscript(place: Place) -> Key<Device>? { slices[Self.slice(of: place.hash)][place] }

    /// Returns the device whose token has to be written to the table at once, if there is one: an old device, or one
    /// that was here with another token of the same hash.
    mutating func put(_ device: Key<Device>, at place: Place) -> Key<Device>? {
        let slice = Self.slice(of: place.hash)
        guard device.rawValue > marks[slice] else { return device }
        let displaced = slices[slice].updateValue(device, forKey: place)
        if displaced == nil { count += 1 }
        return displaced == device ? nil : displaced
    }

    /// Empties a slice whose devices end with `newest`, and returns its content, in the order of the hashes.
    mutating func clear(_ slice: Int, until newest: Int64) -> [(place: Place, device: Key<Device>)] {
        let held = slices[slice].map { (place: $0.key, device: $0.value) }
        slices[slice].removeAll(keepingCapacity: true)
        marks[slice] = newest
        count -= held.count
        return held.sorted { $0.place.hash < $1.place.hash }
    }

    /// Slices are in the order of the hashes in the table.
    private static func slice(of hash: Int64) -> Int { Int(hash >> 58) + sliceCount / 2 }
}

enum TokenIndexStatements {
    static let marks = "SELECT device_id /* tokens.marks */ FROM token_mark ORDER BY slice"

    static let setMark = "UPDATE token_mark /* tokens.set_mark */ SET device_id = ?1 WHERE slice = ?2"

    static let addAll = """
        INSERT OR IGNORE INTO device_token /* tokens.add_all */ (token_hash, device_id)
        SELECT token_hash, id FROM device
         WHERE id > (SELECT min(device_id) FROM token_mark) AND token_hash IS NOT NULL
         ORDER BY token_hash
        """

    static let setMarks = """
        UPDATE token_mark /* tokens.set_marks */ SET device_id = (SELECT coalesce(max(id), 0) FROM device)
        """

    static let beyond = """
        SELECT id, platform_id, token_hash /* tokens.beyond */
          FROM device
         WHERE id > ?1 AND token_hash IS NOT NULL
        """

    /// Does nothing when the device has lost the token.
    static let insert = """
        INSERT OR IGNORE INTO device_token /* tokens.insert */ (token_hash, device_id)
        SELECT token_hash, id FROM device WHERE id = ?2 AND token_hash = ?1
        """
}

extension PostgresStore {
    package func holders(
        of tokens: [DeviceToken], on platform: Key<Platform>
    ) async throws -> [DeviceToken: TokenHolder] {
        let hashes = tokens.map { secrets.hash($0) }
        return try await readCommitted { [secrets] db in
            var rows: [[UInt8]: DeviceRow] = [:]
            try db.prepared(PostgresTokenHolderStatements.byToken).each(
                platform, PostgresArray(hashes)
            ) { row in
                let row = try DeviceRow(row)
                if let token = row.token { rows[token.identity] = row }
            }
            var holders: [DeviceToken: TokenHolder] = [:]
            for token in tokens {
                guard let device = rows[token.identity]?.device(naming: secrets.naming, topicNames: []) else {
                    continue
                }
                holders[token] = TokenHolder(device: device.key, uuid: device.uuid, isActive: device.isActive)
            }
            return holders
        }
    }
}

enum PostgresTokenHolderStatements {
    /// Looks each up in `device_token`; see `PostgresDeviceStatements`.
    static let byToken = """
        SELECT \(DeviceRow.columns) /* token_holders.by_token */
          FROM device
         WHERE token_hash = ANY ($2) AND token_hash IS NOT NULL AND platform_id + 0 = $1
        """
}

extension SQLiteStore {
    /// Asks the writer, which alone knows the tokens of the newest devices; see `TokenIndex`.
    package func holders(
        of tokens: [DeviceToken], on platform: Key<Platform>
    ) async throws -> [DeviceToken: TokenHolder] {
        let hashes = tokens.map { ($0, secrets.hash(of: $0)) }
        return try await write { session in
            let index = TokenIndex(session: session)
            var holders: [DeviceToken: TokenHolder] = [:]
            for (token, hash) in hashes {
                guard let row = try index.holder(of: token, hash, on: platform) else { continue }
                let device = row.device(naming: session.secrets.naming, topicNames: [])
                holders[token] = TokenHolder(device: device.key, uuid: device.uuid, isActive: device.isActive)
            }
            return holders
        }
    }
}
