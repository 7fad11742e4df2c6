extension SQLConnection {
    func geofence(_ key: Key<Geofence>, of application: Key<Application>) throws -> Geofence? {
        try prepared(GeofenceStatements.byKey).first(key, application) { try geofence($0) }
    }

    /// From the columns of `GeofenceStatements.byKey`, `listed`, `active` and `changed`.
    func geofence(_ row: some SQLRow) throws -> Geofence {
        let key = Key<Geofence>(row.integer(0))
        let own = try prepared(GeofenceStatements.locations).all(key, as: Location.init)
        let groups = try prepared(GeofenceStatements.groups).all(key) { Key<LocationGroup>($0.integer(0)) }
        let ofGroups =
            groups.isEmpty ? [] : try prepared(GeofenceStatements.groupLocations).all(key, as: Location.init)
        guard
            let trigger = GeofencePlan.Trigger(rawValue: row.text(1)),
            let platform = GeofencePlatform(rawValue: row.text(2)),
            let phase = GeofencePhase(rawValue: row.integer(7))
        else { throw StoreError.damaged("geofence \(key)") }
        let plan = try StoreError.reading("geofence \(key)") {
            GeofencePlan(
                stored: own.map(\.key), groups: groups, trigger: trigger, platform: platform,
                tags: try [String](storedTags: row.blob(3)), data: try GeofenceData(stored: row.blob(4)),
                startsAt: Instant(milliseconds: row.integer(5)), expiresAt: Instant(milliseconds: row.integer(6)))
        }
        return Geofence(
            key: key, plan: plan, locations: (own + ofGroups).withoutRepeats, phase: phase,
            createdAt: Instant(milliseconds: row.integer(8)), updatedAt: Instant(milliseconds: row.integer(9)))
    }

    func geofenceHead(_ key: Key<Geofence>, of application: Key<Application>) throws -> GeofenceHead? {
        try prepared(GeofenceStatements.head).first(key, application, as: GeofenceHead.init)
    }
}

extension DamagedRows {
    /// nil when it cannot be read.
    func geofence(_ row: some SQLRow, in db: some SQLConnection) throws -> Geofence? {
        try readable("geofence \(row.integer(0))") { try db.geofence(row) }
    }
}

extension GeofenceHead {
    /// From the columns of `GeofenceStatements.head` and `due`.
    init(_ row: some SQLRow) {
        self.init(
            key: Key(row.integer(0)), applicationKey: Key(row.integer(1)),
            platform: GeofencePlatform(rawValue: row.text(2)), startsAt: Instant(milliseconds: row.integer(3)),
            expiresAt: Instant(milliseconds: row.integer(4)), phase: GeofencePhase(rawValue: row.integer(5)),
            dueAt: row.instantIfAny(6))
    }
}

extension [String] {
    init(storedTags text: [UInt8]) throws(InvalidInput) {
        var tags: [String] = []
        try JSONReader.list(text) { reader, index throws(InvalidInput) in
            tags.append(try reader.string("tags[\(index)]") ?? "")
        }
        self = tags
    }
}

extension GeofencePlan {
    /// The columns that hold JSON.
    var columns: (tags: String, data: String) { (JSONValue.strings(tags).storedText, data.storedText) }
}

enum GeofenceStatements {
    static let insert: SQLText = """
        INSERT INTO geofence /* geofences.insert */ (
            application_id, trigger_type, platform, tags, data, starts_at_ms, expires_at_ms, phase, due_at_ms,
            changed_at_ms, created_at_ms, updated_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
        RETURNING id
        """

    /// Inserts nothing where the id is another's.
    static let insertWithKey: SQLText = """
        INSERT INTO geofence /* geofences.insert_with_key */ (
            id, application_id, trigger_type, platform, tags, data, starts_at_ms, expires_at_ms, phase, due_at_ms,
            changed_at_ms, created_at_ms, updated_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)
            ON CONFLICT (id) DO NOTHING
        RETURNING id
        """

