/// Locations, their groups, geofences, and whom to tell of them.
enum Migration0004 {
    static let identifier = "0004 locations and geofences"

    /// - `location.search`, `location_group.search`: what a keyword is looked for in, in lower case.
    /// - `geofence.phase`: see `GeofencePhase`; `due_at_ms` is when it ends. `changed_at_ms` is the stamp under which devices
    ///   get the geofence or learn that it is gone; none while no device ever got it.
    /// - `geofence_deletion`: what devices have to forget, until they would have dropped it by themselves.
    /// - `geofence_stamp`: the last stamp of an application. See `GeofenceStamp`.
    /// - `geofence_notice`: see `GeofenceNotice`. It names no platform as a foreign key, since it outlives one for a moment.
    static let sql = """
        CREATE TABLE location (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            application_id INTEGER NOT NULL REFERENCES application (id),
            name TEXT NOT NULL,
            search TEXT NOT NULL,
            latitude REAL NOT NULL CHECK (latitude BETWEEN -90 AND 90),
            longitude REAL NOT NULL CHECK (longitude BETWEEN -180 AND 180),
            radius REAL NOT NULL CHECK (radius >= 10),
            created_at_ms INTEGER NOT NULL,
            updated_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX location_application ON location (application_id);

        CREATE TABLE location_group (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            application_id INTEGER NOT NULL REFERENCES application (id),
            name TEXT NOT NULL,
            summary TEXT NOT NULL,
            search TEXT NOT NULL,
            created_at_ms INTEGER NOT NULL,
            updated_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX location_group_application ON location_group (application_id);

        CREATE TABLE location_group_member (
            group_id INTEGER NOT NULL REFERENCES location_group (id),
            position INTEGER NOT NULL,
            location_id INTEGER NOT NULL REFERENCES location (id),
            PRIMARY KEY (group_id, position)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX location_group_member_location ON location_group_member (location_id);

        CREATE TABLE geofence (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            application_id INTEGER NOT NULL REFERENCES application (id),
            trigger_type TEXT NOT NULL CHECK (trigger_type IN ('enter', 'exit')),
            platform TEXT NOT NULL CHECK (platform IN ('all', 'ios', 'android', 'android-fcm')),
            tags TEXT NOT NULL,
            data TEXT NOT NULL,
            starts_at_ms INTEGER NOT NULL CHECK (starts_at_ms >= 0),
            expires_at_ms INTEGER NOT NULL CHECK (expires_at_ms > starts_at_ms),
            phase INTEGER NOT NULL CHECK (phase IN (0, 1, 2)),
            due_at_ms INTEGER CHECK ((due_at_ms IS NULL) = (phase = 2)),
            changed_at_ms INTEGER CHECK (phase <> 1 OR changed_at_ms IS NOT NULL),
            created_at_ms INTEGER NOT NULL,
            updated_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX geofence_application ON geofence (application_id);
        CREATE INDEX geofence_live ON geofence (application_id) WHERE due_at_ms IS NOT NULL;
        CREATE INDEX geofence_change ON geofence (application_id, changed_at_ms) WHERE changed_at_ms IS NOT NULL;
        CREATE INDEX geofence_due ON geofence (due_at_ms) WHERE due_at_ms IS NOT NULL;

        CREATE TABLE geofence_location (
            geofence_id INTEGER NOT NULL REFERENCES geofence (id),
            position INTEGER NOT NULL,
            location_id INTEGER NOT NULL REFERENCES location (id),
            PRIMARY KEY (geofence_id, position)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX geofence_location_location ON geofence_location (location_id, geofence_id);

        CREATE TABLE geofence_deletion (
            application_id INTEGER NOT NULL REFERENCES application (id),
            changed_at_ms INTEGER NOT NULL,
            geofence_id INTEGER NOT NULL,
            expires_at_ms INTEGER NOT NULL,
            PRIMARY KEY (application_id, changed_at_ms)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX geofence_deletion_expiry ON geofence_deletion (expires_at_ms);

        CREATE TABLE geofence_stamp (
            application_id INTEGER PRIMARY KEY REFERENCES application (id),
            changed_at_ms INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE geofence_notice (
            platform_id INTEGER PRIMARY KEY,
            application_id INTEGER NOT NULL REFERENCES application (id),
            change_count INTEGER NOT NULL CHECK (change_count > 0),
            first_change_at_ms INTEGER NOT NULL,
            due_at_ms INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX geofence_notice_due ON geofence_notice (due_at_ms);
        CREATE INDEX geofence_notice_application ON geofence_notice (application_id);
        """
}
