/// Keys of the admin API, the service broker, and the audit log.
extension Schema {
    static let administration: SQLText = """
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
}
