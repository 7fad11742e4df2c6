/// What of a doomed application belongs to its map. See `Demolition`.
enum GeofenceDemolition {
    static let inOrder = [
        notices, deletions, stamps, geofenceLocations, geofences, groupMembers, groups, locations,
    ]

    static let notices: SQLText = """
        DELETE FROM geofence_notice /* demolition.geofence_notices */
         WHERE platform_id IN (SELECT platform_id FROM geofence_notice WHERE application_id = $1 LIMIT $2)
        """

    static let deletions: SQLText = """
        DELETE FROM geofence_deletion /* demolition.geofence_deletions */
         WHERE (application_id, changed_at_ms) IN (
            SELECT application_id, changed_at_ms FROM geofence_deletion WHERE application_id = $1 LIMIT $2)
        """

    static let stamps: SQLText = """
        DELETE FROM geofence_stamp /* demolition.geofence_stamps */
         WHERE application_id IN (SELECT application_id FROM geofence_stamp WHERE application_id = $1 LIMIT $2)
        """

    static let geofenceLocations: SQLText = """
        DELETE FROM geofence_location /* demolition.geofence_locations */
         WHERE (geofence_id, position) IN (
            SELECT geofence_id, position FROM geofence JOIN geofence_location ON geofence_id = geofence.id
             WHERE application_id = $1 LIMIT $2)
        """

    static let geofences: SQLText = """
        DELETE FROM geofence /* demolition.geofences */
         WHERE id IN (SELECT id FROM geofence WHERE application_id = $1 LIMIT $2)
        """

    static let groupMembers: SQLText = """
        DELETE FROM location_group_member /* demolition.location_group_members */
         WHERE (group_id, position) IN (
            SELECT group_id, position FROM location_group JOIN location_group_member ON group_id = location_group.id
             WHERE application_id = $1 LIMIT $2)
        """

    static let groups: SQLText = """
        DELETE FROM location_group /* demolition.location_groups */
         WHERE id IN (SELECT id FROM location_group WHERE application_id = $1 LIMIT $2)
        """

    static let locations: SQLText = """
        DELETE FROM location /* demolition.locations */
         WHERE id IN (SELECT id FROM location WHERE application_id = $1 LIMIT $2)
        """
}
