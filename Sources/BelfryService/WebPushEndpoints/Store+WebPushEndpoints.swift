import FoundationEssentials

extension Store {
    /// Throws `StoreError` where the device is not active, or has as many endpoints as it may have.
    func create(
        _ new: NewWebPushEndpoint, keyHash: [UInt8], for device: Device, of application: Key<Application>
    ) async throws -> WebPushEndpoint {
        try await write { session in
            try session.check(application)
            guard try session.isActive(device.key, on: device.platformKey) else { throw StoreError.inactiveDevice }
            let count = try session.prepared(WebPushStatements.count).count(device.platformKey, device.key)
            guard count < WebPushEndpoint.perDeviceMax else {
                throw StoreError.conflict("the device has \(count) endpoints, which is the limit: delete some first")
            }
            let now = session.now
            let key = try session.insert(
                WebPushStatements.insert, application, device.platformKey, device.key, keyHash, new.vapidKey,
                new.isFetched, now)
            return WebPushEndpoint(
                key: Key(key), applicationKey: application, platformKey: device.platformKey, deviceKey: device.key,
                device: device.ownUUID, vapidKey: new.vapidKey, isFetched: new.isFetched, isAlive: true, createdAt: now)
        }
    }

    func webPushEndpoint(keyHash: [UInt8]) async throws -> WebPushEndpoint? {
        try await readCommitted { [secrets] db in
            try db.prepared(WebPushStatements.byHash).first(keyHash) { WebPushEndpoint($0, naming: secrets.naming) }
        }
    }

    /// The endpoints of a device, in the order in which they were made.
    func webPushEndpoints(of device: Device) async throws -> [WebPushEndpoint] {
        try await readCommitted { [secrets] db in
            try db.prepared(WebPushStatements.ofDevice).all(
                device.platformKey, device.key, WebPushEndpoint.perDeviceMax
            ) { WebPushEndpoint($0, naming: secrets.naming) }
        }
    }

    /// Deletes an endpoint of a device with its messages; false when there is none.
    func delete(_ endpoint: Key<WebPushEndpoint>, of device: Device) async throws -> Bool {
        try await writeIfFound { session in
            try session.holdEndpoints(of: device.key, on: device.platformKey)
            _ = try session.deleteMessages(
                WebPushStatements.deleteMessagesOfEndpoint, endpoint, device.platformKey, device.key)
            return try session.prepared(WebPushStatements.delete).run(endpoint, device.platformKey, device.key) > 0
        }
    }

    // MARK: Messages

    /// Keeps a message for a device that fetches it, in the place of one that has its topic; false where no more may wait. It counts as
    /// content of the application.
    func keep(_ message: EndpointMessage, as id: UUID, for endpoint: Key<WebPushEndpoint>) async throws -> Bool {
        let content = message.ciphertext.stored.storedText
        let bytes = content.utf8.count
        return try await write { session in
            let application = try session.hold(endpoint)
            try session.check(.content, of: application, adding: bytes)
            _ = try session.replace(message.topic, of: endpoint)
            let waiting = try session.prepared(WebPushStatements.countMessages).count(endpoint)
            guard waiting < WebPushEndpoint.messagesMax else { return false }
            try session.prepared(WebPushStatements.keepMessage).send(
                endpoint, id, message.topic, content, session.now, message.expiry(at: session.now))
            session.note(bytes, .content, of: application)
            return true
        }
    }

    /// Remembers the push that has a topic now; returns the one that had it before, while that may wait. Of too many topics the oldest are
    /// forgotten.
    func note(
        _ push: UUID, expiring expiry: Instant, as topic: String, of endpoint: Key<WebPushEndpoint>
    ) async throws -> UUID? {
        try await write { session in
            _ = try session.hold(endpoint)
            let replaced = try session.replace(topic, of: endpoint)
            try session.prepared(WebPushStatements.forgetOldest).send(endpoint, WebPushEndpoint.messagesMax - 1)
            try session.prepared(WebPushStatements.keepMessage).send(
                endpoint, push, topic, String?.none, session.now, expiry)
            return replaced
        }
    }

