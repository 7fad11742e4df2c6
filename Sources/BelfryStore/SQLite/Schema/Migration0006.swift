/// Tenants, the keys of the admin API, the audit log; and platforms that are cleared away in steps.
enum Migration0006 {
    static let identifier = "0006 tenants, admin keys, audit"

    /// - `tenant`: the first row is `Tenant.first`, to whom all applications belong that were there before.
    /// - `admin_key`: found by `public_id`. Bound by its tenant and its application; to neither when it is an operator's.
    ///   Revoked keys stay, after their tenant and application too, so it names those as no foreign keys.
    /// - `audit`: append-only, by trigger. It outlives what it tells of.
    /// - `platform.is_retired`: hidden, and being cleared away by `Retirement`.
    static let sql = """
        CREATE TABLE tenant (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uuid BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
            name TEXT NOT NULL CHECK (length(name) > 0),
            created_at_ms INTEGER NOT NULL
        ) STRICT;

        ALTER TABLE application ADD COLUMN tenant_id INTEGER NOT NULL DEFAULT 1 REFERENCES tenant (id);
        CREATE INDEX application_tenant ON application (tenant_id);

        ALTER TABLE platform ADD COLUMN is_retired INTEGER NOT NULL DEFAULT 0 CHECK (is_retired IN (0, 1));

        CREATE TABLE admin_key (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            public_id TEXT NOT NULL UNIQUE,
            name TEXT NOT NULL CHECK (length(name) > 0),
            scope TEXT NOT NULL CHECK (scope IN ('operator', 'tenant-admin', 'app-admin', 'sender', 'read-only')),
            tenant_id INTEGER,
            application_id INTEGER,
            secret_hash BLOB NOT NULL,
            previous_hash BLOB,
            previous_until_ms INTEGER,
            created_at_ms INTEGER NOT NULL,
            last_used_at_ms INTEGER,
            revoked_at_ms INTEGER,
            CHECK ((scope = 'operator') = (tenant_id IS NULL)),
            CHECK (application_id IS NULL OR tenant_id IS NOT NULL),
            CHECK (scope <> 'tenant-admin' OR application_id IS NULL),
            CHECK (scope <> 'app-admin' OR application_id IS NOT NULL),
            CHECK ((previous_hash IS NULL) = (previous_until_ms IS NULL))
        ) STRICT;
        CREATE INDEX admin_key_tenant ON admin_key (tenant_id);
        CREATE INDEX admin_key_application ON admin_key (application_id) WHERE application_id IS NOT NULL;

        CREATE TABLE audit (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at_ms INTEGER NOT NULL,
            key_id TEXT,
            address TEXT,
            action TEXT NOT NULL,
            subject TEXT NOT NULL,
            tenant_id INTEGER,
            application_id INTEGER,
            details TEXT NOT NULL
        ) STRICT;
        CREATE INDEX audit_tenant ON audit (tenant_id) WHERE tenant_id IS NOT NULL;
        CREATE INDEX audit_application ON audit (application_id) WHERE application_id IS NOT NULL;
        CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
            BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
        CREATE TRIGGER audit_is_never_shortened BEFORE DELETE ON audit
            BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
        """

    /// The first tenant, made at the moment of the migration.
    static let firstTenant = """
        INSERT INTO tenant /* migration_0006.first_tenant */ (id, uuid, name, created_at_ms)
        VALUES (1, ?1, 'default', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
        """
}
