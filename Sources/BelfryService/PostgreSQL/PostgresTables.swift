import PostgreSQL

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

/// One numbered step of the schema.
struct Migration: Sendable {
    let identifier: String
    let run: @Sendable (Connection) throws -> Void
}

/// The migrations, and which of them a database has.
enum PostgresSchema {
    static let migrations =
        [
            Migration(identifier: Schema.identifier) { connection in
                for part in Schema.parts { try connection.run(script: part.sql.postgres) }
                try connection.run(script: PostgresTables.script)
                try Secrets.make(in: connection)
            }
        ]
        + Schema.migrations.map { migration in
            Migration(identifier: migration.identifier) { connection in try migration.run(in: connection) }
        }

    /// Brings the schema up to date, unless a newer program has migrated it. One node migrates, while others wait; each
    /// migration is a transaction, so that an interrupted one leaves nothing behind.
    static func migrate(_ connection: Connection) throws {
        while try next(on: connection) != nil {
            try connection.prepared(PostgresSessionStatements.begin).run()
            // It ends with the transaction, so that a pooler hands it to no other.
            try connection.prepared(SchemaStatements.lock).run()
            if let migration = try next(on: connection) {
                try connection.prepared(SchemaStatements.table).run()
                try migration.run(connection)
                try connection.prepared(SchemaStatements.note).run(migration.identifier)
            }
            try connection.prepared(PostgresSessionStatements.commit).run()
        }
    }

    /// The first migration that the database lacks; nil where it has all, or is a newer program's.
    private static func next(on connection: Connection) throws -> Migration? {
        let version = try version(of: connection)
        return version.unknown.isEmpty ? migrations.first { version.missing.contains($0.identifier) } : nil
    }

    /// The migrations that a database has.
    static func version(of connection: Connection) throws -> SchemaVersion {
        let isThere = try connection.prepared(SchemaStatements.isThere).first { $0.bool(0) } ?? false
        let applied = isThere ? try connection.prepared(SchemaStatements.applied).all { $0.text(0) } : []
        return SchemaVersion(applied: applied, known: migrations.map(\.identifier))
    }
}

enum SchemaStatements {
    /// The advisory lock that lets one node migrate.
    static let lock = "SELECT pg_advisory_xact_lock(7236828793) /* schema.lock */"

    static let table = """
        CREATE TABLE IF NOT EXISTS belfry_migration /* schema.table */ (
            identifier text PRIMARY KEY,
            applied_at timestamptz NOT NULL DEFAULT now()
        )
        """

    static let isThere = "SELECT to_regclass('belfry_migration') IS NOT NULL /* schema.is_there */"

    static let applied = "SELECT identifier /* schema.applied */ FROM belfry_migration ORDER BY identifier"

    static let note = "INSERT INTO belfry_migration /* schema.note */ (identifier) VALUES ($1)"
}
