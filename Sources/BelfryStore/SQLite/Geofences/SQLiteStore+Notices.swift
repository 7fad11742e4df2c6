package import BelfryCore

extension SQLiteStore {
    package func dueGeofenceNotices(atMost limit: Int) async throws -> [GeofenceNotice] {
        let now = clock.now
        return try await read { db in
            try db.prepared(NoticeStatements.due).all(now, limit) { row in
                GeofenceNotice(
                    platformKey: Key(row.integer(0)), applicationKey: Key(row.integer(1)),
                    changeCount: row.integer(2))
            }
        }
    }
}

extension NoticeStatements {
    /// Walks `geofence_notice_due`.
    static let due = """
        SELECT platform_id, application_id, change_count /* geofence_notices.due */
          FROM geofence_notice
         WHERE due_at_ms <= ?1
         ORDER BY due_at_ms
         LIMIT ?2
        """
}