    /// Ids that are given later are above this one, as SQLite sees to by itself.
    static let raiseLastKey: SQLText = """
        SELECT \(
            sqlite: "$1", postgres: "setval('geofence_id_seq', greatest($1, (SELECT last_value FROM geofence_id_seq)))")
            /* geofences.raise_last_key */
        """

    static let update: SQLText = """
        UPDATE geofence /* geofences.update */
           SET trigger_type = $1, platform = $2, tags = $3, data = $4, starts_at_ms = $5, expires_at_ms = $6,
               phase = $7, due_at_ms = $8, changed_at_ms = coalesce($9, changed_at_ms), updated_at_ms = $10,
               known_until_ms = CASE WHEN changed_at_ms IS NULL THEN 0 ELSE \(knownUntil("$12")) END
         WHERE id = $11
        """

    /// The latest end that devices may know. Where an earlier release did not keep it, it is the parameter's.
    private static func knownUntil(_ parameter: String) -> SQLText {
        """
        \(SQLText.greatest)(
            expires_at_ms,
            coalesce(known_until_ms, CASE WHEN updated_at_ms > created_at_ms THEN CAST(\(parameter) AS bigint) ELSE 0 END))
        """
    }

    static let turn: SQLText = """
        UPDATE geofence /* geofences.turn */
           SET phase = $1, due_at_ms = $2, changed_at_ms = coalesce($3, changed_at_ms)
         WHERE id = $4
        """

    static let restamp: SQLText = "UPDATE geofence /* geofences.restamp */ SET changed_at_ms = $1 WHERE id = $2"

    static let delete: SQLText = "DELETE FROM geofence /* geofences.delete */ WHERE id = $1"

    static let bytes: SQLText = "SELECT \(bytesOf: "data") /* geofences.bytes */ FROM geofence WHERE id = $1"

    private static func select(_ name: String, where condition: String) -> SQLText {
        """
        SELECT id, trigger_type, platform, tags, data, starts_at_ms, expires_at_ms, phase, created_at_ms, updated_at_ms
               /* geofences.\(name) */
          FROM geofence
         WHERE \(condition)
        """
    }

    static let byKey = select("by_key", where: "id = $1 AND application_id = $2")

    /// Scans `geofence_application`.
    static let listed = select(
        "listed", where: "application_id = $1 AND updated_at_ms >= $2 AND id > $5 ORDER BY id LIMIT $3 OFFSET $4")

    static let count: SQLText = """
        SELECT count(*) /* geofences.count */ FROM geofence WHERE application_id = $1 AND updated_at_ms >= $2
        """

    /// Scans `geofence_live`.
    static let liveCount: SQLText = """
        SELECT count(*) /* geofences.live_count */
          FROM (SELECT id FROM geofence WHERE application_id = $1 AND due_at_ms IS NOT NULL ORDER BY id) AS live
        """

    static let locations: SQLText = """
        SELECT id, name, latitude, longitude, radius, created_at_ms, updated_at_ms /* geofences.locations */
          FROM geofence_location JOIN location ON id = location_id
         WHERE geofence_id = $1
         ORDER BY position
        """

    static let addLocation: SQLText = """
        INSERT INTO geofence_location /* geofences.add_location */ (geofence_id, position, location_id)
        VALUES ($1, $2, $3)
        """

    static let clearLocations: SQLText = """
        DELETE FROM geofence_location /* geofences.clear_locations */ WHERE geofence_id = $1
        """

    static let groups: SQLText = """
        SELECT group_id /* geofences.groups */ FROM geofence_group WHERE geofence_id = $1 ORDER BY position
        """

    static let groupLocations: SQLText = """
        SELECT location.id, name, latitude, longitude, radius, created_at_ms, updated_at_ms /* geofences.group_locations */
          FROM geofence_group
               JOIN location_group_member ON location_group_member.group_id = geofence_group.group_id
               JOIN location ON location.id = location_group_member.location_id
         WHERE geofence_id = $1
         ORDER BY geofence_group.position, location_group_member.position
        """