    /// The messages that wait for a device which fetches them, the oldest first.
    func messages(at endpoint: Key<WebPushEndpoint>) async throws -> [WaitingMessage] {
        let now = clock.now
        return try await readCommitted { [damagedRows] db in
            try db.prepared(WebPushStatements.messages).all(endpoint, now, WebPushEndpoint.messagesMax) { row in
                try damagedRows.readable("a message of web push endpoint \(endpoint)") { try WaitingMessage(row) }
            }.compactMap(\.self)
        }
    }

    /// Deletes a message that was fetched, or retracted; false when there is none.
    func deleteMessage(_ id: UUID, at endpoint: Key<WebPushEndpoint>) async throws -> Bool {
        try await write { try !$0.deleteMessages(WebPushStatements.deleteMessage, endpoint, id).isEmpty }
    }
}

extension WriteSession {
    /// Returns the application of an endpoint. Callers for one endpoint wait for one another.
    fileprivate func hold(_ endpoint: Key<WebPushEndpoint>) throws -> Key<Application> {
        guard let application = try prepared(WebPushStatements.hold).number(endpoint) else {
            throw StoreError.unknown("such endpoint")
        }
        return Key(application)
    }

    /// No message is kept until the transaction ends: one that is deleted with its endpoint would count for ever.
    func holdEndpoints(of device: Key<Device>, on platform: Key<Platform>) throws {
        _ = try prepared(WebPushStatements.holdAll).all(platform, device) { $0.integer(0) }
    }

    /// Deletes what has expired and what has the topic; returns the id of that.
    fileprivate func replace(_ topic: String?, of endpoint: Key<WebPushEndpoint>) throws -> UUID? {
        _ = try deleteMessages(WebPushStatements.deleteExpired, endpoint, now)
        return try topic.flatMap { try deleteMessages(WebPushStatements.deleteTopic, endpoint, $0).first } ?? nil
    }

    /// Deletes messages, which no longer count as content of their application; returns their ids.
    func deleteMessages<each Value: SQLValue>(_ sql: SQLText, _ values: repeat each Value) throws -> [UUID?] {
        try prepared(sql).all(repeat each values) { row in
            note(-Int(row.integer(2)), .content, of: Key(row.integer(1)))
            return row.uuid(0)
        }
    }
}

/// A message that waits for its device.
struct WaitingMessage: Sendable {
    let id: UUID
    let topic: String?
    let ciphertext: Ciphertext
    let acceptedAt: Instant
    let expiresAt: Instant

    /// From the columns of `WebPushStatements.messages`.
    fileprivate init(_ row: some SQLRow) throws {
        guard let id = row.uuid(0) else { throw StoreError.damaged("a message of a web push endpoint") }
        self.id = id
        topic = row.textIfAny(1)
        ciphertext = try Ciphertext(stored: try JSONValue(json: row.text(2).utf8).demandObject("content"))
        (acceptedAt, expiresAt) = (Instant(milliseconds: row.integer(3)), Instant(milliseconds: row.integer(4)))
    }
}

extension WebPushEndpoint {
    /// From the columns of `WebPushStatements.byHash`.
    fileprivate init(_ row: some SQLRow, naming: DeviceNaming) {
        let device = Key<Device>(row.integer(3))
        self.init(
            key: Key(row.integer(0)), applicationKey: Key(row.integer(1)), platformKey: Key(row.integer(2)),
            deviceKey: device, device: naming.uuid(of: device), vapidKey: row.blobIfAny(4), isFetched: row.bool(5),
            isAlive: row.integer(7) > 0, createdAt: Instant(milliseconds: row.integer(6)))
    }
}

