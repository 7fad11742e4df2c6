package import BelfryCore
import PostgreSQL

extension PostgresStore {
    /// For so long no other node tells devices what this one is about to tell them.
    private static let noticeLease = Duration.seconds(30)

    package func dueGeofenceNotices(atMost limit: Int) async throws -> [GeofenceNotice] {
        try await write { [node] session in
            let notices = try session.prepared(NoticeStatements.claim).all(
                session.now, limit, node, session.now + Self.noticeLease
            ) { row in
                let notice = GeofenceNotice(
                    platformKey: Key(row.integer(0)), applicationKey: Key(row.integer(1)),
                    changeCount: row.integer(2))
                return (dueAt: row.integer(3), notice: notice)
            }
            return notices.sorted { $0.dueAt < $1.dueAt }.map(\.notice)
        }
    }
}

extension NoticeStatements {
    /// Those that are due and that no other node holds. Walks `geofence_notice_due`.
    static let claim = """
        WITH due /* geofence_notices.claim */ AS MATERIALIZED (
            SELECT platform_id FROM geofence_notice
             WHERE due_at_ms <= $1 AND (holder IS NULL OR holder = $3 OR held_until_ms <= $1)
             ORDER BY due_at_ms
             LIMIT $2
               FOR UPDATE SKIP LOCKED)
        UPDATE geofence_notice SET holder = $3, held_until_ms = $4
          FROM due
         WHERE geofence_notice.platform_id = due.platform_id
        RETURNING geofence_notice.platform_id, application_id, change_count, due_at_ms
        """
}
