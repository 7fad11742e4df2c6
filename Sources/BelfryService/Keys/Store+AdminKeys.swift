extension Store {
    package func create(_ key: NewAdminKey) async throws -> AdminKey {
        try await write { session in
            let now = session.now
            try session.checkMayIssue(key.scope, key.bounds, key.author)
            if let tenant = key.bounds.tenant {
                try session.checkRoom(.adminKeys, AdminKeyStatements.living, tenant, RowLimit.adminKeys.most)
                try session.prepared(AdminKeyStatements.deleteOldest).send(tenant, RowLimit.adminKeys.most)
            }
            let number = try session.insert(
                AdminKeyStatements.insert, key.id, key.name, key.scope.rawValue, key.bounds.tenant,
                key.bounds.application, key.secretHash, now, key.author)
            return AdminKey(
                key: Key(number), id: key.id, name: key.name, scope: key.scope,
                bounds: key.bounds, secretHash: key.secretHash, previous: nil, createdAt: now, lastUsedAt: nil,
                revokedAt: nil, author: key.author)
        }
    }

    package func adminKey(_ id: String) async throws -> AdminKey? {
        try await read { db in try db.prepared(AdminKeyStatements.byID).first(id, as: AdminKey.init) }
    }

    /// Keys within these bounds, in the order they were created, after `after`.
    package func adminKeys(
        within bounds: AdminKey.Bounds, after: Key<AdminKey>?, limit: Int
    ) async throws -> [AdminKey] {
        try await read { [damagedRows] db in
            try DamagedRows.slice(of: limit, after: after ?? Key(0)) { after, limit in
                try db.adminKeys(within: bounds, after: after, limit: limit, damagedRows)
            }
        }
    }

    /// Replaces the secret; the old one is accepted until `graceEnd`, and no longer when it is nil. Throws `StoreError.conflict` where it is
    /// not the secret of `key` any more: the other one that was given out meanwhile would be worth nothing.
    package func rotate(_ key: AdminKey, to secretHash: [UInt8], graceEnd: Instant?) async throws {
        try await write { session in
            guard
                try session.prepared(AdminKeyStatements.rotate).run(secretHash, graceEnd, key.key, key.secretHash) > 0
            else { throw StoreError.conflict("the key was rotated or revoked meanwhile: look again") }
        }
    }

    /// Revokes the key for good. Does nothing if it is revoked already.
    package func revoke(_ key: Key<AdminKey>) async throws {
        try await write { try $0.prepared(AdminKeyStatements.revoke).send($0.now, key) }
    }

    package func noteUse(of key: Key<AdminKey>, at now: Instant) async throws {
        try await write { try $0.prepared(AdminKeyStatements.noteUse).send(now, key) }
    }
}

extension SQLConnection {
    fileprivate func adminKeys(
        within bounds: AdminKey.Bounds, after: Key<AdminKey>, limit: Int, _ damaged: DamagedRows
    ) throws -> [(position: Key<AdminKey>, value: AdminKey?)] {
        func key(_ row: some SQLRow) throws -> (position: Key<AdminKey>, value: AdminKey?) {
            let key = Key<AdminKey>(row.integer(0))
            return (key, try damaged.readable("admin key \(key)") { try AdminKey(row) })
        }
        return switch bounds {
        case .everything: try prepared(AdminKeyStatements.all).all(after, limit, as: key)
        case .tenant(let tenant): try prepared(AdminKeyStatements.ofTenant).all(after, limit, tenant, as: key)
        case .application(let application, _):
            try prepared(AdminKeyStatements.ofApplication).all(after, limit, application, as: key)
        }
    }
}

extension AdminKey {
    /// From the columns of `AdminKeyStatements.all` and its like.
    fileprivate init(_ row: some SQLRow) throws {
        guard let scope = Scope(rawValue: row.text(3)) else {
            throw StoreError.damaged("admin key \(row.integer(0))")
        }
        let previous = row.integerIfAny(8).map {
            Previous(secretHash: row.blob(7), validUntil: Instant(milliseconds: $0))
        }
        self.init(
            key: Key(row.integer(0)), id: row.text(1), name: row.text(2), scope: scope,
            bounds: Bounds(
                tenant: row.integerIfAny(4).map { Key($0) }, application: row.integerIfAny(5).map { Key($0) }),
            secretHash: row.blob(6), previous: previous, createdAt: Instant(milliseconds: row.integer(9)),
            lastUsedAt: row.instantIfAny(10), revokedAt: row.instantIfAny(11),
            author: row.integerIfAny(12).map { Key($0) })
    }
}

