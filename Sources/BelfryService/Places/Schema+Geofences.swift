/// Locations, their groups, and geofences.
extension Schema {
    static let locations = SchemaPart(
        [
            StoreTable("location", rows: .quota(.locations), of: .application),
            StoreTable("location_group", rows: .quota(.locationGroups), of: .application),
            StoreTable(
                "location_group_member", rows: .perRow("location_group", LocationGroupPlan.locationsMax),
                key: "group_id, position", of: .row(of: "location_group", by: "group_id")),
        ],
        sql: """
            -- `search`: the text that keywords are searched in, in lower case.
            CREATE TABLE location (
                id \(.key),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                name text NOT NULL,
                search text NOT NULL,
                latitude \(.double) NOT NULL CHECK (latitude BETWEEN -90 AND 90),
                longitude \(.double) NOT NULL CHECK (longitude BETWEEN -180 AND 180),
                radius \(.double) NOT NULL CHECK (radius >= 10),
                created_at_ms \(.bigint) NOT NULL,
                updated_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE INDEX location_application ON location (application_id\(postgres: ", id"));

            CREATE TABLE location_group (
                id \(.key),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                name text NOT NULL,
                summary text NOT NULL,
                search text NOT NULL,
                created_at_ms \(.bigint) NOT NULL,
                updated_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE INDEX location_group_application ON location_group (application_id\(postgres: ", id"));

            CREATE TABLE location_group_member (
                group_id \(.bigint) NOT NULL REFERENCES location_group (id),
                position \(.bigint) NOT NULL,
                location_id \(.bigint) NOT NULL REFERENCES location (id),
                PRIMARY KEY (group_id, position)
            ) \(.byKey);
            CREATE INDEX location_group_member_location ON location_group_member (location_id, group_id);
            """)

    static let geofences = SchemaPart(
        [
            StoreTable("geofence", rows: .quota(.geofences), of: .application),
            StoreTable("geofence_location", rows: .derived("geofence"), key: "geofence_id, position", of: .geofence),
            StoreTable("geofence_group", rows: .derived("geofence"), key: "geofence_id, position", of: .geofence),
            StoreTable(
                "geofence_deletion", rows: .limit(.geofenceDeletions), key: "application_id, changed_at_ms",
                of: .application,
                expiry: .init(.geofences, "expires_at_ms")),
            StoreTable("geofence_stamp", rows: .perRow("application", 1), key: "application_id", of: .application),
            StoreTable("geofence_update", rows: .derived("geofence"), key: "platform_id", of: .application),
        ],
        sql: """
            -- `phase`: see `GeofencePhase`; `due_at_ms` is when it ends. `changed_at_ms` is the stamp under which devices
            -- get the geofence or learn that it is gone; NULL before any device got it.
            CREATE TABLE geofence (
                id \(.key),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                trigger_type text NOT NULL CHECK (trigger_type IN ('enter', 'exit')),
                platform text NOT NULL CHECK (platform IN ('all', 'ios', 'android', 'android-fcm')),
                tags text NOT NULL,
                data text NOT NULL,
                starts_at_ms \(.bigint) NOT NULL CHECK (starts_at_ms >= 0),
                expires_at_ms \(.bigint) NOT NULL CHECK (expires_at_ms > starts_at_ms),
                phase \(.bigint) NOT NULL CHECK (phase BETWEEN 0 AND 2),
                due_at_ms \(.bigint) CHECK ((due_at_ms IS NULL) = (phase = 2)),
                changed_at_ms \(.bigint) CHECK (phase <> 1 OR changed_at_ms IS NOT NULL),
                created_at_ms \(.bigint) NOT NULL,
                updated_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE INDEX geofence_application ON geofence (application_id\(postgres: ", id"));
            CREATE INDEX geofence_live ON geofence (application_id\(postgres: ", id")) WHERE due_at_ms IS NOT NULL;
            CREATE INDEX geofence_change ON geofence (application_id, changed_at_ms) WHERE changed_at_ms IS NOT NULL;
            CREATE INDEX geofence_due ON geofence (due_at_ms) WHERE due_at_ms IS NOT NULL;

            CREATE TABLE geofence_location (
                geofence_id \(.bigint) NOT NULL REFERENCES geofence (id),
                position \(.bigint) NOT NULL,
                location_id \(.bigint) NOT NULL REFERENCES location (id),
                PRIMARY KEY (geofence_id, position)
            ) \(.byKey);
            CREATE INDEX geofence_location_location ON geofence_location (location_id, geofence_id);

            -- The location groups whose locations a geofence has too, whatever they hold at the time.
            CREATE TABLE geofence_group (
                geofence_id \(.bigint) NOT NULL REFERENCES geofence (id),
                position \(.bigint) NOT NULL,
                group_id \(.bigint) NOT NULL REFERENCES location_group (id),
                PRIMARY KEY (geofence_id, position)
            ) \(.byKey);
            CREATE INDEX geofence_group_group ON geofence_group (group_id, geofence_id);

            -- Geofences that devices have to remove, until they would have dropped them by themselves.
            CREATE TABLE geofence_deletion (
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                changed_at_ms \(.bigint) NOT NULL,
                geofence_id \(.bigint) NOT NULL,
                expires_at_ms \(.bigint) NOT NULL,
                PRIMARY KEY (application_id, changed_at_ms)
            ) \(.byKey);
            CREATE INDEX geofence_deletion_expiry ON geofence_deletion (expires_at_ms);

            -- The last stamp of an application. See `GeofenceStamp`.
            CREATE TABLE geofence_stamp (
                application_id \(.bigint) PRIMARY KEY REFERENCES application (id),
                changed_at_ms \(.bigint) NOT NULL
            ) \(.byID);

            -- See `GeofenceUpdate`. The platform is not a foreign key, since the update outlives it for a moment. While one
            -- node notifies devices, `holder` keeps the others from notifying them too.
            CREATE TABLE geofence_update (
                platform_id \(.bigint) PRIMARY KEY,
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                change_count \(.bigint) NOT NULL CHECK (change_count > 0),
                first_change_at_ms \(.bigint) NOT NULL,
                due_at_ms \(.bigint) NOT NULL,
                \(uuid: "holder"),
                held_until_ms \(.bigint),
                CHECK ((holder IS NULL) = (held_until_ms IS NULL))
            ) \(.byID);
            CREATE INDEX geofence_update_due ON geofence_update (due_at_ms);
            CREATE INDEX geofence_update_application ON geofence_update (application_id);
            """)
}

/// Adds the latest of the earlier ends of a geofence that devices may know.
enum GeofenceEndMigration: SchemaMigration {
    static let identifier = "0029 ends of geofences (additive)"

    static func run(in db: some SQLConnection) throws {
        try db.run(script: "ALTER TABLE geofence ADD COLUMN known_until_ms \(.bigint)")
    }
}
