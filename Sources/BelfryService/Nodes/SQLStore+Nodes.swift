import FoundationEssentials

extension SQLStore {
    package func recordHeartbeat(_ report: NodeReport) async throws {
        try await write { session in
            try session.prepared(NodeStatements.heartbeat).send(
                report.uuid, report.host, report.version, session.now, report.batchesInFlight, report.isDraining,
                report.address)
            try session.prepared(NodeStatements.forget).send(session.now + (.zero - Node.deletedAfter))
        }
    }

    package func remove(_ node: UUID) async throws {
        try await write { try $0.prepared(NodeStatements.remove).send(node) }
    }

    package func nodes() async throws -> [Node] {
        let now = clock.now
        return try await readCommitted { [damagedRows] db in
            try db.prepared(NodeStatements.all).all { row in
                try damagedRows.readable("node \(row.text(1))") { try Node(row, now: now) }
            }.compactMap(\.self)
        }
    }
}

extension Node {
    fileprivate init(_ row: some SQLRow, now: Instant) throws {
        guard let uuid = row.uuid(0) else { throw StoreError.damaged("a node") }
        self.init(
            NodeReport(
                uuid: uuid, host: row.text(1), address: row.text(7), version: row.text(2),
                batchesInFlight: Int(row.integer(5)),
                isDraining: row.bool(6)),
            since: Instant(milliseconds: row.integer(3)), lastSeenAt: Instant(milliseconds: row.integer(4)), now: now)
    }
}

enum NodeStatements {
    static let heartbeat: SQLText = """
        INSERT INTO node /* nodes.heartbeat */ (uuid, host, version, since_ms, last_seen_at_ms, batch_count, is_draining, address)
        VALUES ($1, $2, $3, $4, $4, $5, $6, $7)
            ON CONFLICT (uuid) DO UPDATE
           SET last_seen_at_ms = excluded.last_seen_at_ms, batch_count = excluded.batch_count,
               is_draining = excluded.is_draining
        """

    /// There are only a few. Skips a row that another node's heartbeat has locked.
    static let forget: SQLText = """
        DELETE FROM node /* nodes.forget */
         WHERE uuid IN (SELECT uuid FROM node WHERE last_seen_at_ms < $1 \(SQLText.forUpdateSkipLocked))
        """

    static let remove: SQLText = "DELETE FROM node /* nodes.remove */ WHERE uuid = $1"

    static let all: SQLText = """
        SELECT uuid, host, version, since_ms, last_seen_at_ms, batch_count, is_draining, address /* nodes.all */
          FROM node
         ORDER BY since_ms, uuid
        """
}