enum WebPushStatements {
    /// Scans `web_push_endpoint_device`.
    static let count: SQLText = """
        SELECT count(*) /* web_push.count */ FROM web_push_endpoint WHERE platform_id = $1 AND device_id = $2
        """

    static let insert: SQLText = """
        INSERT INTO web_push_endpoint /* web_push.insert */ (
            application_id, platform_id, device_id, key_hash, vapid_key, is_fetched, created_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        RETURNING id
        """

    static let byHash: SQLText = """
        SELECT web_push_endpoint.id, application_id, web_push_endpoint.platform_id, device_id, vapid_key, is_fetched,
               web_push_endpoint.created_at_ms, coalesce(reach, 0) /* web_push.by_hash */
          FROM web_push_endpoint LEFT JOIN device ON device.id = device_id
         WHERE key_hash = $1
        """

    /// Scans `web_push_endpoint_device`.
    static let ofDevice: SQLText = """
        SELECT web_push_endpoint.id, application_id, web_push_endpoint.platform_id, device_id, vapid_key, is_fetched,
               web_push_endpoint.created_at_ms, coalesce(reach, 0) /* web_push.of_device */
          FROM web_push_endpoint LEFT JOIN device ON device.id = device_id
         WHERE web_push_endpoint.platform_id = $1 AND device_id = $2
         ORDER BY web_push_endpoint.id
         LIMIT $3
        """

    static let delete: SQLText = """
        DELETE FROM web_push_endpoint /* web_push.delete */ WHERE id = $1 AND platform_id = $2 AND device_id = $3
        """

    static let holdAll: SQLText = """
        SELECT id /* web_push.hold_all */ FROM web_push_endpoint
         WHERE platform_id = $1 AND device_id = $2
         ORDER BY id \(SQLText.forUpdate)
        """

    static let hold: SQLText = """
        SELECT application_id /* web_push.hold */ FROM web_push_endpoint WHERE id = $1 \(SQLText.forNoKeyUpdate)
        """

    /// Scans `web_push_message_endpoint`, as all of an endpoint's messages do.
    static let deleteExpired: SQLText = """
        DELETE FROM web_push_message /* web_push.delete_expired */ WHERE endpoint_id = $1 AND expires_at_ms <= $2
        \(deleted)
        """

    static let deleteTopic: SQLText = """
        DELETE FROM web_push_message /* web_push.delete_topic */ WHERE endpoint_id = $1 AND topic = $2
        \(deleted)
        """

    static let countMessages: SQLText = """
        SELECT count(*) /* web_push.count_messages */ FROM web_push_message WHERE endpoint_id = $1
        """

    static let keepMessage: SQLText = """
        INSERT INTO web_push_message /* web_push.keep_message */ (
            endpoint_id, message_id, topic, content, accepted_at_ms, expires_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6)
        """

    static let forgetOldest: SQLText = """
        DELETE FROM web_push_message /* web_push.forget_oldest */
         WHERE id IN (SELECT id FROM web_push_message WHERE endpoint_id = $1 ORDER BY id DESC LIMIT 200 OFFSET $2)
        """

    static let messages: SQLText = """
        SELECT message_id, topic, content, accepted_at_ms, expires_at_ms /* web_push.messages */
          FROM web_push_message
         WHERE endpoint_id = $1 AND expires_at_ms > $2 AND content IS NOT NULL
         ORDER BY id
         LIMIT $3
        """

    static let deleteMessage: SQLText = """
        DELETE FROM web_push_message /* web_push.delete_message */ WHERE endpoint_id = $1 AND message_id = $2
        \(deleted)
        """

    static let deleteMessagesOfEndpoint: SQLText = """
        DELETE FROM web_push_message /* web_push.delete_of_endpoint */
         WHERE endpoint_id \(amongRows: """
            SELECT id FROM web_push_endpoint WHERE id = $1 AND platform_id = $2 AND device_id = $3
            """)
        \(deleted)
        """

