import FoundationEssentials

extension SQLStore {
    package func create(_ new: NewOpenEndpoint) async throws -> OpenEndpoint {
        try await write { [damagedRows] session in
            try session.check(new.application)
            let count = (
                application: Int(try session.prepared(OpenEndpointStatements.count).number(new.application) ?? 0),
                tenant: Int(try session.prepared(OpenEndpointStatements.countOfTenant).number(new.application) ?? 0)
            )
            let plain =
                new.isPlain
                ? try session.prepared(OpenEndpointStatements.plainOfOthers).all(
                    new.kind.rawValue, new.application, as: damagedRows.openEndpoint
                ).compactMap(\.self) : []
            try OpenEndpoint.check(new, count: count, plain: plain)
            let now = session.now
            let options = JSONValue.object(JSONObject(new.options))
            let key = try session.insert(
                OpenEndpointStatements.insert, new.application, new.kind.rawValue, new.keyHash,
                new.allowed.joined(separator: ","), String(decoding: options.encoded, as: UTF8.self), now, new.isPlain)
            return OpenEndpoint(
                key: Key(key), kind: new.kind, application: new.application, allowed: new.allowed,
                options: new.options, isPlain: new.isPlain, createdAt: now)
        }
    }

    package func openEndpoint(_ kind: OpenEndpoint.Kind, keyHash: [UInt8]) async throws -> OpenEndpoint? {
        try await readCommitted { db in
            try db.prepared(OpenEndpointStatements.byHash).first(keyHash, kind.rawValue, as: OpenEndpoint.init)
        }
    }

    package func plainOpenEndpoints(_ kind: OpenEndpoint.Kind) async throws -> [OpenEndpoint] {
        try await readCommitted { [damagedRows] db in
            try db.prepared(OpenEndpointStatements.plain).all(kind.rawValue, as: damagedRows.openEndpoint)
                .compactMap(\.self)
        }
    }

    package func openEndpoints(of application: Key<Application>) async throws -> [OpenEndpoint] {
        try await readCommitted { [damagedRows] db in
            try db.prepared(OpenEndpointStatements.ofApplication).all(application, as: damagedRows.openEndpoint)
                .compactMap(\.self)
        }
    }

    package func delete(_ endpoint: Key<OpenEndpoint>, of application: Key<Application>) async throws -> Bool {
        try await write { session in
            try session.prepared(OpenEndpointStatements.delete).run(endpoint, application) > 0
        }
    }
}

extension DamagedRows {
    fileprivate func openEndpoint(_ row: some SQLRow) throws -> OpenEndpoint? {
        try readable("open endpoint \(row.integer(0))") { try OpenEndpoint(row) }
    }
}

extension OpenEndpoint {
    fileprivate init(_ row: some SQLRow) throws {
        guard let kind = Kind(rawValue: row.text(2)) else {
            throw StoreError.damaged("open endpoint \(row.integer(0))")
        }
        var options: [String: String] = [:]
        try StoreError.reading("open endpoint \(row.integer(0))") {
            try JSONReader.document(Array(row.text(4).utf8)) { reader, name throws(InvalidInput) in
                options[name] = try reader.string(name)
            }
        }
        self.init(
            key: Key(row.integer(0)), kind: kind, application: Key(row.integer(1)),
            allowed: row.text(3).split(separator: ",").map(String.init), options: options, isPlain: row.bool(6),
            createdAt: Instant(milliseconds: row.integer(5)))
    }
}

enum OpenEndpointStatements {
    static let insert: SQLText = """
        INSERT INTO open_endpoint /* open_endpoints.insert */ (
            application_id, kind, key_hash, allowed, options, created_at_ms, is_plain)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        RETURNING id
        """

    static let byHash: SQLText = """
        SELECT open_endpoint.id, application_id, kind, allowed, options, open_endpoint.created_at_ms,
               is_plain /* open_endpoints.by_hash */
          FROM open_endpoint JOIN application ON application.id = application_id
         WHERE key_hash = $1 AND kind = $2 AND NOT is_being_deleted
        """

    /// Scans `open_endpoint_plain`.
    static let plain: SQLText = """
        SELECT open_endpoint.id, application_id, kind, allowed, options, open_endpoint.created_at_ms, is_plain
               /* open_endpoints.plain */
          FROM open_endpoint JOIN application ON application.id = application_id
         WHERE is_plain AND kind = $1 AND NOT is_being_deleted
         ORDER BY open_endpoint.id
        """

    /// Endpoints of other tenants than the application's. Scans `open_endpoint_plain`.
    static let plainOfOthers: SQLText = """
        SELECT open_endpoint.id, application_id, kind, allowed, options, open_endpoint.created_at_ms, is_plain
               /* open_endpoints.plain_of_others */
          FROM open_endpoint JOIN application ON application.id = application_id
         WHERE is_plain AND kind = $1 AND NOT is_being_deleted
           AND tenant_id <> (SELECT tenant_id FROM application WHERE id = $2)
        """

    static let count: SQLText = """
        SELECT count(*) /* open_endpoints.count */ FROM open_endpoint WHERE application_id = $1
        """

    static let countOfTenant: SQLText = """
        SELECT count(*) /* open_endpoints.count_of_tenant */
          FROM application JOIN open_endpoint ON open_endpoint.application_id = application.id
         WHERE tenant_id = (SELECT tenant_id FROM application WHERE id = $1)
        """

    /// Scans `open_endpoint_application`.
    static let ofApplication: SQLText = """
        SELECT id, application_id, kind, allowed, options, created_at_ms, is_plain /* open_endpoints.of_application */
          FROM open_endpoint
         WHERE application_id = $1
         ORDER BY id
        """

    static let delete: SQLText = """
        DELETE FROM open_endpoint /* open_endpoints.delete */ WHERE id = $1 AND application_id = $2
        """
}
