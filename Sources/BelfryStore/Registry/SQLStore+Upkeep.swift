import BelfryCore

extension SQLStore {
    package func rename(_ application: Key<Application>, to name: Name) async throws {
        try await change(application, by: ApplicationStatements.rename, to: name.text)
    }

    package func replaceAPIKey(of application: Key<Application>, with hash: [UInt8]) async throws {
        try await change(application, by: ApplicationStatements.replaceAPIKey, to: hash)
    }

    package func replaceSharedSecret(of application: Key<Application>, with secret: Sealed) async throws {
        try await change(application, by: ApplicationStatements.replaceSharedSecret, to: secret.bytes)
    }

    package func rename(_ platform: Key<Platform>, to name: Name) async throws {
        try await write { session in
            try session.change(PlatformStatements.rename, name.text, platform, of: "platform \(platform)")
            session.registryChanged()
        }
    }

    private func change(
        _ application: Key<Application>, by sql: SQLText, to value: some SQLValue & Sendable
    ) async throws {
        try await write { session in
            try session.change(sql, value, application, of: "application \(application)")
            session.registryChanged()
        }
    }
}

extension ApplicationStatements {
    static let rename: SQLText = """
        UPDATE application /* applications.rename */ SET name = $1 WHERE id = $2 AND NOT is_being_deleted
        """

    static let replaceAPIKey: SQLText = """
        UPDATE application /* applications.replace_api_key */ SET api_key_hash = $1 WHERE id = $2 AND NOT is_being_deleted
        """

    static let replaceSharedSecret: SQLText = """
        UPDATE application /* applications.replace_shared_secret */ SET shared_secret = $1
         WHERE id = $2 AND NOT is_being_deleted
        """
}

extension PlatformStatements {
    static let rename: SQLText = "UPDATE platform /* platforms.rename */ SET name = $1 WHERE id = $2 AND NOT is_deleted"
}
