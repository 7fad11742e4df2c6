/// What of a doomed application was counted. See `Demolition`.
enum AnalyticsDemolition {
    static let inOrder = [pushCounts, platformCounts, geofenceCounts, heartbeats]

    static let pushCounts: SQLText = """
        DELETE FROM push_count /* demolition.push_counts */
         WHERE (push_id, platform_id, kind) IN (
            SELECT push_id, platform_id, kind FROM push JOIN push_count ON push_id = push.id
             WHERE application_id = $1 LIMIT $2)
        """

    static let platformCounts: SQLText = """
        DELETE FROM platform_count /* demolition.platform_counts */
         WHERE (platform_id, hour, platform_count.kind) IN (
            SELECT platform_id, hour, platform_count.kind FROM platform JOIN platform_count ON platform_id = platform.id
             WHERE application_id = $1 LIMIT $2)
        """

    static let geofenceCounts: SQLText = """
        DELETE FROM geofence_count /* demolition.geofence_counts */
         WHERE (application_id, geofence_id, location_id, platform_id) IN (
            SELECT application_id, geofence_id, location_id, platform_id FROM geofence_count
             WHERE application_id = $1 LIMIT $2)
        """

    static let heartbeats: SQLText = """
        DELETE FROM heartbeat /* demolition.heartbeats */
         WHERE (platform_id, device_id) IN (
            SELECT platform_id, device_id FROM platform JOIN heartbeat ON platform_id = platform.id
             WHERE application_id = $1 LIMIT $2)
        """
}
