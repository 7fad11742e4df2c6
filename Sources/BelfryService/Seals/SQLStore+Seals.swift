import FoundationEssentials

extension SQLStore {
    package func sealedSecrets(
        _ kind: SealedSecret.Kind, after: [UInt8]?, limit: Int
    ) async throws -> [SealedSecret] {
        try await readCommitted { try $0.sealedSecrets(kind, after: after, limit: limit) }
    }

    package func reseal(_ secret: SealedSecret, as seal: Sealed) async throws -> Bool {
        try await write { session in
            let statement = try session.prepared(SealStatements.replace(secret.kind))
            switch secret.kind {
            case .answer: return try statement.run(seal.bytes, secret.name, secret.seal.bytes) > 0
            case .twoFactor:
                guard let person = secret.person else { return false }
                return try statement.run(seal.bytes, person, secret.seal.bytes) > 0
            case .sharedSecret, .previousSharedSecret, .credentials:
                guard let uuid = UUID(bytes: secret.name),
                    try statement.run(seal.bytes, uuid, secret.seal.bytes) > 0
                else { return false }
                session.registryChanged()
                return true
            }
        }
    }
}

extension SQLConnection {
    /// Secrets in the order of their names.
    func sealedSecrets(_ kind: SealedSecret.Kind, after: [UInt8]?, limit: Int) throws -> [SealedSecret] {
        let statement = try prepared(SealStatements.behind(kind))
        switch kind {
        case .answer:
            return try statement.all(after ?? [], limit) { row in
                SealedSecret(kind: kind, name: row.blob(0), seal: Sealed(bytes: row.blob(1)))
            }
        case .twoFactor:
            let last = after.flatMap { SealedSecret(kind: kind, name: $0, seal: Sealed(bytes: [])).person }
            return try statement.all(last ?? Key(0), limit) { row in
                SealedSecret(kind: kind, name: Key<Person>(row.integer(0)).bytes, seal: Sealed(bytes: row.blob(1)))
            }
        case .sharedSecret, .previousSharedSecret, .credentials:
            return try statement.all(after.flatMap { UUID(bytes: $0) } ?? UUID(words: 0, 0), limit) { row in
                SealedSecret(kind: kind, name: row.uuid(0)?.bytes ?? [], seal: Sealed(bytes: row.blob(1)))
            }
        }
    }
}

extension UUID {
    /// nil unless there are 16.
    fileprivate init?(bytes: [UInt8]) {
        guard let uuid = bytes.withUnsafeBytes({ UUID(bytes: $0) }) else { return nil }
        self = uuid
    }
}

enum SealStatements {
    static func behind(_ kind: SealedSecret.Kind) -> SQLText {
        switch kind {
        case .sharedSecret: sharedSecretsBehind
        case .previousSharedSecret: previousSharedSecretsBehind
        case .credentials: credentialsBehind
        case .twoFactor: twoFactorsBehind
        case .answer: answersBehind
        }
    }

    static func replace(_ kind: SealedSecret.Kind) -> SQLText {
        switch kind {
        case .sharedSecret: replaceSharedSecret
        case .previousSharedSecret: replacePreviousSharedSecret
        case .credentials: replaceCredentials
        case .twoFactor: replaceTwoFactor
        case .answer: replaceAnswer
        }
    }

    private static let sharedSecretsBehind: SQLText = """
        SELECT uuid, shared_secret /* seals.shared_secrets_behind */
          FROM application
         WHERE uuid > $1 AND NOT is_being_deleted
         ORDER BY uuid LIMIT $2
        """

    private static let previousSharedSecretsBehind: SQLText = """
        SELECT uuid, previous_shared_secret /* seals.previous_shared_secrets_behind */
          FROM application
         WHERE uuid > $1 AND NOT is_being_deleted AND previous_shared_secret IS NOT NULL
         ORDER BY uuid LIMIT $2
        """

    private static let credentialsBehind: SQLText = """
        SELECT uuid, credentials /* seals.credentials_behind */
          FROM platform
         WHERE uuid > $1 AND NOT is_deleted
         ORDER BY uuid LIMIT $2
        """

    private static let twoFactorsBehind: SQLText = """
        SELECT id, two_factor_secret /* seals.two_factors_behind */
          FROM person
         WHERE id > $1 AND two_factor_secret IS NOT NULL
         ORDER BY id LIMIT $2
        """

    private static let answersBehind: SQLText = """
        SELECT name, content /* seals.answers_behind */
          FROM idempotency
         WHERE name > $1 AND content IS NOT NULL
         ORDER BY name LIMIT $2
        """

    private static let replaceSharedSecret: SQLText = """
        UPDATE application /* seals.replace_shared_secret */ SET shared_secret = $1
         WHERE uuid = $2 AND shared_secret = $3
        """

    private static let replacePreviousSharedSecret: SQLText = """
        UPDATE application /* seals.replace_previous_shared_secret */ SET previous_shared_secret = $1
         WHERE uuid = $2 AND previous_shared_secret = $3
        """

    private static let replaceCredentials: SQLText = """
        UPDATE platform /* seals.replace_credentials */ SET credentials = $1 WHERE uuid = $2 AND credentials = $3
        """

    private static let replaceTwoFactor: SQLText = """
        UPDATE person /* seals.replace_two_factor */ SET two_factor_secret = $1
         WHERE id = $2 AND two_factor_secret = $3
        """

    private static let replaceAnswer: SQLText = """
        UPDATE idempotency /* seals.replace_answer */ SET content = $1 WHERE name = $2 AND content = $3
        """
}
