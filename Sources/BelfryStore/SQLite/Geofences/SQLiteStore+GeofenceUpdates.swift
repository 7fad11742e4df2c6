package import BelfryCore

extension SQLiteStore {
    package func dueGeofenceUpdates(atMost limit: Int) async throws -> [GeofenceUpdate] {
        let now = clock.now
        return try await read { db in
            try db.prepared(GeofenceUpdateStatements.due).all(now, limit) { row in
                GeofenceUpdate(
                    platformKey: Key(row.integer(0)), applicationKey: Key(row.integer(1)),
                    changeCount: row.integer(2))
            }
        }
    }
}

extension GeofenceUpdateStatements {
    /// Scans `geofence_update_due`.
    static let due = """
        SELECT platform_id, application_id, change_count /* geofence_updates.due */
          FROM geofence_update
         WHERE due_at_ms <= ?1
         ORDER BY due_at_ms
         LIMIT ?2
        """
}
