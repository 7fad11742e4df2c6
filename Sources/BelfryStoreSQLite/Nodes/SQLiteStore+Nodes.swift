package import BelfryCore
package import FoundationEssentials
import GRDB

extension SQLiteStore: NodeStore {
    package func beat(_ report: NodeReport) async throws {
        try await writer.write { session in
            let now = session.clock.now
            try session.prepared(NodeStatements.beat).run(
                report.uuid, report.host, report.version, now, report.pagesInAir, report.isDraining)
            try session.prepared(NodeStatements.forget).run(now + (.zero - Node.forgottenAfter))
        }
    }

    package func leave(_ node: UUID) async throws {
        try await writer.write { try $0.prepared(NodeStatements.leave).run(node) }
    }

    package func nodes() async throws -> [Node] {
        let now = clock.now
        return try await read { db in
            try db.prepared(NodeStatements.all).all { try Node($0, now: now) }
        }
    }
}

extension Node {
    fileprivate init(_ row: Columns, now: Instant) throws {
        guard let uuid = row.withBlob(0, { UUID(bytes: $0) }) else {
            throw StoreError.damaged("a node")
        }
        self.init(
            NodeReport(
                uuid: uuid, host: row.text(1), version: row.text(2), pagesInAir: Int(row.integer(5)),
                isDraining: row.integer(6) != 0),
            since: Instant(milliseconds: row.integer(3)), lastSeenAt: Instant(milliseconds: row.integer(4)), now: now)
    }
}

enum NodeStatements {
    static let beat = """
        INSERT INTO node /* nodes.beat */ (uuid, host, version, since_ms, last_seen_at_ms, page_count, is_draining)
        VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6)
            ON CONFLICT (uuid) DO UPDATE
           SET last_seen_at_ms = excluded.last_seen_at_ms, page_count = excluded.page_count,
               is_draining = excluded.is_draining
        """

    /// There are a few.
    static let forget = "DELETE FROM node /* nodes.forget */ WHERE last_seen_at_ms < ?1"

    static let leave = "DELETE FROM node /* nodes.leave */ WHERE uuid = ?1"

    static let all = """
        SELECT uuid, host, version, since_ms, last_seen_at_ms, page_count, is_draining /* nodes.all */
          FROM node
         ORDER BY since_ms, uuid
        """
}
