/// Tables of counts for analytics.
extension Schema {
    /// Push, platform and device are not foreign keys: these are counts, and may outlive what they counted.
    static let counts: SQLText = """
        -- `kind`: see `AnalyticsKind`.
        CREATE TABLE push_count (
            push_id \(.bigint) NOT NULL,
            platform_id \(.bigint) NOT NULL,
            kind \(.bigint) NOT NULL CHECK (kind BETWEEN 0 AND 5),
            event_count \(.bigint) NOT NULL CHECK (event_count > 0),
            PRIMARY KEY (push_id, platform_id, kind)
        ) \(.byKey);

        -- `hour` counts from 1970 UTC.
        CREATE TABLE platform_count (
            platform_id \(.bigint) NOT NULL,
            hour \(.bigint) NOT NULL,
            kind \(.bigint) NOT NULL CHECK (kind BETWEEN 0 AND 5),
            event_count \(.bigint) NOT NULL CHECK (event_count > 0),
            PRIMARY KEY (platform_id, hour, kind)
        ) \(.byKey);
        CREATE INDEX platform_count_hour ON platform_count (hour);

        -- Counted events, by the day they claim and a keyed hash of their identity. Eight bytes instead of a row of two
        -- hundred; among a hundred million events of a day two are taken for one on one of three thousand days.
        CREATE TABLE event_mark (
            day \(.bigint) NOT NULL,
            hash \(.bigint) NOT NULL,
            PRIMARY KEY (day, hash)
        ) \(.byKey);

        -- `location_id` 0: the app named no location.
        CREATE TABLE geofence_count (
            application_id \(.bigint) NOT NULL REFERENCES application (id),
            geofence_id \(.bigint) NOT NULL,
            location_id \(.bigint) NOT NULL,
            platform_id \(.bigint) NOT NULL,
            event_count \(.bigint) NOT NULL CHECK (event_count > 0),
            last_at_ms \(.bigint) NOT NULL,
            PRIMARY KEY (application_id, geofence_id, location_id, platform_id)
        ) \(.byKey);
        CREATE INDEX geofence_count_last ON geofence_count (last_at_ms);

        CREATE TABLE heartbeat (
            platform_id \(.bigint) NOT NULL,
            device_id \(.bigint) NOT NULL,
            event_count \(.bigint) NOT NULL CHECK (event_count > 0),
            last_at_ms \(.bigint) NOT NULL,
            latency_ms \(.bigint) CHECK (latency_ms >= 0),
            PRIMARY KEY (platform_id, device_id)
        ) \(.byKey);
        CREATE INDEX heartbeat_last ON heartbeat (last_at_ms);
        """
}
