/// The first schema.
///
/// Whoever changes it writes the next migration; this one has landed.
enum Migration0001 {
    static let identifier = "0001 applications, devices, pushes and pages"

    /// - `setting`: secrets made with the database.
    /// - `device`: one row holds all of a device. Its UUID is its id, encrypted by `DeviceNaming`. A token is found by a
    ///   keyed hash of 8 bytes, since an index over 32 random bytes costs four times the log; the token is compared.
    ///   Ids ascend and are never used twice. `topics` are topic ids, coded as a page's devices are.
    /// - `subscription`: the posting lists of the topics, for active devices only. A new device comes to it a little
    ///   later, with many others in one sorted sweep, since ten random pages a device would cost more than all the rest
    ///   of a registration. Until then, beyond `subscription_mark`, its own row is read. It names no device as a foreign
    ///   key, because ten look-ups a device would cost as much as the insertion; `SubscriptionTests` hold them together.
    /// - `push_progress`: what changes of a push, apart from its content, which may be long.
    /// - `page`: see `Page`. `carry_count` counts the claims since a courier last settled: above one, a lease lapsed.
    static let sql = """
        CREATE TABLE setting (
            name TEXT NOT NULL PRIMARY KEY,
            value BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE application (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uuid BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
            name TEXT NOT NULL,
            api_key_hash BLOB NOT NULL,
            shared_secret BLOB NOT NULL,
            is_doomed INTEGER NOT NULL DEFAULT 0 CHECK (is_doomed IN (0, 1)),
            created_at_ms INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE platform (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uuid BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
            application_id INTEGER NOT NULL REFERENCES application (id),
            kind TEXT NOT NULL CHECK (kind IN (
                'ios', 'android', 'android-fcm', 'android-baidu', 'windows8', 'windowsPhone', 'bb10')),
            mode TEXT NOT NULL CHECK (mode IN ('development', 'production')),
            name TEXT NOT NULL,
            secret_hash BLOB NOT NULL,
            credentials BLOB NOT NULL,
            credentials_version INTEGER NOT NULL CHECK (credentials_version >= 1),
            parked_cause TEXT CHECK (parked_cause IN ('credentials', 'deaths')),
            parked_detail TEXT,
            parked_since_ms INTEGER,
            created_at_ms INTEGER NOT NULL,
            CHECK ((parked_cause IS NULL) = (parked_detail IS NULL)),
            CHECK ((parked_cause IS NULL) = (parked_since_ms IS NULL))
        ) STRICT;
        CREATE INDEX platform_application ON platform (application_id);

        CREATE TABLE device (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            platform_id INTEGER NOT NULL REFERENCES platform (id),
            reach INTEGER NOT NULL CHECK (reach IN (0, 1, 2)),
            registered_at_ms INTEGER NOT NULL,
            token_hash INTEGER,
            token BLOB,
            topics BLOB NOT NULL,
            custom_user_id TEXT,
            os TEXT,
            os_version TEXT,
            model TEXT,
            manufacturer TEXT,
            alias TEXT,
            CHECK ((token IS NULL) = (token_hash IS NULL)),
            CHECK (token IS NOT NULL OR reach = 0)
        ) STRICT;
        CREATE INDEX device_token ON device (platform_id, token_hash) WHERE token_hash IS NOT NULL;
        CREATE INDEX device_reach ON device (platform_id, reach);
        CREATE INDEX device_custom_user ON device (platform_id, custom_user_id)
            WHERE custom_user_id IS NOT NULL AND reach > 0;

        CREATE TABLE topic (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            application_id INTEGER NOT NULL REFERENCES application (id),
            name TEXT NOT NULL,
            UNIQUE (application_id, name)
        ) STRICT;

        CREATE TABLE subscription (
            topic_id INTEGER NOT NULL,
            platform_id INTEGER NOT NULL,
            device_id INTEGER NOT NULL,
            PRIMARY KEY (topic_id, platform_id, device_id)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE subscription_mark (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            device_id INTEGER NOT NULL CHECK (device_id >= 0)
        ) STRICT;
        INSERT INTO subscription_mark (id, device_id) VALUES (1, 0);

        CREATE TABLE push (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            receipt_id BLOB NOT NULL UNIQUE CHECK (length(receipt_id) = 16),
            application_id INTEGER NOT NULL REFERENCES application (id),
            lane INTEGER NOT NULL CHECK (lane IN (0, 1, 2)),
            guarantee INTEGER NOT NULL CHECK (guarantee IN (0, 1)),
            accepted_at_ms INTEGER NOT NULL,
            expires_at_ms INTEGER,
            content TEXT NOT NULL,
            audience TEXT NOT NULL
        ) STRICT;
        CREATE INDEX push_application ON push (application_id);

        CREATE TABLE push_progress (
            push_id INTEGER PRIMARY KEY REFERENCES push (id),
            open_walk_count INTEGER NOT NULL CHECK (open_walk_count >= 0),
            open_page_count INTEGER NOT NULL DEFAULT 0 CHECK (open_page_count >= 0),
            device_count INTEGER NOT NULL DEFAULT 0 CHECK (device_count >= 0),
            first_answer_at_ms INTEGER,
            settled_at_ms INTEGER,
            CHECK ((settled_at_ms IS NOT NULL) = (open_walk_count = 0 AND open_page_count = 0))
        ) STRICT;

        CREATE TABLE tally (
            push_id INTEGER NOT NULL REFERENCES push (id),
            answer INTEGER NOT NULL CHECK (answer BETWEEN 1 AND 255),
            device_count INTEGER NOT NULL CHECK (device_count > 0),
            PRIMARY KEY (push_id, answer)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE walk (
            push_id INTEGER NOT NULL REFERENCES push (id),
            platform_id INTEGER NOT NULL,
            lane INTEGER NOT NULL CHECK (lane IN (0, 1, 2)),
            due_at_ms INTEGER NOT NULL,
            attempt INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
            is_claimed INTEGER NOT NULL DEFAULT 0 CHECK (is_claimed IN (0, 1)),
            cursor INTEGER CHECK (cursor > 0),
            PRIMARY KEY (push_id, platform_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX walk_due ON walk (lane, platform_id, due_at_ms, push_id);

        CREATE TABLE page (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            push_id INTEGER NOT NULL REFERENCES push (id),
            platform_id INTEGER NOT NULL,
            lane INTEGER NOT NULL CHECK (lane IN (0, 1, 2)),
            first_device_id INTEGER NOT NULL CHECK (first_device_id > 0),
            last_device_id INTEGER NOT NULL CHECK (last_device_id >= first_device_id),
            is_open INTEGER NOT NULL DEFAULT 1 CHECK (is_open IN (0, 1)),
            due_at_ms INTEGER NOT NULL,
            attempt INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
            carry_count INTEGER NOT NULL DEFAULT 0 CHECK (carry_count BETWEEN 0 AND attempt),
            devices BLOB NOT NULL CHECK (length(devices) > 0),
            answers BLOB NOT NULL CHECK (length(answers) > 0),
            CHECK (is_open = true OR carry_count = 0)
        ) STRICT;
        CREATE UNIQUE INDEX page_device ON page (push_id, platform_id, first_device_id);
        CREATE INDEX page_due ON page (is_open, lane, platform_id, due_at_ms) WHERE is_open = true;
        """
}
