package import BelfryCore
import PostgreSQL

extension PostgresStore {
    /// How long a node reserves an update.
    private static let updateLease = Duration.seconds(30)

    package func dueGeofenceUpdates(atMost limit: Int) async throws -> [GeofenceUpdate] {
        try await write { [node] session in
            let updates = try session.prepared(GeofenceUpdateStatements.claim).all(
                session.now, limit, node, session.now + Self.updateLease
            ) { row in
                let update = GeofenceUpdate(
                    platformKey: Key(row.integer(0)), applicationKey: Key(row.integer(1)),
                    changeCount: row.integer(2))
                return (dueAt: row.integer(3), update: update)
            }
            return updates.sorted { $0.dueAt < $1.dueAt }.map(\.update)
        }
    }
}

extension GeofenceUpdateStatements {
    /// Due updates that no other node has reserved. Scans `geofence_update_due`.
    static let claim = """
        WITH due /* geofence_updates.claim */ AS MATERIALIZED (
            SELECT platform_id FROM geofence_update
             WHERE due_at_ms <= $1 AND (holder IS NULL OR holder = $3 OR held_until_ms <= $1)
             ORDER BY due_at_ms
             LIMIT $2
               FOR UPDATE SKIP LOCKED)
        UPDATE geofence_update SET holder = $3, held_until_ms = $4
          FROM due
         WHERE geofence_update.platform_id = due.platform_id
        RETURNING geofence_update.platform_id, application_id, change_count, due_at_ms
        """
}
