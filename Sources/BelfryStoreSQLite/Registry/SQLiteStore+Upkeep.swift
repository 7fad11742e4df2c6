package import BelfryCore
import GRDB

extension SQLiteStore: RegistryUpkeep {
    package func rename(_ application: Key<Application>, to name: Name) async throws {
        try await writer.write { session in
            try session.prepared(ApplicationStatements.rename).run(name.text, application)
            try session.changedApplication(application)
        }
    }

    package func replaceAPIKey(of application: Key<Application>, with hash: [UInt8]) async throws {
        try await writer.write { session in
            try session.prepared(ApplicationStatements.replaceAPIKey).run(hash, application)
            try session.changedApplication(application)
        }
    }

    package func replaceSharedSecret(of application: Key<Application>, with secret: Sealed) async throws {
        try await writer.write { session in
            try session.prepared(ApplicationStatements.replaceSharedSecret).run(secret.bytes, application)
            try session.changedApplication(application)
        }
    }

    package func rename(_ platform: Key<Platform>, to name: Name) async throws {
        try await writer.write { session in
            try session.prepared(PlatformStatements.rename).run(name.text, platform)
            guard session.db.changesCount > 0 else { throw StoreError.unknown("platform \(platform)") }
            session.rosterChanged()
        }
    }
}

extension WriteSession {
    /// To be called right after a statement that changes an application, if there is one.
    fileprivate func changedApplication(_ application: Key<Application>) throws {
        guard db.changesCount > 0 else { throw StoreError.unknown("application \(application)") }
        rosterChanged()
    }
}

extension ApplicationStatements {
    static let rename = """
        UPDATE application /* applications.rename */ SET name = ?1 WHERE id = ?2 AND is_doomed = 0
        """

    static let replaceAPIKey = """
        UPDATE application /* applications.replace_api_key */ SET api_key_hash = ?1 WHERE id = ?2 AND is_doomed = 0
        """

    static let replaceSharedSecret = """
        UPDATE application /* applications.replace_shared_secret */ SET shared_secret = ?1
         WHERE id = ?2 AND is_doomed = 0
        """
}

extension PlatformStatements {
    static let rename = """
        UPDATE platform /* platforms.rename */ SET name = ?1 WHERE id = ?2 AND is_retired = 0
        """
}
