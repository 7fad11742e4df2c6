extension Store {
    /// Throws `StoreError.conflict` when a platform has the certificate already, or has the most that it may have.
    package func createGatewayCredential(
        _ fingerprint: [UInt8], expiresAt: Instant?, on platform: Key<Platform>
    ) async throws -> GatewayCredential {
        try await write { session in
            guard try session.hold([platform], locating: []).held.contains(platform) else {
                throw StoreError.unknown("platform \(platform)")
            }
            guard try !session.prepared(GatewayStatements.byFingerprint).hasRow(fingerprint) else {
                throw StoreError.conflict("the certificate opens a platform already")
            }
            let count = try session.prepared(GatewayStatements.count).count(platform)
            guard count < GatewayCredential.countMax else {
                throw StoreError.conflict(
                    "the platform has \(count) gateway credentials, the limit is \(GatewayCredential.countMax)")
            }
            let now = session.now
            let key = try session.insert(GatewayStatements.insert, platform, fingerprint, expiresAt, now)
            return GatewayCredential(
                key: Key(key), platform: platform, fingerprint: fingerprint, expiresAt: expiresAt, createdAt: now)
        }
    }

    package func gatewayCredential(_ fingerprint: [UInt8]) async throws -> GatewayCredential? {
        try await readCommitted { db in
            try db.prepared(GatewayStatements.byFingerprint).first(fingerprint, as: GatewayCredential.init)
        }
    }

    package func gatewayCredentials(of platform: Key<Platform>) async throws -> [GatewayCredential] {
        try await readCommitted { db in
            try db.prepared(GatewayStatements.ofPlatform).all(platform, as: GatewayCredential.init)
        }
    }

    /// Returns false when there is none.
    package func delete(_ credential: Key<GatewayCredential>, of platform: Key<Platform>) async throws -> Bool {
        try await writeIfFound { session in
            try session.prepared(GatewayStatements.delete).run(credential, platform) > 0
        }
    }
}

extension Store {
    /// The next devices that lost the app and whose tokens are still dead, in the order in which that was found. They are
    /// noted for platforms that have a gateway credential by then.
    package func feedback(of platform: Key<Platform>, after: Feedback?, limit: Int) async throws -> [Feedback] {
        try await readCommitted { db in
            try db.prepared(FeedbackStatements.behind).all(platform, after?.key.rawValue ?? 0, limit) { row in
                Feedback(
                    key: Key(row.integer(0)), since: Instant(milliseconds: row.integer(1)),
                    token: DeviceToken(bytes: row.blob(2)))
            }
        }
    }

    /// Deletes what was told. A device that was found again meanwhile has another time, and stays.
    package func deleteFeedback(_ told: [(key: Key<Feedback>, since: Instant)]) async throws {
        try await write { session in
            try session.prepared(FeedbackStatements.delete).sendEach(told.map(\.key), told.map(\.since))
        }
    }

    /// Since when an inactive device's token counts as dead: since its last registration, for as long as `TokenGateway` says. nil
    /// where it may be tried again.
    package func deadSince(_ holder: TokenHolder, on platform: Key<Platform>) async throws -> Instant? {
        guard let device = try await device(holder.uuid, on: platform), !device.isActive,
            clock.now < device.registeredAt + TokenGateway.deadFor
        else { return nil }
        return device.registeredAt
    }

    /// Deactivates a device whose token is dead, unless it has registered since, and notes it for the feedback service.
    package func endNewcomer(_ device: Device) async throws {
        let verdict = Settlement.DeadToken(device: device.key, since: device.registeredAt + .milliseconds(1))
        try await write { session in
            guard try !session.prepared(PlatformStatements.isDoubted).hasRow(device.platformKey) else { return }
            try session.deactivate([verdict], on: device.platformKey, as: .gone)
            try session.noteFeedback(of: [verdict], on: device.platformKey)
        }
    }
}

