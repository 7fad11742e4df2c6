/// Devices, the topics that they subscribe to, and the index that finds them.
extension Schema {
    static let topics = SchemaPart(
        [
            StoreTable("topic", rows: .quota(.topics), of: .application),
            StoreTable(
                "subscription", rows: .perRow("device", 1_024), key: "topic_id, platform_id, device_id", of: .topic,
                goesWithPlatform: true,
                isCopied: false),
            StoreTable(
                "subscription_block", rows: .derived("device"), key: "topic_id, platform_id, first_device_id",
                of: .topic, goesWithPlatform: true,
                isCopied: false, in: .postgres),
            StoreTable("subscription_mark", rows: .derived("device"), isCopied: false),
            StoreTable("deleted_topic", rows: .derived("topic"), key: "topic_id", isCopied: false),
            StoreTable("topic_deletion", rows: .operators, isCopied: false, in: .postgres),
        ],
        sql: """
            -- Ids are never reused, so an id left in a device's row is harmless.
            CREATE TABLE topic (
                id \(.key),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                name text \(postgres: "COLLATE \"C\"") NOT NULL,
                expires_at_ms \(.bigint)
            ) \(.byID);
            CREATE UNIQUE INDEX topic_name ON topic (application_id, name);
            CREATE INDEX topic_expiry ON topic (expires_at_ms) WHERE expires_at_ms IS NOT NULL;
            """)

    /// Small numbers are checked by their bounds: for a list of three, SQLite builds a table in memory at each insert,
    /// which cost a sixth of a device's row.
    static let devices = SchemaPart(
        [
            StoreTable("device", rows: .quota(.devices), of: .platform, derivedColumn: "token_hash"),
            StoreTable(
                "device_token", rows: .derived("device"), key: "token_hash, device_id", isCopied: false, in: .sqlite),
            StoreTable("token_mark", rows: .derived("device"), key: "slice", isCopied: false, in: .sqlite),
            StoreTable("device_horizon", rows: .operators, isCopied: false, in: .postgres),
        ],
        sql: """
            -- All of a device is in one row. The UUID is the id, encrypted by `DeviceNaming`. Ids ascend and are never reused.
            -- `topics` are topic ids, ascending, coded as a batch's devices are. A token is found by a keyed hash. In SQLite it
            -- has 8 bytes, since an index over 32 random bytes costs four times the log, and the token itself is compared too.
            -- In PostgreSQL it has 16 bytes; the unique index makes concurrent nodes agree on the holder, and
            -- `PostgresRegistrar` relies on it. There the platform is not a foreign key, because that would lock the
            -- platform's row for each device: `PostgresRegistrar` locks it once for many.
            CREATE TABLE device (
                id \(.key),
                platform_id \(.bigint) NOT NULL\(sqlite: " REFERENCES platform (id)"),
                reach \(.bigint) NOT NULL CHECK (reach BETWEEN 0 AND 2),
                registered_at_ms \(.bigint) NOT NULL,
                token_hash \(sqlite: "INTEGER", postgres: "uuid"),
                token \(.bytes),
                topics \(.bytes) NOT NULL,
                custom_user_id text \(postgres: "COLLATE \"C\""),
                os text,
                os_version text,
                model text,
                manufacturer text,
                alias text,
                imported_uuid \(sqlite: "BLOB CHECK (length(imported_uuid) = 16)", postgres: "uuid"),
                imported_at_ms \(.bigint),
                import_stage \(.bigint) CHECK (import_stage BETWEEN 0 AND 3),
                CHECK ((token IS NULL) = (token_hash IS NULL)),
                CHECK (token IS NOT NULL OR reach = 0),
                CHECK ((imported_at_ms IS NULL) = (import_stage IS NULL)),
                CHECK (imported_uuid IS NULL OR import_stage IS NOT NULL)
            ) \(.byID)\(postgres: "WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05)");
            CREATE INDEX device_reach ON device (platform_id, reach\(postgres: ", id"));
            CREATE INDEX device_custom_user ON device (platform_id, custom_user_id\(postgres: ", id"))
                WHERE custom_user_id IS NOT NULL AND reach > 0;
            -- Devices that came from another server, see `ImportMark`. Other devices are in neither index.
            CREATE UNIQUE INDEX device_imported ON device (imported_uuid, platform_id) WHERE imported_uuid IS NOT NULL;
            CREATE INDEX device_unseen ON device (platform_id, id) WHERE import_stage = 0;

            -- Deleted topics whose posting lists still contain devices; see `TopicDeletion`. `last_device_id` is the newest
            -- device that may have subscribed, and 0 in PostgreSQL. Ids in the rows of devices stay until the device registers
            -- again.
            CREATE TABLE deleted_topic (
                topic_id \(.bigint) PRIMARY KEY,
                last_device_id \(.bigint) NOT NULL DEFAULT 0 CHECK (last_device_id >= 0)
            ) \(.byID);

            -- The bytes of content stored for an application, and in PostgreSQL the number of its devices; see `ContentUse` and
            -- `SharedUse`. What is counted in other tables is not stored here.
            CREATE TABLE application_use (
                application_id \(.bigint) PRIMARY KEY,
                \(postgres: "device_count bigint NOT NULL DEFAULT 0 CHECK (device_count >= 0),")
                content_bytes \(.bigint) NOT NULL DEFAULT 0 CHECK (content_bytes >= 0)
            ) \(.byID)\(.roomy);
            """)

    static let searchIndex = SchemaPart(
        [
            StoreTable("search_index", rows: .derived("device"), isCopied: false),
            StoreTable("search_index_segment", rows: .derived("device"), isCopied: false),
            StoreTable("search_index_posting", rows: .derived("device"), isCopied: false),
            StoreTable("search_index_stale", rows: .derived("device"), key: "device_id", isCopied: false),
            StoreTable(
                "search_index_count", rows: .derived("device"), key: "platform_id, last_device_id", of: .platform,
                isCopied: false, in: .sqlite),
        ],
        sql: """
            -- The progress of the search index; see `DeviceSearchIndex`. During a rebuild, `rebuild_device_id` is its
            -- progress, and `rebuild_segment_id` the last segment to delete afterwards.
            CREATE TABLE search_index (
                id \(.bigint) PRIMARY KEY CHECK (id = 1),
                device_id \(.bigint) NOT NULL CHECK (device_id >= 0),
                rebuild_device_id \(.bigint),
                rebuild_segment_id \(.bigint),
                CHECK ((rebuild_device_id IS NULL) = (rebuild_segment_id IS NULL))
            ) \(.byID)\(.roomy);
            INSERT INTO search_index (id, device_id) VALUES (1, 0);

            -- Some thousand devices, coded as those of a batch.
            CREATE TABLE search_index_segment (
                id \(.key),
                device_count \(.bigint) NOT NULL CHECK (device_count > 0),
                devices \(.bytes) NOT NULL CHECK (length(devices) > 0)
            ) \(.byID);

            -- The positions in a segment of the devices whose text has a gram of a block. The id combines the segment's id
            -- and the block's number.
            CREATE TABLE search_index_posting (
                id \(.bigint) PRIMARY KEY,
                places \(.bytes) NOT NULL CHECK (length(places) > 0)
            ) \(.byID);

            -- Devices whose text has changed since the search index was written, and how often.
            CREATE TABLE search_index_stale (
                device_id \(.bigint) PRIMARY KEY,
                changes \(.bigint) NOT NULL DEFAULT 1
            ) \(.byID);
            """)
}