enum AdminKeyStatements {
    static let insert: SQLText = """
        INSERT INTO admin_key /* admin_keys.insert */ (
            public_id, name, scope, tenant_id, application_id, secret_hash, created_at_ms, author_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        RETURNING id
        """

    static let byID = select("by_id", where: "public_id = $1")
    static let all = select("all", where: "id > $1 ORDER BY id LIMIT $2")
    /// Scans `admin_key_tenant`.
    static let ofTenant = select("of_tenant", where: "id > $1 AND tenant_id = $3 ORDER BY id LIMIT $2")
    /// Scans `admin_key_application`.
    static let ofApplication = select("of_application", where: "id > $1 AND application_id = $3 ORDER BY id LIMIT $2")

    private static func select(_ name: String, where condition: String) -> SQLText {
        """
        SELECT id, public_id, name, scope, tenant_id, application_id, secret_hash, previous_hash, previous_until_ms,
               created_at_ms, last_used_at_ms, revoked_at_ms, author_id /* admin_keys.\(name) */
          FROM admin_key
         WHERE \(condition)
        """
    }

    /// Scans `admin_key_tenant`.
    static let living: SQLText = """
        SELECT count(*) /* admin_keys.living */
          FROM (SELECT 1 FROM admin_key WHERE tenant_id = $1 AND revoked_at_ms IS NULL LIMIT $2) AS found
        """

    /// Revoked keys beyond the newest.
    static let deleteOldest: SQLText = """
        DELETE FROM admin_key /* admin_keys.delete_oldest */
         WHERE id IN (SELECT id FROM admin_key WHERE tenant_id = $1 AND revoked_at_ms IS NOT NULL
                       ORDER BY id DESC LIMIT 1000 OFFSET $2)
        """

    /// Scans `admin_key_author`.
    static let revokeOfAuthor: SQLText = """
        UPDATE admin_key /* admin_keys.revoke_of_author */ SET revoked_at_ms = $1
         WHERE author_id = $2 AND revoked_at_ms IS NULL
        """

    /// Scans `admin_key_author`.
    static let livingOfAuthor: SQLText = """
        SELECT id, scope, tenant_id, application_id /* admin_keys.living_of_author */
          FROM admin_key
         WHERE author_id = $1 AND revoked_at_ms IS NULL
        """

    /// Scans `admin_key_author`.
    static let countOfAuthor: SQLText = """
        SELECT count(*) /* admin_keys.count_of_author */ FROM admin_key
         WHERE author_id = $1 AND revoked_at_ms IS NULL
        """

    static let rotate: SQLText = """
        UPDATE admin_key /* admin_keys.rotate */
           SET previous_hash = CASE WHEN $2 IS NOT NULL THEN secret_hash END, previous_until_ms = $2, secret_hash = $1
         WHERE id = $3 AND secret_hash = $4 AND revoked_at_ms IS NULL
        """

    static let revoke: SQLText = """
        UPDATE admin_key /* admin_keys.revoke */ SET revoked_at_ms = $1 WHERE id = $2 AND revoked_at_ms IS NULL
        """

    static let revokeOfTenant: SQLText = """
        UPDATE admin_key /* admin_keys.revoke_of_tenant */ SET revoked_at_ms = $1
         WHERE tenant_id = $2 AND revoked_at_ms IS NULL
        """

    static let revokeOfApplication: SQLText = """
        UPDATE admin_key /* admin_keys.revoke_of_application */ SET revoked_at_ms = $1
         WHERE application_id = $2 AND revoked_at_ms IS NULL
        """

    static let noteUse: SQLText = """
        UPDATE admin_key /* admin_keys.note_use */ SET last_used_at_ms = \(SQLText.greatest)(coalesce(last_used_at_ms, 0), $1)
         WHERE id = $2
        """
}

extension Schema {
    static let adminKeys = SchemaPart(
        [StoreTable("admin_key", rows: .limit(.adminKeys))],
        sql: """
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
            """)
}
