package import FoundationEssentials

extension WriteSession {
    /// Keeps the call, unless so many wait already: the way back to the old server is not worth a registration.
    package func mirror(
        _ call: MirrorCall, of device: Key<Device>, on platform: Key<Platform>,
        atMost backlogMax: Int = MirrorEntry.backlogMax
    ) throws {
        let kept = try prepared(MirrorStatements.insert).hasRow(
            platform, device, call.method.rawValue, call.body, now, backlogMax)
        if !kept { effects.unmirrored += 1 }
    }
}

extension Store {
    /// The next entries, the oldest first, without those of some devices and platforms. Drops entries that it cannot read.
    package func mirrorEntries(
        limit: Int, without failing: MirrorFailures = MirrorFailures()
    ) async throws -> [MirrorEntry] {
        let rows = try await readCommitted { [damagedRows] db in
            try db.prepared(MirrorStatements.next).all(
                limit, SQLKeys(failing.devices), SQLKeys(failing.platforms)
            ) { row in
                let key = Key<MirrorEntry>(row.integer(0))
                return (key: key, entry: try damagedRows.readable("mirror entry \(key)") { try MirrorEntry(row) })
            }
        }
        let damaged = rows.filter { $0.entry == nil }.map(\.key)
        if !damaged.isEmpty { try await settle(damaged, dropped: damaged.count) }
        return rows.compactMap(\.entry)
    }

    /// Removes entries that the old server has received, and those that it will never get.
    package func settle(_ entries: [Key<MirrorEntry>], dropped: Int = 0) async throws {
        try await write { session in
            try session.prepared(MirrorStatements.delete).send(SQLKeys(entries))
            session.effects.unmirrored += dropped
        }
    }

    /// The number of waiting entries.
    package func mirrorBacklog() async throws -> Int {
        try await readCommitted { try $0.prepared(MirrorStatements.count).first { Int($0.integer(0)) } ?? 0 }
    }

    /// Takes or renews the lease to send to the old server; only one of several nodes gets it.
    package func holdMirror(as node: UUID, for lease: Duration) async throws -> Bool {
        try await write { session in
            try session.prepared(MirrorStatements.hold).first(node, session.now, session.now + lease) { _ in true }
                ?? false
        }
    }

    /// The old server's UUID of the device; nil where it has none, or the device cannot be read.
    package func importedUUID(of device: Key<Device>, on platform: Key<Platform>) async throws -> UUID? {
        try await readCommitted { [damagedRows] db in
            let row = try db.prepared(DeviceStatements.byKey).first(device, platform) { row in
                try damagedRows.readable("device \(device)") { try DeviceRow(row) }
            }
            return row.flatMap(\.self)?.importMark?.uuid
        }
    }

    /// Notes the old server's UUID of a device that registered here first. The device keeps the UUID of this server.
    package func noteImportedUUID(_ uuid: UUID, of device: Key<Device>, on platform: Platform) async throws {
        guard secrets.naming.device(of: uuid) == nil else { return }
        try await write { session in
            try session.noteImports(on: platform)
            let other = try session.db.device(importedAs: uuid, on: [platform.key])
            guard other == nil else { return }
            try session.prepared(MirrorStatements.noteUUID).send(
                uuid, session.now, ImportMark.State.renamed.rawValue, device, platform.key)
        }
    }
}

extension MirrorEntry {
    /// From the columns of `MirrorStatements.next`.
    fileprivate init(_ row: some SQLRow) throws {
        guard let method = MirrorCall.Method(rawValue: row.text(3)) else {
            throw StoreError.damaged("mirror entry \(row.integer(0))")
        }
        self.init(
            key: Key(row.integer(0)), platformKey: Key(row.integer(1)), device: Key(row.integer(2)),
            call: MirrorCall(method, body: row.blob(4)), createdAt: Instant(milliseconds: row.integer(5)))
    }
}

enum MirrorStatements {
    /// The ids of those that wait tell how many there may be: they ascend, and are assigned once. Where that is too many, the oldest
    /// rows count one by one, up to a thousandth of the limit: many ids are gone behind an entry that the old server fails on.
    static let insert: SQLText = """
        INSERT INTO mirror_entry /* mirror.insert */ (application_id, platform_id, device_id, method, body, created_at_ms)
        SELECT application_id, id, $2, $3, $4, $5 FROM platform
         WHERE id = $1
           AND (coalesce((SELECT max(id) FROM mirror_entry) - (SELECT min(id) FROM mirror_entry) + 1, 0) < $6
             OR coalesce((SELECT max(id) FROM mirror_entry)
                  - (SELECT id FROM mirror_entry ORDER BY id LIMIT 1 OFFSET $6 / 1000) + 1, 0) < $6 - $6 / 1000)
        RETURNING id
        """

