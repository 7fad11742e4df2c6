import FoundationEssentials

/// Tenants' applications and their platforms, and what keeps one database and its nodes together.
extension Schema {
    static let registry = SchemaPart(
        [
            StoreTable("setting", rows: .operators, key: "name", isCopied: false),
            StoreTable("tenant", rows: .operators),
            StoreTable("application", rows: .limit(.applications)),
            StoreTable(
                "application_use", rows: .derived("application"), key: "application_id", of: .application,
                isCopied: false),
            StoreTable("platform", rows: .limit(.platforms), of: .application),
            StoreTable("connection_fault", rows: .perRow("platform", 1), key: "platform_id", isCopied: false),
        ],
        sql: """
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
            """)
}
