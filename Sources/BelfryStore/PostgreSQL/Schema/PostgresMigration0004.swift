/// What apps tell of their pushes, as counts.
enum PostgresMigration0004 {
    static let migration = Migration(identifier: "0004 analytics", sql: sql)

    /// - `push_count`, `platform_count`: by `AnalyticsKind`; an hour is so many since 1970 UTC.
    /// - `event_mark`: that an event was counted, by the day it says it happened and a keyed hash of what makes it that
    ///   event. Eight bytes instead of a row of two hundred; among a hundred million events of a day two are taken for one
    ///   in one of three thousand days.
    /// - `geofence_count`: a `location_id` of 0 is one that the app did not name.
    ///
    /// They name no push, platform or device as a foreign key: they are counts, and may outlive what they counted.
    private static let sql = """
        CREATE TABLE push_count (
            push_id bigint NOT NULL,
            platform_id bigint NOT NULL,
            kind bigint NOT NULL CHECK (kind BETWEEN 0 AND 4),
            event_count bigint NOT NULL CHECK (event_count > 0),
            PRIMARY KEY (push_id, platform_id, kind)
        );

        CREATE TABLE platform_count (
            platform_id bigint NOT NULL,
            hour bigint NOT NULL,
            kind bigint NOT NULL CHECK (kind BETWEEN 0 AND 4),
            event_count bigint NOT NULL CHECK (event_count > 0),
            PRIMARY KEY (platform_id, hour, kind)
        );
        CREATE INDEX platform_count_hour ON platform_count (hour);

        CREATE TABLE event_mark (
            day bigint NOT NULL,
            hash bigint NOT NULL,
            PRIMARY KEY (day, hash)
        );

        CREATE TABLE geofence_count (
            application_id bigint NOT NULL REFERENCES application (id),
            geofence_id bigint NOT NULL,
            location_id bigint NOT NULL,
            platform_id bigint NOT NULL,
            event_count bigint NOT NULL CHECK (event_count > 0),
            last_at_ms bigint NOT NULL,
            PRIMARY KEY (application_id, geofence_id, location_id, platform_id)
        );
        CREATE INDEX geofence_count_last ON geofence_count (last_at_ms);

        CREATE TABLE heartbeat (
            platform_id bigint NOT NULL,
            device_id bigint NOT NULL,
            event_count bigint NOT NULL CHECK (event_count > 0),
            last_at_ms bigint NOT NULL,
            latency_ms bigint CHECK (latency_ms >= 0),
            PRIMARY KEY (platform_id, device_id)
        );
        CREATE INDEX heartbeat_last ON heartbeat (last_at_ms);
        """
}
