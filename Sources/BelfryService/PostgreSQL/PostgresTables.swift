/// The parts of the schema that only PostgreSQL has, or stores differently.
enum PostgresTables {
    static let script = """
        CREATE UNIQUE INDEX device_token ON device (token_hash, platform_id) WHERE token_hash IS NOT NULL;

        -- All devices up to `settled_device_id` are committed, and so are those up to `newest_device_id` once no
        -- transaction before `seen_before` is open; see `DeviceHorizon`.
        CREATE TABLE device_horizon (
            id bigint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
            settled_device_id bigint NOT NULL DEFAULT 0 CHECK (settled_device_id >= 0),
            newest_device_id bigint NOT NULL DEFAULT 0 CHECK (newest_device_id >= settled_device_id),
            seen_before xid8 NOT NULL DEFAULT '0'
        );
        INSERT INTO device_horizon DEFAULT VALUES;

        -- The posting lists of the topics, for active devices only. See decision 20. `subscription_block` holds what
        -- merges wrote, many devices in a row, coded as those of a batch: the blocks of a list do not overlap, and only
        -- lose devices. `subscription` holds devices that subscribed later than they registered. The mark is the last
        -- device whose topics are in either; see `PostgresSubscriptionMerge`.
        CREATE TABLE subscription (
            topic_id bigint NOT NULL,
            platform_id bigint NOT NULL,
            device_id bigint NOT NULL,
            PRIMARY KEY (topic_id, platform_id, device_id)
        ) WITH (autovacuum_vacuum_scale_factor = 0.05);
        CREATE TABLE subscription_block (
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
        INSERT INTO subscription_mark DEFAULT VALUES;

        -- The number of topics that were ever deleted; see `PostgresTopicCache`.
        CREATE TABLE topic_deletion (
            id bigint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
            topic_deletion_count bigint NOT NULL DEFAULT 0
        );
        INSERT INTO topic_deletion DEFAULT VALUES;

        CREATE FUNCTION audit_is_only_added_to() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'the audit log is only added to'; END $$;
        CREATE TRIGGER audit_is_never_changed BEFORE UPDATE OR TRUNCATE ON audit
            EXECUTE FUNCTION audit_is_only_added_to();
        CREATE FUNCTION audit_is_forgotten_by_age_alone() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN
                IF NOT EXISTS (SELECT 1 FROM audit_horizon WHERE OLD.at_ms < at_ms) THEN
                    RAISE EXCEPTION 'the audit log is only added to';
                END IF;
                RETURN OLD;
            END $$;
        CREATE TRIGGER audit_is_forgotten_by_age_alone BEFORE DELETE ON audit
            FOR EACH ROW EXECUTE FUNCTION audit_is_forgotten_by_age_alone();
        CREATE FUNCTION audit_horizon_only_rises() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN
                IF NEW.at_ms < OLD.at_ms THEN
                    RAISE EXCEPTION 'the audit log is not lengthened afterwards';
                END IF;
                RETURN NEW;
            END $$;
        CREATE TRIGGER audit_horizon_only_rises BEFORE UPDATE ON audit_horizon
            FOR EACH ROW EXECUTE FUNCTION audit_horizon_only_rises();

        INSERT INTO tenant (uuid, name, created_at_ms)
        VALUES (gen_random_uuid(), 'default', (extract(epoch FROM now()) * 1000)::bigint);
        """
}
