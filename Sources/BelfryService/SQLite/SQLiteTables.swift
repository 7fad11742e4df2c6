import GRDB

/// The parts of the schema that only SQLite has, or stores differently.
enum SQLiteTables {
    static let script = """
        -- Devices by the hashes of their tokens. Only `TokenIndex` adds rows; the two triggers delete the rows of tokens
        -- that a device has lost.
        CREATE TABLE device_token (
            token_hash INTEGER NOT NULL,
            device_id INTEGER NOT NULL,
            PRIMARY KEY (token_hash, device_id)
        ) STRICT, WITHOUT ROWID;
        CREATE TRIGGER device_token_lost AFTER DELETE ON device WHEN OLD.token_hash IS NOT NULL
        BEGIN
            DELETE FROM device_token WHERE token_hash = OLD.token_hash AND device_id = OLD.id;
        END;
        CREATE TRIGGER device_token_changed AFTER UPDATE OF token_hash ON device
        WHEN OLD.token_hash IS NOT NULL AND NEW.token_hash IS NOT OLD.token_hash
        BEGIN
            DELETE FROM device_token WHERE token_hash = OLD.token_hash AND device_id = OLD.id;
        END;

        -- `slice` is the upper six bits of the hash, from 0 for the smallest; `device_token` has the tokens of all
        -- devices of the slice up to `device_id`.
        CREATE TABLE token_mark (
            slice INTEGER PRIMARY KEY CHECK (slice BETWEEN 0 AND 63),
            device_id INTEGER NOT NULL CHECK (device_id >= 0)
        ) STRICT;
        INSERT INTO token_mark (slice, device_id)
        WITH RECURSIVE slice (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM slice WHERE n < 63)
        SELECT n, 0 FROM slice;

        -- The posting lists of the topics, for active devices only. A row is a posting block: `device_id` is the first
        -- of `device_count` devices, `others` those after it; see `PostingBlock`. A new device is added a little later,
        -- with many others in one sorted merge, since ten random pages for each device would cost more than all the
        -- rest of a registration. Until then, past `subscription_mark`, its own row is read. The device is not a
        -- foreign key, because ten look-ups for each device would cost as much as the insertion; `SubscriptionTests`
        -- verify that they agree.
        CREATE TABLE subscription (
            topic_id INTEGER NOT NULL,
            platform_id INTEGER NOT NULL,
            device_id INTEGER NOT NULL,
            device_count INTEGER NOT NULL DEFAULT 1 CHECK (device_count > 0),
            others BLOB CHECK ((others IS NULL) = (device_count = 1)),
            PRIMARY KEY (topic_id, platform_id, device_id)
        ) STRICT, WITHOUT ROWID;
        -- The progress of the lists; see `PostingMark`. While a merge is running, `merge_device_id` is the last device
        -- that it adds to the lists, and the topic and the platform are those of the last list that has its devices.
        CREATE TABLE subscription_mark (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            device_id INTEGER NOT NULL CHECK (device_id >= 0),
            merge_device_id INTEGER CHECK (merge_device_id > device_id),
            merge_topic_id INTEGER CHECK (merge_topic_id IS NULL OR merge_device_id IS NOT NULL),
            merge_platform_id INTEGER CHECK ((merge_platform_id IS NULL) = (merge_topic_id IS NULL))
        ) STRICT;
        INSERT INTO subscription_mark (id, device_id) VALUES (1, 0);

        -- The number of devices of a platform in a segment, by the last device of the segment.
        CREATE TABLE search_index_count (
            platform_id INTEGER NOT NULL,
            last_device_id INTEGER NOT NULL,
            device_count INTEGER NOT NULL CHECK (device_count > 0),
            PRIMARY KEY (platform_id, last_device_id)
        ) STRICT, WITHOUT ROWID;

        CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
            BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
        CREATE TRIGGER audit_is_forgotten_by_age_alone BEFORE DELETE ON audit
            WHEN NOT EXISTS (SELECT 1 FROM audit_horizon WHERE OLD.at_ms < at_ms)
            BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
        CREATE TRIGGER audit_horizon_only_rises BEFORE UPDATE ON audit_horizon WHEN NEW.at_ms < OLD.at_ms
            BEGIN SELECT RAISE(ABORT, 'the audit log is not lengthened afterwards'); END;

        INSERT INTO tenant (id, uuid, name, created_at_ms)
        VALUES (1, randomblob(16), 'default', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));
        """
}

/// The migrations, and which of them a database has.
enum SQLiteSchema {
    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration(Schema.identifier) { db in
            for part in Schema.parts { try db.execute(sql: part.sql.sqlite) }
            try db.execute(sql: SQLiteTables.script)
            try Secrets.make(in: db)
        }
        for migration in Schema.migrations {
            migrator.registerMigration(migration.identifier) { db in try migration.run(in: db) }
        }
        return migrator
    }()

    /// Brings the schema up to date, unless a newer program has migrated it.
    static func migrate(_ pool: DatabasePool) throws {
        let version = try pool.read(version)
        if version.unknown.isEmpty, !version.missing.isEmpty { try migrator.migrate(pool) }
    }

    /// The migrations that a database has.
    static func version(of db: Database) throws -> SchemaVersion {
        SchemaVersion(applied: try migrator.appliedIdentifiers(db), known: migrator.migrations)
    }
}