    static let addGroup: SQLText = """
        INSERT INTO geofence_group /* geofences.add_group */ (geofence_id, position, group_id) VALUES ($1, $2, $3)
        """

    static let clearGroups: SQLText = "DELETE FROM geofence_group /* geofences.clear_groups */ WHERE geofence_id = $1"

    /// Active geofences that use a location, by themselves or by groups, so that one may come several times. Scans
    /// `geofence_location_location`, and `location_group_member_location` with `geofence_group_group`.
    static let activeUsing: SQLText = """
        SELECT id, platform /* geofences.active_using */
          FROM geofence_location JOIN geofence ON id = geofence_id
         WHERE location_id = $1 AND phase = 1
         UNION ALL
        SELECT geofence.id, platform
          FROM location_group_member
               JOIN geofence_group ON geofence_group.group_id = location_group_member.group_id
               JOIN geofence ON geofence.id = geofence_group.geofence_id
         WHERE location_group_member.location_id = $1 AND phase = 1
        """

    /// Scans `geofence_group_group`.
    static let activeUsingGroup: SQLText = """
        SELECT id, platform /* geofences.active_using_group */
          FROM geofence_group JOIN geofence ON id = geofence_id
         WHERE group_id = $1 AND phase = 1
        """

    /// A geofence that is not over, uses the group and has too many locations. Scans `geofence_group_group`.
    static let overfull: SQLText = """
        SELECT geofence.id /* geofences.overfull */
          FROM geofence_group JOIN geofence ON geofence.id = geofence_group.geofence_id
         WHERE geofence_group.group_id = $1 AND due_at_ms IS NOT NULL
           AND (SELECT count(*)
                  FROM (SELECT location_id FROM geofence_location WHERE geofence_location.geofence_id = geofence.id
                         UNION
                        SELECT location_id
                          FROM geofence_group AS other
                               JOIN location_group_member ON location_group_member.group_id = other.group_id
                         WHERE other.geofence_id = geofence.id) AS watched) > $2
         LIMIT 1
        """

    /// A few of those that use it, to name them. Scans `geofence_group_group`.
    static let usingGroup: SQLText = """
        SELECT geofence_id /* geofences.using_group */
          FROM geofence_group
         WHERE group_id = $1
         ORDER BY geofence_id
         LIMIT 5
        """

    /// Scans `geofence_due`.
    static let nextDue: SQLText = """
        SELECT min(due_at_ms) /* geofences.next_due */ FROM geofence WHERE due_at_ms IS NOT NULL
        """

    static let due: SQLText = """
        SELECT id, application_id, platform, starts_at_ms, expires_at_ms, phase, due_at_ms /* geofences.due */
          FROM geofence
         WHERE due_at_ms <= $1
         ORDER BY due_at_ms
         LIMIT $2
        """

    static let head: SQLText = """
        SELECT id, application_id, platform, starts_at_ms, expires_at_ms, phase, due_at_ms /* geofences.head */
          FROM geofence
         WHERE id = $1 AND application_id = $2
        """

    /// No row where no device got the geofence.
    static let latestEnd: SQLText = """
        SELECT \(knownUntil("$2")) /* geofences.latest_end */
          FROM geofence
         WHERE id = $1 AND changed_at_ms IS NOT NULL
        """

    /// Scans `geofence_live`.
    static let active = select(
        "active", where: "application_id = $1 AND due_at_ms IS NOT NULL AND phase = 1 ORDER BY id")

    /// Scans `geofence_change`.
    static let changed = select(
        "changed", where: "application_id = $1 AND changed_at_ms > $2 AND phase = 1 ORDER BY changed_at_ms")

    /// Geofences that devices may have and must remove. Scans `geofence_change`.
    static let withdrawn: SQLText = """
        SELECT id /* geofences.withdrawn */
          FROM geofence
         WHERE application_id = $1 AND changed_at_ms > $2 AND phase <> 1
         ORDER BY changed_at_ms
        """
}