    static let deleteMessagesOfDevice: SQLText = """
        DELETE FROM web_push_message /* web_push.delete_of_device */
         WHERE endpoint_id \(amongRows: "SELECT id FROM web_push_endpoint WHERE platform_id = $1 AND device_id = $2")
        \(deleted)
        """

    static let deleteMessagesOfPlatform: SQLText = """
        DELETE FROM web_push_message /* web_push.delete_of_platform */
         WHERE id IN (
            SELECT web_push_message.id
              FROM web_push_endpoint JOIN web_push_message ON endpoint_id = web_push_endpoint.id
             WHERE platform_id = $1
             LIMIT $2)
        \(deleted)
        """

    /// Scans `web_push_message_expiry`.
    static let deleteAllExpired: SQLText = """
        DELETE FROM web_push_message /* web_push.delete_all_expired */
         WHERE id IN (SELECT id FROM web_push_message WHERE expires_at_ms < $1 LIMIT $2)
        \(deleted)
        """

    /// The id of a deleted message, its application, and the bytes of its content.
    private static let deleted: SQLText = """
        RETURNING message_id, (SELECT application_id FROM web_push_endpoint WHERE web_push_endpoint.id = endpoint_id),
                  coalesce(\(bytesOf: "content"), 0)
        """
}

/// Endpoints for application servers, and what waits at them.
enum WebPushMigration: SchemaMigration {
    static let identifier = "0025 web push endpoints (additive)"
    static let tables = [
        StoreTable(
            "web_push_endpoint", rows: .perRow("device", WebPushEndpoint.perDeviceMax), of: .application,
            goesWithPlatform: true),
        StoreTable(
            "web_push_message", rows: .perRow("web_push_endpoint", WebPushEndpoint.messagesMax),
            of: .row(of: "web_push_endpoint", by: "endpoint_id")),
    ]

    static func run(in db: some SQLConnection) throws {
        try db.run(
            script: """
                -- See `WebPushEndpoint`. `key_hash`: of the capability.
                CREATE TABLE web_push_endpoint (
                    id \(.key),
                    application_id \(.bigint) NOT NULL REFERENCES application (id) ON DELETE CASCADE,
                    platform_id \(.bigint) NOT NULL REFERENCES platform (id) ON DELETE CASCADE,
                    device_id \(.bigint) NOT NULL,
                    key_hash \(.bytes) NOT NULL UNIQUE CHECK (length(key_hash) = 32),
                    vapid_key \(.bytes) CHECK (length(vapid_key) = 65),
                    \(flag: "is_fetched", false),
                    created_at_ms \(.bigint) NOT NULL
                ) \(.byID);
                CREATE INDEX web_push_endpoint_application ON web_push_endpoint (application_id\(postgres: ", id"));
                CREATE INDEX web_push_endpoint_device ON web_push_endpoint (platform_id, device_id\(postgres: ", id"));

                -- A message that its device fetches: `content` is the stored form of a `Ciphertext`. Without it, the push `message_id`
                -- that has the topic. It goes with its endpoint.
                CREATE TABLE web_push_message (
                    id \(.key),
                    endpoint_id \(.bigint) NOT NULL REFERENCES web_push_endpoint (id) ON DELETE CASCADE,
                    \(uuid: "message_id", "NOT NULL"),
                    topic text,
                    content text,
                    accepted_at_ms \(.bigint) NOT NULL,
                    expires_at_ms \(.bigint) NOT NULL,
                    CHECK (topic IS NOT NULL OR content IS NOT NULL)
                ) \(.byID);
                CREATE INDEX web_push_message_endpoint ON web_push_message (endpoint_id\(postgres: ", id"));
                CREATE UNIQUE INDEX web_push_message_topic ON web_push_message (endpoint_id, topic) WHERE topic IS NOT NULL;
                CREATE INDEX web_push_message_expiry ON web_push_message (expires_at_ms);
                """)
    }
}