    static let noteUUID: SQLText = """
        UPDATE device /* mirror.note_uuid */
           SET imported_uuid = $1, imported_at_ms = coalesce(imported_at_ms, $2), import_stage = coalesce(import_stage, $3)
         WHERE id = $4 AND platform_id = $5 AND imported_uuid IS NULL
        """

    static let next: SQLText = """
        SELECT id, platform_id, device_id, method, body, created_at_ms /* mirror.next */ FROM mirror_entry
         WHERE NOT device_id \(among: "$2") AND NOT platform_id \(among: "$3") ORDER BY id LIMIT $1
        """

    static let delete: SQLText = "DELETE FROM mirror_entry /* mirror.delete */ WHERE id \(among: "$1")"

    static let count: SQLText = "SELECT count(*) /* mirror.count */ FROM mirror_entry"

    /// One row; another node takes it over when its time is past.
    static let hold: SQLText = """
        INSERT INTO mirror_holder /* mirror.hold */ (id, holder, held_until_ms) VALUES (1, $1, $3)
            ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, held_until_ms = excluded.held_until_ms
         WHERE mirror_holder.holder = excluded.holder OR mirror_holder.held_until_ms < $2
        RETURNING id
        """
}

/// A registration, or the end of one, that is also sent to an old server.
package struct MirrorEntry: Sendable, Hashable {
    /// In the order of the keys, entries of one device follow one another.
    package let key: Key<MirrorEntry>
    package let platformKey: Key<Platform>
    package let device: Key<Device>
    package let call: MirrorCall
    package let createdAt: Instant

    /// The most calls that wait for an old server: some days of registrations of a large installation.
    package static let backlogMax = 2_000_000
    /// An entry of this age is dropped when the old server fails on it once more.
    package static let ageMax = Duration.seconds(7 * 86_400)
}

/// A request that an app made.
package struct MirrorCall: Sendable, Hashable {
    package enum Method: String, Sendable, Hashable, CaseIterable {
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    package let method: Method
    /// As the app sent it.
    package let body: [UInt8]

    package init(_ method: Method, body: [UInt8] = []) {
        self.method = method
        self.body = body
    }
}

/// An old server that is sent registrations during a dual run.
package protocol MirrorServer: Sendable {
    /// Answers within `MirrorWorker.callDeadline`.
    ///
    /// - Parameter uuid: the old server's UUID of the device; nil where it does not know the device.
    func tell(_ call: MirrorCall, of uuid: UUID?, on platform: Platform) async -> MirrorVerdict
}

package enum MirrorVerdict: Sendable, Hashable {
    /// Accepted, with the old server's UUID of the device where it sent one.
    case heard(UUID?)
    /// Refused for good, with the status of the answer.
    case refused(Int)
    /// The old server did not answer, or failed.
    case unheard
    /// The old server did not take the secret of the platform, or is not at that address any more.
    case doubted
}

/// Devices and platforms that the old server did not hear of in a pass.
package struct MirrorFailures: Sendable {
    var devices: Set<Key<Device>> = []
    var platforms: Set<Key<Platform>> = []

    package init() {}

    var isEmpty: Bool { devices.isEmpty && platforms.isEmpty }
}

extension Schema {
    static let mirror = SchemaPart(
        [
            StoreTable("mirror_entry", rows: .operators, of: .application),
            StoreTable("mirror_holder", rows: .operators, isCopied: false),
        ],
        sql: """
            -- What an old server has yet to hear of during a dual run; see `MirrorEntry`. It names no platform or device as a foreign key,
            -- for it may outlive them.
            CREATE TABLE mirror_entry (
                id \(.key),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                platform_id \(.bigint) NOT NULL,
                device_id \(.bigint) NOT NULL,
                method text NOT NULL CHECK (method IN ('POST', 'PUT', 'DELETE')),
                body \(.bytes) NOT NULL,
                created_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE INDEX mirror_entry_application ON mirror_entry (application_id);

            -- Which node tells the old server, and until when.
            CREATE TABLE mirror_holder (
                id \(.bigint) PRIMARY KEY CHECK (id = 1),
                \(uuid: "holder", "NOT NULL"),
                held_until_ms \(.bigint) NOT NULL
            ) \(.byID);
            """)
}
