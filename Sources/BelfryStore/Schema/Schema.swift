/// The tables of both engines, from top to bottom. What only one engine has is in its own `Schema` folder.
///
/// A later table or column is a migration of its own: one that was released is never edited.
enum Schema {
    static let identifier = "0001 belfry"

    static let tables: [SQLText] = [
        registry, topics, devices, searchIndex, pushes, schedules, locations, geofences, counts, administration,
        idempotency, node, mirror,
    ]

    private static let registry: SQLText = """
        -- Secrets made with the database.
        CREATE TABLE setting (
            name text NOT NULL PRIMARY KEY,
            value \(.bytes) NOT NULL
        ) \(.byKey);

        -- The first row is `Tenant.first`.
        CREATE TABLE tenant (
            id \(.key),
            \(uuid: "uuid", "NOT NULL UNIQUE"),
            name text NOT NULL CHECK (length(name) > 0),
            created_at_ms \(.bigint) NOT NULL
        ) \(.byID);

        -- An application with `is_being_deleted` is hidden while `ApplicationDeletion` deletes its rows.
        CREATE TABLE application (
            id \(.key),
            \(uuid: "uuid", "NOT NULL UNIQUE"),
            name text NOT NULL,
            api_key_hash \(.bytes) NOT NULL,
            shared_secret \(.bytes) NOT NULL,
            \(flag: "is_being_deleted", false),
            created_at_ms \(.bigint) NOT NULL,
            tenant_id \(.bigint) NOT NULL REFERENCES tenant (id),
            description text NOT NULL DEFAULT '',
            previous_api_key_hash \(.bytes),
            previous_api_key_until_ms \(.bigint),
            previous_shared_secret \(.bytes),
            previous_shared_secret_until_ms \(.bigint),
            CHECK ((previous_api_key_hash IS NULL) = (previous_api_key_until_ms IS NULL)),
            CHECK ((previous_shared_secret IS NULL) = (previous_shared_secret_until_ms IS NULL))
        ) \(.byID);
        CREATE INDEX application_tenant ON application (tenant_id);

        -- The kinds are listed in `PlatformKind` alone, so that a new one needs no migration. A platform with
        -- `is_deleted` is hidden while `PlatformDeletion` deletes its rows.
        CREATE TABLE platform (
            id \(.key),
            \(uuid: "uuid", "NOT NULL UNIQUE"),
            application_id \(.bigint) NOT NULL REFERENCES application (id),
            kind text NOT NULL CHECK (kind <> ''),
            mode text NOT NULL CHECK (mode IN ('development', 'production')),
            name text NOT NULL,
            secret_hash \(.bytes) NOT NULL,
            credentials \(.bytes) NOT NULL,
            credentials_version \(.bigint) NOT NULL CHECK (credentials_version >= 1),
            parked_cause text CHECK (parked_cause IN ('credentials', 'dead_tokens', 'operator', 'no_provider')),
            parked_detail text,
            parked_since_ms \(.bigint),
            created_at_ms \(.bigint) NOT NULL,
            \(flag: "is_deleted", false),
            description text NOT NULL DEFAULT '',
            \(flag: "has_imports", false),
            CHECK ((parked_cause IS NULL) = (parked_detail IS NULL)),
            CHECK ((parked_cause IS NULL) = (parked_since_ms IS NULL))
        ) \(.byID);
        CREATE INDEX platform_application ON platform (application_id);

        -- The last connection fault of a platform's provider.
        CREATE TABLE connection_fault (
            platform_id \(.bigint) PRIMARY KEY REFERENCES platform (id) ON DELETE CASCADE,
            kind text NOT NULL,
            detail text NOT NULL,
            at_ms \(.bigint) NOT NULL
        ) \(.byID);
        """

    private static let topics: SQLText = """
        -- Ids are never reused, so an id left in a device's row is harmless.
        CREATE TABLE topic (
            id \(.key),
            application_id \(.bigint) NOT NULL REFERENCES application (id),
            name text \(postgres: "COLLATE \"C\"") NOT NULL,
            expires_at_ms \(.bigint)
        ) \(.byID);
        CREATE UNIQUE INDEX topic_name ON topic (application_id, name);
        CREATE INDEX topic_expiry ON topic (expires_at_ms) WHERE expires_at_ms IS NOT NULL;
        """

