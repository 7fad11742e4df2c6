import BelfryCore
import FoundationEssentials

extension SQLStore {
    package func create(_ new: NewOpenEndpoint) async throws -> OpenEndpoint {
        try await write { session in
            try session.check(new.application)
            let now = session.now
            let options = JSONValue.object(new.options.mapValues(JSONValue.string))
            let key = try session.insert(
                OpenEndpointStatements.insert, new.application, new.kind.rawValue, new.keyHash,
                new.allowed.joined(separator: ","), String(decoding: options.encoded, as: UTF8.self), now)
            return OpenEndpoint(
                key: Key(key), kind: new.kind, application: new.application, allowed: new.allowed,
                options: new.options, createdAt: now)
        }
    }

    package func openEndpoint(_ kind: OpenEndpoint.Kind, keyHash: [UInt8]) async throws -> OpenEndpoint? {
        try await readCommitted { db in
            try db.prepared(OpenEndpointStatements.byHash).first(keyHash, kind.rawValue, as: OpenEndpoint.init)
        }
    }

    package func openEndpoints(_ kind: OpenEndpoint.Kind) async throws -> [OpenEndpoint] {
        try await readCommitted { [damagedRows] db in
            try db.prepared(OpenEndpointStatements.ofKind).all(kind.rawValue, as: damagedRows.openEndpoint)
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
            allowed: row.text(3).split(separator: ",").map(String.init), options: options,
            createdAt: Instant(milliseconds: row.integer(5)))
    }
}

enum OpenEndpointStatements {
    static let insert: SQLText = """
        INSERT INTO open_endpoint /* open_endpoints.insert */ (
            application_id, kind, key_hash, allowed, options, created_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6)
        RETURNING id
        """

    static let byHash: SQLText = """
        SELECT open_endpoint.id, application_id, kind, allowed, options, open_endpoint.created_at_ms
               /* open_endpoints.by_hash */
          FROM open_endpoint JOIN application ON application.id = application_id
         WHERE key_hash = $1 AND kind = $2 AND NOT is_being_deleted
        """

    /// Scans `open_endpoint_kind`.
    static let ofKind: SQLText = """
        SELECT open_endpoint.id, application_id, kind, allowed, options, open_endpoint.created_at_ms
               /* open_endpoints.of_kind */
          FROM open_endpoint JOIN application ON application.id = application_id
         WHERE kind = $1 AND NOT is_being_deleted
         ORDER BY open_endpoint.id
        """

    /// Scans `open_endpoint_application`.
    static let ofApplication: SQLText = """
        SELECT id, application_id, kind, allowed, options, created_at_ms /* open_endpoints.of_application */
          FROM open_endpoint
         WHERE application_id = $1
         ORDER BY id
        """

    static let delete: SQLText = """
        DELETE FROM open_endpoint /* open_endpoints.delete */ WHERE id = $1 AND application_id = $2
        """
}