extension WriteSession {
    /// Called for devices that were deactivated.
    func noteFeedback(of deadTokens: [Settlement.DeadToken], on platform: Key<Platform>) throws {
        guard !deadTokens.isEmpty else { return }
        let devices = SQLKeys(deadTokens.map(\.device).sorted())
        try prepared(FeedbackStatements.note).send(platform, devices, now)
    }
}

enum FeedbackStatements {
    /// Notes nothing for a platform that no sender of the gateway uses, nor a device that is active all the same.
    static let note: SQLText = """
        INSERT INTO gateway_feedback /* feedback.note */ (platform_id, device_id, since_ms)
        SELECT $1, id, $3 FROM device
         WHERE id \(among: "$2") AND reach + 0 = 0
           AND EXISTS (SELECT 1 FROM gateway_credential WHERE platform_id = $1)
            ON CONFLICT (platform_id, device_id) DO UPDATE SET since_ms = excluded.since_ms
        """

    static let behind: SQLText = """
        SELECT gateway_feedback.id, since_ms, token /* feedback.behind */
          FROM gateway_feedback JOIN device ON device.id = device_id
         WHERE gateway_feedback.platform_id = $1 AND gateway_feedback.id > $2 AND reach = 0 AND token IS NOT NULL
         ORDER BY gateway_feedback.id
         LIMIT $3
        """

    static let delete: SQLText = """
        DELETE FROM gateway_feedback /* feedback.delete */
        \(sqlite: "WHERE id = $1 AND since_ms = $2",
            postgres: """
            USING unnest($1, $2) AS told (id, since_ms)
             WHERE gateway_feedback.id = told.id AND gateway_feedback.since_ms = told.since_ms
            """)
        """
}

extension GatewayCredential {
    fileprivate init(_ row: some SQLRow) {
        self.init(
            key: Key(row.integer(0)), platform: Key(row.integer(1)), fingerprint: row.blob(2),
            expiresAt: row.instantIfAny(3), createdAt: Instant(milliseconds: row.integer(4)))
    }
}

enum GatewayStatements {
    static let insert: SQLText = """
        INSERT INTO gateway_credential /* gateway.insert */ (platform_id, fingerprint, expires_at_ms, created_at_ms)
        VALUES ($1, $2, $3, $4)
        RETURNING id
        """

    static let byFingerprint: SQLText = """
        SELECT id, platform_id, fingerprint, expires_at_ms, created_at_ms /* gateway.by_fingerprint */
          FROM gateway_credential
         WHERE fingerprint = $1
        """

    /// Scans `gateway_credential_platform`.
    static let ofPlatform: SQLText = """
        SELECT id, platform_id, fingerprint, expires_at_ms, created_at_ms /* gateway.of_platform */
          FROM gateway_credential
         WHERE platform_id = $1
         ORDER BY id
        """

    static let count: SQLText = """
        SELECT count(*) /* gateway.count */ FROM gateway_credential WHERE platform_id = $1
        """

    static let delete: SQLText = """
        DELETE FROM gateway_credential /* gateway.delete */ WHERE id = $1 AND platform_id = $2
        """
}

/// A client certificate that senders of the binary gateway present: it chooses the platform.
package struct GatewayCredential: Sendable, Hashable {
    package let key: Key<GatewayCredential>
    package let platform: Key<Platform>
    /// SHA-256 of the certificate in DER.
    package let fingerprint: [UInt8]
    /// nil when it is not known.
    package let expiresAt: Instant?
    package let createdAt: Instant

    package static let fingerprintBytes = 32
    /// The most credentials of one platform.
    package static let countMax = 100

    /// Reads 64 hex digits, with colons between pairs or without.
    package static func fingerprint(_ text: String) throws(InvalidInput) -> [UInt8] {
        let digits = text.utf8.filter { $0 != UInt8(ascii: ":") }
        guard let bytes = [UInt8](hex: digits), bytes.count == fingerprintBytes else {
            throw InvalidInput(field: "fingerprint", "has to be the SHA-256 of a certificate: 64 hex digits")
        }
        return bytes
    }
}
