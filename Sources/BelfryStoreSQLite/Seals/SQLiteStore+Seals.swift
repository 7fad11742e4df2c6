package import BelfryCore
import GRDB

extension SQLiteStore: SealStore {
    package func sealedSecrets(
        _ kind: SealedSecret.Kind, after: [UInt8]?, limit: Int
    ) async throws -> [SealedSecret] {
        try await read { db in
            try db.prepared(SealStatements.behind(kind)).all(after ?? [], limit) { row in
                SealedSecret(kind: kind, name: row.blob(0), seal: Sealed(bytes: row.blob(1)))
            }
        }
    }

    package func reseal(_ secret: SealedSecret, as seal: Sealed) async throws -> Bool {
        try await writer.write { session in
            try session.prepared(SealStatements.replace(secret.kind)).run(seal.bytes, secret.name, secret.seal.bytes)
            guard session.db.changesCount > 0 else { return false }
            if secret.kind != .answer { session.rosterChanged() }
            return true
        }
    }
}

enum SealStatements {
    static func behind(_ kind: SealedSecret.Kind) -> String {
        switch kind {
        case .sharedSecret: sharedSecretsBehind
        case .credentials: credentialsBehind
        case .answer: answersBehind
        }
    }

    static func replace(_ kind: SealedSecret.Kind) -> String {
        switch kind {
        case .sharedSecret: replaceSharedSecret
        case .credentials: replaceCredentials
        case .answer: replaceAnswer
        }
    }

    private static let sharedSecretsBehind = """
        SELECT uuid, shared_secret /* seals.shared_secrets_behind */
          FROM application
         WHERE uuid > ?1 AND is_doomed = 0
         ORDER BY uuid LIMIT ?2
        """

    private static let credentialsBehind = """
        SELECT uuid, credentials /* seals.credentials_behind */
          FROM platform
         WHERE uuid > ?1 AND is_retired = 0
         ORDER BY uuid LIMIT ?2
        """

    private static let answersBehind = """
        SELECT name, content /* seals.answers_behind */
          FROM idempotency
         WHERE name > ?1 AND content IS NOT NULL
         ORDER BY name LIMIT ?2
        """

    private static let replaceSharedSecret = """
        UPDATE application /* seals.replace_shared_secret */ SET shared_secret = ?1
         WHERE uuid = ?2 AND shared_secret = ?3
        """

    private static let replaceCredentials = """
        UPDATE platform /* seals.replace_credentials */ SET credentials = ?1 WHERE uuid = ?2 AND credentials = ?3
        """

    private static let replaceAnswer = """
        UPDATE idempotency /* seals.replace_answer */ SET content = ?1 WHERE name = ?2 AND content = ?3
        """
}
