extension Store {
    package func edit(_ application: Key<Application>, _ edit: ApplicationEdit) async throws {
        try await change(application) { session in
            if edit.changesRules { try session.change(edit, of: application) }
            return try session.prepared(ApplicationStatements.edit).run(
                edit.name?.text, edit.description?.text, edit.ignoresUnknownFields, application)
        }
    }

    /// Throws `StoreError.conflict` where `application` does not have the present key: a key that was given out meanwhile would be
    /// worth nothing.
    ///
    /// - Parameter graceEnd: the end of the time in which the old key is accepted too; nil refuses it at once.
    package func replaceAPIKey(of application: Application, with hash: [UInt8], graceEnd: Instant?) async throws {
        try await change(application.key, orThrow: Self.replacedMeanwhile) { session in
            try session.prepared(ApplicationStatements.replaceAPIKey).run(
                hash, graceEnd, application.key, application.apiKeyHash)
        }
    }

    /// Throws as `replaceAPIKey` does.
    ///
    /// - Parameter graceEnd: the end of the time in which the old secret is accepted too; nil refuses it at once.
    package func replaceSharedSecret(
        of application: Application, with secret: Sealed, graceEnd: Instant?
    ) async throws {
        try await change(application.key, orThrow: Self.replacedMeanwhile) { session in
            try session.prepared(ApplicationStatements.replaceSharedSecret).run(
                secret.bytes, graceEnd, application.key, application.sharedSecret.bytes)
        }
    }

    private static var replacedMeanwhile: StoreError {
        .conflict("the secret was replaced or the application deleted meanwhile: look again")
    }

    /// - Parameter body: returns how many rows it changed.
    private func change(
        _ application: Key<Application>, orThrow fault: StoreError? = nil,
        by body: @escaping @Sendable (Session) throws -> Int
    ) async throws {
        try await write { session in
            guard try body(session) > 0 else { throw fault ?? .unknown("application \(application)") }
            session.registryChanged()
        }
    }

    /// Changes a platform. A changed mode makes the provider's client anew, and resumes a platform that was parked for its credentials.
    package func edit(_ platform: Key<Platform>, _ edit: PlatformEdit) async throws {
        try await write { session in
            let before = try session.prepared(PlatformStatements.byKey).first(platform, as: Platform.init)
            let edited = try session.prepared(PlatformStatements.edit).run(
                edit.name?.text, edit.description?.text, edit.mode?.rawValue, platform)
            guard let before, edited > 0 else { throw StoreError.unknown("platform \(platform)") }
            session.registryChanged()
            let isOtherWorld = edit.mode.map { $0 != before.mode } ?? false
            if isOtherWorld, before.parked?.cause == .credentials { try session.resume(platform) }
        }
    }
}

extension Store {
    /// Lets web pages register browsers on the platform from now on; nil ends that. Registered browsers stay.
    package func setWebAccess(of platform: Key<Platform>, to access: WebAccess?) async throws {
        try await write { try $0.setWebAccess(of: platform, to: access) }
    }

    /// Merges a change into the stored access, which no other change passes meanwhile.
    ///
    /// - Parameter key: see `WebAccessEdit.changed`.
    package func setWebAccess(
        of platform: Key<Platform>, _ edit: WebAccessEdit, new key: RegistrationKey
    ) async throws -> WebAccess {
        try await write { session in
            let stored = try session.prepared(PlatformStatements.heldWebAccess).first(platform) { $0.textIfAny(0) }
            let access = try edit.changed(try (stored ?? nil).map { try WebAccess(stored: $0) }, new: key)
            try session.setWebAccess(of: platform, to: access)
            return access
        }
    }
}

extension WriteSession {
    fileprivate func setWebAccess(of platform: Key<Platform>, to access: WebAccess?) throws {
        try change(PlatformStatements.setWebAccess, access?.storedText, platform, of: "platform \(platform)")
        registryChanged()
    }

    fileprivate func change(_ edit: ApplicationEdit, of application: Key<Application>) throws {
        let stored = try prepared(ApplicationStatements.deliveryRules).first(application) { $0.textIfAny(0) } ?? nil
        let old = try stored.map { try DeliveryRules(JSONValue(json: $0.utf8)) } ?? DeliveryRules()
        let rules = edit.changed(old)
        try prepared(ApplicationStatements.setDeliveryRules).send(
            rules.isEmpty ? nil : JSONValue.object(rules.json).storedText, application)
    }
}

extension ApplicationStatements {
    static let deliveryRules: SQLText = """
        SELECT delivery_rules /* applications.delivery_rules */ FROM application WHERE id = $1 \(SQLText.forNoKeyUpdate)
        """

    static let setDeliveryRules: SQLText = """
        UPDATE application /* applications.set_delivery_rules */ SET delivery_rules = $1 WHERE id = $2
        """

    static let edit: SQLText = """
        UPDATE application /* applications.edit */
           SET name = coalesce($1, name), description = coalesce($2, description),
               ignores_unknown_fields = coalesce($3, ignores_unknown_fields)
         WHERE id = $4 AND NOT is_being_deleted
        """

    static let replaceAPIKey: SQLText = """
        UPDATE application /* applications.replace_api_key */
           SET previous_api_key_hash = CASE WHEN $2 IS NOT NULL THEN api_key_hash END, previous_api_key_until_ms = $2,
               api_key_hash = $1
         WHERE id = $3 AND api_key_hash = $4 AND NOT is_being_deleted
        """

    static let replaceSharedSecret: SQLText = """
        UPDATE application /* applications.replace_shared_secret */
           SET previous_shared_secret = CASE WHEN $2 IS NOT NULL THEN shared_secret END,
               previous_shared_secret_until_ms = $2, shared_secret = $1
         WHERE id = $3 AND shared_secret = $4 AND NOT is_being_deleted
        """
}

extension PlatformStatements {
    static let heldWebAccess: SQLText = """
        SELECT web_access /* platforms.held_web_access */ FROM platform WHERE id = $1 \(SQLText.forNoKeyUpdate)
        """

    static let setWebAccess: SQLText = """
        UPDATE platform /* platforms.set_web_access */ SET web_access = $1 WHERE id = $2 AND NOT is_deleted
        """

    /// Credentials are another client's where the mode is another.
    static let edit: SQLText = """
        UPDATE platform /* platforms.edit */
           SET name = coalesce($1, name), description = coalesce($2, description), mode = coalesce($3, mode),
               credentials_version = credentials_version + CASE WHEN coalesce($3, mode) = mode THEN 0 ELSE 1 END
         WHERE id = $4 AND NOT is_deleted
        """
}
