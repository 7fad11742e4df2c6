/// What apps tell of their pushes, as counts.
enum Migration0005 {
    static let identifier = "0005 analytics"

    /// - `push_count`, `platform_count`: by `AnalyticsKind`; an hour is so many since 1970 UTC.
    /// - `event_mark`: that an event was counted, by the day it says it happened and a keyed hash of what makes it that
    ///   event. Eight bytes instead of a row of two hundred; among a hundred million events of a day two are taken for one
    ///   in one of three thousand days.
    /// - `geofence_count`: a `location_id` of 0 is one that the app did not name.
    ///
    /// They name no push, platform or device as a foreign key: they are counts, and may outlive what they counted.
    static let sql = """
        CREATE TABLE push_count (
            push_id INTEGER NOT NULL,
            platform_id INTEGER NOT NULL,
            kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 4),
            event_count INTEGER NOT NULL CHECK (event_count > 0),
            PRIMARY KEY (push_id, platform_id, kind)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE platform_count (
            platform_id INTEGER NOT NULL,
            hour INTEGER NOT NULL,
            kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 4),
            event_count INTEGER NOT NULL CHECK (event_count > 0),
            PRIMARY KEY (platform_id, hour, kind)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX platform_count_hour ON platform_count (hour);

        CREATE TABLE event_mark (
            day INTEGER NOT NULL,
            hash INTEGER NOT NULL,
            PRIMARY KEY (day, hash)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE geofence_count (
            application_id INTEGER NOT NULL REFERENCES application (id),
            geofence_id INTEGER NOT NULL,
            location_id INTEGER NOT NULL,
            platform_id INTEGER NOT NULL,
            event_count INTEGER NOT NULL CHECK (event_count > 0),
            last_at_ms INTEGER NOT NULL,
            PRIMARY KEY (application_id, geofence_id, location_id, platform_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX geofence_count_last ON geofence_count (last_at_ms);

        CREATE TABLE heartbeat (
            platform_id INTEGER NOT NULL,
            device_id INTEGER NOT NULL,
            event_count INTEGER NOT NULL CHECK (event_count > 0),
            last_at_ms INTEGER NOT NULL,
            latency_ms INTEGER CHECK (latency_ms >= 0),
            PRIMARY KEY (platform_id, device_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX heartbeat_last ON heartbeat (last_at_ms);
        """
}
