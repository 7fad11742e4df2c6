import FoundationEssentials

extension Store {
    /// Throws `StoreError.conflict` as `OpenEndpoint.check` says.
    package func create(_ new: NewOpenEndpoint) async throws -> OpenEndpoint {
        try await write { [damagedRows] session in
            try session.checkAlone(new.application)
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

    /// The endpoint of this kind whose key has the hash.
    package func openEndpoint(_ kind: OpenEndpoint.Kind, keyHash: [UInt8]) async throws -> OpenEndpoint? {
        try await readCommitted { db in
            try db.prepared(OpenEndpointStatements.byHash).first(keyHash, kind.rawValue, as: OpenEndpoint.init)
        }
    }

    /// The endpoints of one kind, of all applications, to which the path without a key leads.
    package func plainOpenEndpoints(_ kind: OpenEndpoint.Kind) async throws -> [OpenEndpoint] {
        try await readCommitted { [damagedRows] db in
            try db.prepared(OpenEndpointStatements.plain).all(kind.rawValue, as: damagedRows.openEndpoint)
                .compactMap(\.self)
        }
    }

    /// All of one application.
    package func openEndpoints(of application: Key<Application>) async throws -> [OpenEndpoint] {
        try await readCommitted { [damagedRows] db in
            try db.prepared(OpenEndpointStatements.ofApplication).all(application, as: damagedRows.openEndpoint)
                .compactMap(\.self)
        }
    }

    /// Returns false when there is none.
    package func delete(_ endpoint: Key<OpenEndpoint>, of application: Key<Application>) async throws -> Bool {
        try await writeIfFound { session in
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

    static let byHash = select("by_hash", where: "key_hash = $1 AND kind = $2")

    /// Scans `open_endpoint_plain`.
    static let plain = select("plain", where: "is_plain AND kind = $1 ORDER BY open_endpoint.id")

    /// Endpoints of other tenants than the application's. Scans `open_endpoint_plain`.
    static let plainOfOthers = select(
        "plain_of_others",
        where: "is_plain AND kind = $1 AND tenant_id <> (SELECT tenant_id FROM application WHERE id = $2)")

    private static func select(_ name: String, where condition: String) -> SQLText {
        """
        SELECT open_endpoint.id, application_id, kind, allowed, options, open_endpoint.created_at_ms, is_plain
               /* open_endpoints.\(name) */
          FROM open_endpoint JOIN application ON application.id = application_id
         WHERE NOT is_being_deleted AND \(condition)
        """
    }

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

extension Schema {
    static let openEndpoints = SchemaPart(
        [
            StoreTable("open_endpoint", rows: .limit(.openEndpoints), of: .application),
            StoreTable("gateway_credential", rows: .perRow("platform", GatewayCredential.countMax), of: .platform),
            StoreTable("gateway_feedback", rows: .perRow("device", 1), of: .platform),
        ],
        sql: """
            -- `allowed`: networks, separated by commas. `options`: a JSON object of texts.
            CREATE TABLE open_endpoint (
                id \(.key),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                kind text NOT NULL CHECK (kind IN ('genero', 'acrobits-reporter', 'acrobits-mediator')),
                key_hash \(.bytes) NOT NULL UNIQUE,
                allowed text NOT NULL,
                options text NOT NULL,
                created_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE INDEX open_endpoint_application ON open_endpoint (application_id\(postgres: ", id"));
            CREATE INDEX open_endpoint_kind ON open_endpoint (kind\(postgres: ", id"));

            CREATE TABLE gateway_credential (
                id \(.key),
                platform_id \(.bigint) NOT NULL REFERENCES platform (id),
                fingerprint \(.bytes) NOT NULL UNIQUE CHECK (length(fingerprint) = 32),
                expires_at_ms \(.bigint),
                created_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE INDEX gateway_credential_platform ON gateway_credential (platform_id\(postgres: ", id"));

            -- Devices that lost the app, until a sender has asked for them.
            CREATE TABLE gateway_feedback (
                id \(.key),
                platform_id \(.bigint) NOT NULL,
                device_id \(.bigint) NOT NULL,
                since_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE UNIQUE INDEX gateway_feedback_device ON gateway_feedback (platform_id, device_id);

            \(generoViews)
            """)

    static let generoViews: SQLText = """
        -- The active devices of the applications that apps of Genero register with.
        CREATE VIEW genero_token_of_application AS
        SELECT active.application_id, active.id, notification_type, coalesce(spelling, token_text) AS registration_token,
               coalesce(badge, 0) AS badge_number, app_user, reg_date
          FROM (SELECT device.id, device.platform_id, platform.application_id,
                       CASE WHEN platform.kind = 'ios' THEN 'APNS' ELSE 'FCM' END AS notification_type,
                       CASE WHEN platform.kind = 'ios'
                            THEN \(sqlite: "lower(hex(device.token))", postgres: "encode(device.token, 'hex')")
                            ELSE \(sqlite: "CAST(device.token AS TEXT)", postgres: "convert_from(device.token, 'UTF8')")
                       END AS token_text,
                       coalesce(device.custom_user_id, '') AS app_user,
                       \(registeredAt) AS reg_date
                  FROM platform JOIN device ON device.platform_id = platform.id
                 WHERE platform.application_id IN (SELECT application_id FROM open_endpoint WHERE kind = 'genero')
                   AND device.reach > 0 AND platform.kind IN ('ios', 'android', 'android-fcm')) AS active
          LEFT JOIN device_detail
            ON device_detail.platform_id = active.platform_id AND device_detail.device_id = active.id;

        -- Just the columns of the table `tokens` that Genero's token maintainer kept, for push providers that read it.
        CREATE VIEW genero_tokens AS
        SELECT id, notification_type, registration_token, badge_number, app_user, reg_date
          FROM genero_token_of_application;
        """

    /// The time in UTC, with milliseconds.
    private static let registeredAt: SQLText = """
        \(sqlite: "strftime('%Y-%m-%d %H:%M:%f', device.registered_at_ms / 1000.0, 'unixepoch')",
            postgres: "to_char(to_timestamp(device.registered_at_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS')")
        """
}
