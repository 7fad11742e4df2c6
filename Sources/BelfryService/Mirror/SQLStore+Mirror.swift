import FoundationEssentials

extension SQLStore {
    package func mirror(
        _ call: MirrorCall, of device: Key<Device>, on platform: Key<Platform>, atMost backlogMax: Int
    ) async throws -> Bool {
        try await write { session in
            let kept = try session.prepared(MirrorStatements.insert).run(
                platform, device, call.method.rawValue, call.body, session.now, backlogMax)
            guard try kept > 0 || session.prepared(PlatformStatements.exists).hasRow(platform) else {
                throw StoreError.unknown("platform \(platform)")
            }
            return kept > 0
        }
    }

    package func mirrorEntries(limit: Int) async throws -> [MirrorEntry] {
        try await readCommitted { [damagedRows] db in
            try db.prepared(MirrorStatements.next).all(limit) { row in
                try damagedRows.readable("mirror entry \(row.integer(0))") { try MirrorEntry(row) }
            }.compactMap(\.self)
        }
    }

    package func settle(_ entries: [Key<MirrorEntry>]) async throws {
        try await write { try $0.prepared(MirrorStatements.delete).send(SQLKeys(entries)) }
    }

    package func mirrorBacklog() async throws -> Int {
        try await readCommitted { try $0.prepared(MirrorStatements.count).first { Int($0.integer(0)) } ?? 0 }
    }

    package func holdMirror(as node: UUID, for lease: Duration) async throws -> Bool {
        try await write { session in
            try session.prepared(MirrorStatements.hold).first(node, session.now, session.now + lease) { _ in true }
                ?? false
        }
    }

    package func importedUUID(of device: Key<Device>, on platform: Key<Platform>) async throws -> UUID? {
        try await readCommitted { db in
            try db.prepared(DeviceStatements.byKey).first(device, platform, as: DeviceRow.init)?.importMark?.uuid
        }
    }

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
            call: MirrorCall(method, body: row.blob(4)))
    }
}

enum MirrorStatements {
    /// The ids of those that wait tell how many there may be: they ascend, and are assigned once.
    static let insert: SQLText = """
        INSERT INTO mirror_entry /* mirror.insert */ (application_id, platform_id, device_id, method, body, created_at_ms)
        SELECT application_id, id, $2, $3, $4, $5 FROM platform
         WHERE id = $1
           AND coalesce((SELECT max(id) FROM mirror_entry) - (SELECT min(id) FROM mirror_entry) + 1, 0) < $6
        """

    static let noteUUID: SQLText = """
        UPDATE device /* mirror.note_uuid */
           SET imported_uuid = $1, imported_at_ms = coalesce(imported_at_ms, $2), import_stage = coalesce(import_stage, $3)
         WHERE id = $4 AND platform_id = $5 AND imported_uuid IS NULL
        """

    static let next: SQLText = """
        SELECT id, platform_id, device_id, method, body /* mirror.next */ FROM mirror_entry ORDER BY id LIMIT $1
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
