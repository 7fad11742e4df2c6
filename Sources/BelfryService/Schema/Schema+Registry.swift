/// Tenants' applications and their platforms, and what keeps one database and its nodes together.
extension Schema {
    static let registry: SQLText = """
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
        -- `is_deleted` is hidden while `PlatformDeletion` deletes its rows. `web_access`: see `WebAccess`.
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
            web_access text,
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

    static let idempotency: SQLText = """
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

    static let node: SQLText = """
        -- See `Node`. A node writes only its own row.
        CREATE TABLE node (
            \(uuid: "uuid", "NOT NULL PRIMARY KEY"),
            host text NOT NULL,
            version text NOT NULL,
            since_ms \(.bigint) NOT NULL,
            last_seen_at_ms \(.bigint) NOT NULL,
            batch_count \(.bigint) NOT NULL CHECK (batch_count >= 0),
            \(flag: "is_draining", false),
            address text NOT NULL DEFAULT ''
        ) \(.byKey);
        """

    static let imports: SQLText = """
        -- Imports of the admin API; see `ImportJob`. `verdict_bytes` are those of its rows in `import_verdict`.
        CREATE TABLE import_job (
            id \(.key),
            \(uuid: "uuid", "NOT NULL UNIQUE"),
            application_id \(.bigint) NOT NULL REFERENCES application (id),
            format text NOT NULL,
            mapping text,
            \(uuid: "platform_uuid"),
            \(flag: "is_dry_run", false),
            key_id text,
            state \(.bigint) NOT NULL CHECK (state BETWEEN 0 AND 3),
            reason text NOT NULL DEFAULT '',
            position \(.bigint) NOT NULL CHECK (position >= 0),
            new_count \(.bigint) NOT NULL DEFAULT 0,
            updated_count \(.bigint) NOT NULL DEFAULT 0,
            duplicate_count \(.bigint) NOT NULL DEFAULT 0,
            refused_count \(.bigint) NOT NULL DEFAULT 0,
            verdict_rows \(.bigint) NOT NULL DEFAULT 0,
            verdict_bytes \(.bigint) NOT NULL DEFAULT 0,
            attempt \(.bigint) NOT NULL,
            created_at_ms \(.bigint) NOT NULL,
            updated_at_ms \(.bigint) NOT NULL,
            ended_at_ms \(.bigint),
            CHECK ((ended_at_ms IS NULL) = (state <= 1))
        ) \(.byID);
        CREATE INDEX import_job_application ON import_job (application_id\(postgres: ", id"));
        CREATE INDEX import_job_updated ON import_job (updated_at_ms);

        -- What came of the rows of an import up to `position`, as lines of a CSV.
        CREATE TABLE import_verdict (
            job_id \(.bigint) NOT NULL REFERENCES import_job (id),
            position \(.bigint) NOT NULL,
            lines \(.bytes) NOT NULL,
            PRIMARY KEY (job_id, position)
        ) \(sqlite: "STRICT");
        """

    static let commandCount: SQLText = """
        -- What commands counted, until a server takes it into its metrics; see `CommandCount`.
        CREATE TABLE command_count (
            metric text NOT NULL,
            labels text NOT NULL,
            amount \(.bigint) NOT NULL CHECK (amount > 0),
            PRIMARY KEY (metric, labels)
        ) \(.byKey);
        """

    static let mirror: SQLText = """
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
}
