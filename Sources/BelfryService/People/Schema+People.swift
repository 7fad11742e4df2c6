extension Schema {
    static let dashboard = SchemaPart(
        [
            StoreTable("person", rows: .limit(.people)),
            StoreTable("recovery_code", rows: .perRow("person", RecoveryCode.count), key: "person_id, code_hash"),
            StoreTable("person_identity", rows: .perRow("person", 1), key: "issuer, subject"),
            StoreTable("dashboard_session", rows: .perRow("person", DashboardSession.perPersonMax), isCopied: false),
            StoreTable("invitation", rows: .limit(.invitations)),
        ],
        sql: """
            -- Found by `email`, in lower case. Bound as an admin key is, and kept as one is, so these are not foreign keys.
            CREATE TABLE person (
                id \(.key),
                email text NOT NULL UNIQUE,
                name text NOT NULL CHECK (length(name) > 0),
                scope text NOT NULL CHECK (scope IN ('operator', 'tenant-admin', 'app-admin', 'sender', 'read-only')),
                tenant_id \(.bigint),
                application_id \(.bigint),
                -- Empty where the person has none.
                password_hash text NOT NULL,
                created_at_ms \(.bigint) NOT NULL,
                last_login_at_ms \(.bigint),
                disabled_at_ms \(.bigint),
                -- Sealed. The step is that of the last code taken: none is taken twice.
                two_factor_secret \(.bytes),
                two_factor_step \(.bigint),
                CHECK ((two_factor_secret IS NULL) = (two_factor_step IS NULL)),
                CHECK ((scope = 'operator') = (tenant_id IS NULL)),
                CHECK (application_id IS NULL OR tenant_id IS NOT NULL),
                CHECK (scope <> 'tenant-admin' OR application_id IS NULL),
                CHECK (scope <> 'app-admin' OR application_id IS NOT NULL)
            ) \(.byID);
            CREATE INDEX person_tenant ON person (tenant_id\(postgres: ", id"));
            CREATE INDEX person_application ON person (application_id\(postgres: ", id")) WHERE application_id IS NOT NULL;

            -- A row for each code that was not used yet.
            CREATE TABLE recovery_code (
                person_id \(.bigint) NOT NULL REFERENCES person (id),
                code_hash \(.bytes) NOT NULL,
                PRIMARY KEY (person_id, code_hash)
            ) \(.byKey);

            -- Who a person is to an issuer of OpenID Connect.
            CREATE TABLE person_identity (
                issuer text NOT NULL,
                subject text NOT NULL,
                person_id \(.bigint) NOT NULL REFERENCES person (id),
                PRIMARY KEY (issuer, subject)
            ) \(.byKey);
            CREATE UNIQUE INDEX person_identity_person ON person_identity (person_id, issuer);

            -- The token itself is in the browser's cookie alone.
            CREATE TABLE dashboard_session (
                id \(.key),
                person_id \(.bigint) NOT NULL REFERENCES person (id),
                token_hash \(.bytes) NOT NULL UNIQUE,
                created_at_ms \(.bigint) NOT NULL,
                last_seen_at_ms \(.bigint) NOT NULL,
                address text,
                agent text NOT NULL
            ) \(.byID);
            CREATE INDEX dashboard_session_person ON dashboard_session (person_id\(postgres: ", id"));

            CREATE TABLE invitation (
                id \(.key),
                token_hash \(.bytes) NOT NULL UNIQUE,
                email text,
                person_id \(.bigint) REFERENCES person (id),
                scope text NOT NULL,
                tenant_id \(.bigint),
                application_id \(.bigint),
                expires_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE INDEX invitation_expiry ON invitation (expires_at_ms);
            """)
}

/// Adds the time zone that a person chose; see `Person.timeZone`.
enum PersonZoneMigration: SchemaMigration {
    static let identifier = "0021 time zones of people (additive)"

    static func run(in db: some SQLConnection) throws {
        try db.run(script: "ALTER TABLE person ADD COLUMN time_zone text")
    }
}
