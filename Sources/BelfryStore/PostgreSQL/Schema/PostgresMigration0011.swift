/// New devices come into the posting lists of their topics many at a time.
enum PostgresMigration0011 {
    static let migration = Migration(identifier: "0011 stretches of subscribers", sql: sql)

    /// - `subscription_stretch`: postings that a sweep wrote, many devices in a row, coded as those of a page. The stretches
    ///   of a list do not overlap, and only lose devices. `subscription` holds those who subscribed later than they came.
    /// - `subscription_mark`: the last device whose topics are in either; see `PostgresSubscriptionSweep`. All that there are when
    ///   this is done have theirs in `subscription`.
    /// - `topic_burial`: how many topics were buried; see `PostgresTopicBook`.
    private static let sql = """
        CREATE TABLE subscription_stretch (
            topic_id bigint NOT NULL,
            platform_id bigint NOT NULL,
            first_device_id bigint NOT NULL,
            device_count bigint NOT NULL CHECK (device_count > 0),
            devices bytea NOT NULL,
            PRIMARY KEY (topic_id, platform_id, first_device_id)
        );

        CREATE TABLE subscription_mark (
            id bigint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
            device_id bigint NOT NULL DEFAULT 0 CHECK (device_id >= 0)
        );

        INSERT INTO subscription_mark (device_id)
        SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM device_id_seq;

        CREATE TABLE topic_burial (
            id bigint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
            burial_count bigint NOT NULL DEFAULT 0
        );

        INSERT INTO topic_burial DEFAULT VALUES;
        """
}