    /// Small numbers are checked by their bounds: for a list of three, SQLite builds a table in memory at each insert,
    /// which cost a sixth of a device's row.
    private static let devices: SQLText = """
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
        """

    private static let searchIndex: SQLText = """
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
        """

    private static let pushes: SQLText = """
        -- The parts of a push that never change. `platforms`: the types of platform that the target named, separated by
        -- commas; NULL for every type.
        CREATE TABLE push (
            id \(.key),
            \(uuid: "receipt_id", "NOT NULL UNIQUE"),
            application_id \(.bigint) NOT NULL REFERENCES application (id),
            lane \(.bigint) NOT NULL CHECK (lane BETWEEN 0 AND 2),
            guarantee \(.bigint) NOT NULL CHECK (guarantee IN (0, 1)),
            accepted_at_ms \(.bigint) NOT NULL,
            expires_at_ms \(.bigint),
            content text NOT NULL,
            audience text NOT NULL,
            platforms text
        ) \(.byID);
        CREATE INDEX push_application ON push (application_id\(postgres: ", id"));

        -- What changes of a push, apart from its content, which may be long. A push that was accepted with all its batches has
        -- no row here, and none in `tally`, before its answers are forgotten: its batches say as much. `has_answers`: whether it still has its batches, which
        -- go before it.
        CREATE TABLE push_progress (
            push_id \(.bigint) PRIMARY KEY REFERENCES push (id),
            open_fan_out_count \(.bigint) NOT NULL CHECK (open_fan_out_count >= 0),
            open_batch_count \(.bigint) NOT NULL DEFAULT 0 CHECK (open_batch_count >= 0),
            device_count \(.bigint) NOT NULL DEFAULT 0 CHECK (device_count >= 0),
            first_answer_at_ms \(.bigint),
            settled_at_ms \(.bigint),
            \(flag: "has_answers", true),
            CHECK ((settled_at_ms IS NOT NULL) = (open_fan_out_count = 0 AND open_batch_count = 0))
        ) \(.byID)\(.roomy);
        -- Expired pushes, the oldest first.
        CREATE INDEX push_progress_settled ON push_progress (has_answers, settled_at_ms)
            WHERE settled_at_ms IS NOT NULL;
        -- Unsettled pushes, without the settled ones.
        CREATE INDEX push_progress_open ON push_progress (push_id) WHERE settled_at_ms IS NULL;

        -- The number of devices with each answer.
        CREATE TABLE tally (
            push_id \(.bigint) NOT NULL REFERENCES push (id),
            answer \(.bigint) NOT NULL CHECK (answer BETWEEN 1 AND 255),
            device_count \(.bigint) NOT NULL CHECK (device_count > 0),
            PRIMARY KEY (push_id, answer)
        ) \(.byKey)\(.roomy);

        CREATE TABLE fan_out (
            push_id \(.bigint) NOT NULL REFERENCES push (id),
            platform_id \(.bigint) NOT NULL,
            lane \(.bigint) NOT NULL CHECK (lane BETWEEN 0 AND 2),
            due_at_ms \(.bigint) NOT NULL,
            attempt \(.bigint) NOT NULL DEFAULT 0 CHECK (attempt >= 0),
            \(flag: "is_claimed", false),
            cursor \(.bigint) CHECK (cursor > 0),
            PRIMARY KEY (push_id, platform_id)
        ) \(.byKey)\(postgres: """
             WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)
            """);
        CREATE INDEX fan_out_due ON fan_out (lane, platform_id, due_at_ms, push_id);

        -- See `Batch`. `due_at_ms` of one that is closed is when it was settled. `claim_count` counts the claims since a delivery
        -- worker last settled: above one, a lease lapsed. `retry_at_ms`: when the last settlement wanted the first of the pending
        -- devices tried again (`RetryTimes`); NULL once no device waits. `answered_at_ms`: when the first device got its answer.
        -- `is_whole`: its push was accepted with all its batches, so they are all that is counted of it.
        CREATE TABLE batch (
            id \(.key),
            push_id \(.bigint) NOT NULL REFERENCES push (id),
            platform_id \(.bigint) NOT NULL,
            lane \(.bigint) NOT NULL CHECK (lane BETWEEN 0 AND 2),
            first_device_id \(.bigint) NOT NULL CHECK (first_device_id > 0),
            last_device_id \(.bigint) NOT NULL CHECK (last_device_id >= first_device_id),
            \(flag: "is_open", true),
            due_at_ms \(.bigint) NOT NULL,
            attempt \(.bigint) NOT NULL DEFAULT 0 CHECK (attempt >= 0),
            claim_count \(.bigint) NOT NULL DEFAULT 0 CHECK (claim_count BETWEEN 0 AND attempt),
            devices \(.bytes) NOT NULL CHECK (length(devices) > 0),
            answers \(.bytes) NOT NULL CHECK (length(answers) > 0),
            retry_at_ms \(.bigint),
            answered_at_ms \(.bigint),
            \(flag: "is_whole", false),
            CHECK (is_open = true OR claim_count = 0)
        ) \(.byID)\(postgres: " WITH (autovacuum_vacuum_scale_factor = 0.02)");
        CREATE UNIQUE INDEX batch_device ON batch (push_id, platform_id, first_device_id);
        CREATE INDEX batch_due ON batch (
            \(sqlite: "is_open, lane, platform_id, due_at_ms", postgres: "lane, platform_id, due_at_ms, id")
        ) WHERE is_open = true;
        -- Of pushes that were accepted with all their batches: those that are open, and those that age out, the oldest first.
        CREATE INDEX batch_open ON batch (push_id) WHERE is_whole = true AND is_open = true;
        CREATE INDEX batch_settled ON batch (due_at_ms) WHERE is_whole = true AND is_open = false;

        -- Batches that a claim could not read. Of those that were mended or written off, whose batch is closed, the note says
        -- nothing any more; it goes with the batch.
        CREATE TABLE damaged_batch (
            batch_id \(.bigint) PRIMARY KEY REFERENCES batch (id) ON DELETE CASCADE,
            push_id \(.bigint) NOT NULL,
            found_at_ms \(.bigint) NOT NULL
        ) \(.byID);
        CREATE INDEX damaged_batch_push ON damaged_batch (push_id);
        """

    private static let schedules: SQLText = """
        -- See `Schedule`. An ended schedule is kept for a while as a record of its result.
        CREATE TABLE schedule (
            id \(.key),
            application_id \(.bigint) NOT NULL REFERENCES application (id),
            due_at_ms \(.bigint) NOT NULL,
            version \(.bigint) NOT NULL DEFAULT 1 CHECK (version >= 1),
            lane \(.bigint) CHECK (lane BETWEEN 0 AND 2),
            guarantee \(.bigint) NOT NULL CHECK (guarantee IN (0, 1)),
            expires_at_ms \(.bigint),
            content text NOT NULL,
            target text NOT NULL,
            created_at_ms \(.bigint) NOT NULL,
            ended_at_ms \(.bigint),
            ending text CHECK (ending IN ('sent', 'cancelled', 'expired', 'refused')),
            \(uuid: "receipt_id"),
            reason text,
            CHECK ((ended_at_ms IS NULL) = (ending IS NULL)),
            CHECK ((receipt_id IS NOT NULL) = (coalesce(ending, '') = 'sent')),
            CHECK ((reason IS NOT NULL) = (coalesce(ending, '') = 'refused'))
        ) \(.byID);
        -- The waiting schedules, however many have ended.
        CREATE INDEX schedule_due ON schedule (due_at_ms\(postgres: ", id")) WHERE ended_at_ms IS NULL;
        -- An application's waiting schedules by their due times, then its ended ones by their ends.
        CREATE INDEX schedule_application ON schedule (application_id, ended_at_ms, due_at_ms\(postgres: ", id"));
        """

    private static let locations: SQLText = """
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
        """

    private static let geofences: SQLText = """
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
        """

    /// Push, platform and device are not foreign keys: these are counts, and may outlive what they counted.
    private static let counts: SQLText = """
        -- `kind`: see `AnalyticsKind`.
        CREATE TABLE push_count (
            push_id \(.bigint) NOT NULL,
            platform_id \(.bigint) NOT NULL,
            kind \(.bigint) NOT NULL CHECK (kind BETWEEN 0 AND 4),
            event_count \(.bigint) NOT NULL CHECK (event_count > 0),
            PRIMARY KEY (push_id, platform_id, kind)
        ) \(.byKey);

        -- `hour` counts from 1970 UTC.
        CREATE TABLE platform_count (
            platform_id \(.bigint) NOT NULL,
            hour \(.bigint) NOT NULL,
            kind \(.bigint) NOT NULL CHECK (kind BETWEEN 0 AND 4),
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

    private static let administration: SQLText = """
        -- Found by `public_id`. Bound to a tenant and an application; an operator's key to neither. Revoked keys are
        -- kept, even after their tenant and application, so these are not foreign keys.
        CREATE TABLE admin_key (
            id \(.key),
            public_id text NOT NULL UNIQUE,
            name text NOT NULL CHECK (length(name) > 0),
            scope text NOT NULL CHECK (scope IN ('operator', 'tenant-admin', 'app-admin', 'sender', 'read-only')),
            tenant_id \(.bigint),
            application_id \(.bigint),
            secret_hash \(.bytes) NOT NULL,
            previous_hash \(.bytes),
            previous_until_ms \(.bigint),
            created_at_ms \(.bigint) NOT NULL,
            last_used_at_ms \(.bigint),
            revoked_at_ms \(.bigint),
            CHECK ((scope = 'operator') = (tenant_id IS NULL)),
            CHECK (application_id IS NULL OR tenant_id IS NOT NULL),
            CHECK (scope <> 'tenant-admin' OR application_id IS NULL),
            CHECK (scope <> 'app-admin' OR application_id IS NOT NULL),
            CHECK ((previous_hash IS NULL) = (previous_until_ms IS NULL))
        ) \(.byID);
        CREATE INDEX admin_key_tenant ON admin_key (tenant_id\(postgres: ", id"));
        CREATE INDEX admin_key_application ON admin_key (application_id\(postgres: ", id"))
            WHERE application_id IS NOT NULL;

        -- What the service broker provisioned. The application and tenant are made after the row, and may be gone before it.
        CREATE TABLE broker_instance (
            id \(.key),
            public_id text NOT NULL UNIQUE,
            plan text NOT NULL CHECK (plan IN ('application', 'tenant')),
            request text NOT NULL,
            \(uuid: "application_uuid", "NOT NULL"),
            \(uuid: "tenant_uuid"),
            created_at_ms \(.bigint) NOT NULL
        ) \(.byID);

        CREATE TABLE broker_binding (
            id \(.key),
            instance_id \(.bigint) NOT NULL REFERENCES broker_instance (id),
            public_id text NOT NULL UNIQUE,
            request text NOT NULL,
            nonce \(.bytes) NOT NULL,
            api_key_hash \(.bytes) NOT NULL,
            created_at_ms \(.bigint) NOT NULL
        ) \(.byID);
        CREATE INDEX broker_binding_instance ON broker_binding (instance_id\(postgres: ", id"));

        -- Append-only, by trigger. A line outlives what it is about.
        CREATE TABLE audit (
            id \(.key),
            at_ms \(.bigint) NOT NULL,
            key_id text,
            address text,
            action text NOT NULL,
            subject text NOT NULL,
            tenant_id \(.bigint),
            application_id \(.bigint),
            details text NOT NULL
        ) \(.byID);
        CREATE INDEX audit_at ON audit (at_ms);
        CREATE INDEX audit_tenant ON audit (tenant_id\(postgres: ", id")) WHERE tenant_id IS NOT NULL;
        CREATE INDEX audit_application ON audit (application_id\(postgres: ", id")) WHERE application_id IS NOT NULL;

        -- Lines of the audit log older than this were deleted. It only rises, by trigger, and only older lines can be
        -- deleted.
        CREATE TABLE audit_horizon (
            id \(.bigint) PRIMARY KEY CHECK (id = 1),
            at_ms \(.bigint) NOT NULL
        ) \(.byID);
        """

    private static let idempotency: SQLText = """
        -- Requests that carried an `Idempotency-Key`, and their answers. `name`: a hash of the caller and its key.
        -- `request`: a hash of the request. `held_until_ms`: without an answer, how long the request may still be
        -- running. `content`: headers and body of the answer, sealed. `caller_kind`, `caller_id`: the `Principal` that
        -- the record counts for.
        CREATE TABLE idempotency (
            name \(.bytes) NOT NULL PRIMARY KEY CHECK (length(name) = 32),
            request \(.bytes) NOT NULL CHECK (length(request) = 32),
            \(uuid: "idempotent_id", "NOT NULL"),
            created_at_ms \(.bigint) NOT NULL,
            held_until_ms \(.bigint),
            status \(.bigint) CHECK (status BETWEEN 100 AND 599),
            content \(.bytes),
            caller_kind \(.bigint) CHECK (caller_kind > 0),
            caller_id \(.bigint),
            CHECK ((caller_id IS NULL) = (caller_kind IS NULL)),
            CHECK ((status IS NULL) = (content IS NULL)),
            CHECK ((status IS NULL) = (held_until_ms IS NOT NULL))
        ) \(.byKey);
        CREATE INDEX idempotency_created ON idempotency (created_at_ms);
        CREATE INDEX idempotency_caller ON idempotency (caller_kind, caller_id, created_at_ms);
        """

    private static let mirror: SQLText = """
        -- What an old server has yet to hear of during a dual run; see `MirrorEntry`. It names no platform or device as a foreign key,
        -- for it may outlive them.
        CREATE TABLE mirror_entry (
            id \(.key),
            application_id \(.bigint) NOT NULL REFERENCES application (id),
            platform_id \(.bigint) NOT NULL,
            device_id \(.bigint) NOT NULL,
            method text NOT NULL CHECK (method IN ('POST', 'PUT', 'DELETE')),
            body \(.bytes) NOT NULL,
            created_at_ms \(.bigint) NOT NULL
        ) \(.byID);
        CREATE INDEX mirror_entry_application ON mirror_entry (application_id);

        -- Which node tells the old server, and until when.
        CREATE TABLE mirror_holder (
            id \(.bigint) PRIMARY KEY CHECK (id = 1),
            \(uuid: "holder", "NOT NULL"),
            held_until_ms \(.bigint) NOT NULL
        ) \(.byID);
        """

    private static let node: SQLText = """
        -- See `Node`. A node writes only its own row.
        CREATE TABLE node (
            \(uuid: "uuid", "NOT NULL PRIMARY KEY"),
            host text NOT NULL,
            version text NOT NULL,
            since_ms \(.bigint) NOT NULL,
            last_seen_at_ms \(.bigint) NOT NULL,
            batch_count \(.bigint) NOT NULL CHECK (batch_count >= 0),
            \(flag: "is_draining", false)
        ) \(.byKey);
        """
}

/// The types of columns, and the options of tables.
extension SQLText {
    fileprivate static let bigint: SQLText = "\(sqlite: "INTEGER", postgres: "bigint")"
    fileprivate static let bytes: SQLText = "\(sqlite: "BLOB", postgres: "bytea")"
    fileprivate static let double: SQLText = "\(sqlite: "REAL", postgres: "double precision")"
    /// A row's number, never reused.
    fileprivate static let key: SQLText = """
        \(sqlite: "INTEGER PRIMARY KEY AUTOINCREMENT", postgres: "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY")
        """
    /// Ends a table whose primary key is one number.
    fileprivate static let byID: SQLText = "\(sqlite: "STRICT")"
    /// Ends a table with any other primary key.
    fileprivate static let byKey: SQLText = "\(sqlite: "STRICT, WITHOUT ROWID")"
    /// Ends a table whose rows are updated often: PostgreSQL leaves room beside them, so that updates need not touch
    /// indexes.
    fileprivate static let roomy: SQLText = "\(postgres: " WITH (fillfactor = 50)")"
}

extension SQLText.StringInterpolation {
    fileprivate mutating func appendInterpolation(uuid column: String, _ constraints: String = "") {
        appendInterpolation(
            sqlite: "\(column) BLOB \(constraints) CHECK (length(\(column)) = 16)",
            postgres: "\(column) uuid \(constraints)")
    }

    fileprivate mutating func appendInterpolation(flag column: String, _ usual: Bool) {
        appendInterpolation(
            sqlite: "\(column) INTEGER NOT NULL DEFAULT \(usual ? 1 : 0) CHECK (\(column) IN (0, 1))",
            postgres: "\(column) boolean NOT NULL DEFAULT \(usual)")
    }
}
