import FoundationEssentials

extension Store {
    /// The next secrets of a kind by their names, ascending, after `after`.
    package func sealedSecrets(
        _ kind: SealedSecret.Kind, after: [UInt8]?, limit: Int
    ) async throws -> [SealedSecret] {
        try await readCommitted { try $0.sealedSecrets(kind, after: after, limit: limit) }
    }

    /// Replaces the seal. Returns false, and changes nothing, if the secret has another seal by now.
    package func reseal(_ secret: SealedSecret, as seal: Sealed) async throws -> Bool {
        try await write { session in
            let statement = try session.prepared(SealStatements.replace(secret.kind))
            switch secret.kind {
            case .answer: return try statement.run(seal.bytes, secret.name, secret.seal.bytes) > 0
            case .twoFactor:
                guard let person = secret.person else { return false }
                return try statement.run(seal.bytes, person, secret.seal.bytes) > 0
            case .sharedSecret, .previousSharedSecret, .credentials, .webhook:
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
        case .sharedSecret, .previousSharedSecret, .credentials, .webhook:
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
        let place = kind.place
        return """
            SELECT \(place.name), \(place.secret) /* seals.\(kind.rawValue)_behind */ FROM \(place.table)
             WHERE \(place.name) > $1 AND \(place.secret) IS NOT NULL \(place.condition)
             ORDER BY \(place.name) LIMIT $2
            """
    }

    static func replace(_ kind: SealedSecret.Kind) -> SQLText {
        let place = kind.place
        return """
            UPDATE \(place.table) /* seals.replace_\(kind.rawValue) */ SET \(place.secret) = $1
             WHERE \(place.name) = $2 AND \(place.secret) = $3
            """
    }
}

extension SealedSecret.Kind {
    /// The table, its columns with the names and the secrets, and a condition for rows whose secrets are still used.
    fileprivate var place: (table: String, name: String, secret: String, condition: String) {
        switch self {
        case .sharedSecret: ("application", "uuid", "shared_secret", "AND NOT is_being_deleted")
        case .previousSharedSecret: ("application", "uuid", "previous_shared_secret", "AND NOT is_being_deleted")
        case .credentials: ("platform", "uuid", "credentials", "AND NOT is_deleted")
        case .twoFactor: ("person", "id", "two_factor_secret", "")
        case .answer: ("idempotency", "name", "content", "")
        case .webhook: ("webhook", "uuid", "secrets", "")
        }
    }
}

/// One secret where it is stored.
package struct SealedSecret: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        /// The secret of an application.
        case sharedSecret = "shared_secret"
        /// The previous secret of an application, while it is accepted beside its replacement.
        case previousSharedSecret = "previous_shared_secret"
        /// The credentials of a platform.
        case credentials
        /// The secret that a person of the dashboard shares with their authenticator app.
        case twoFactor = "two_factor"
        /// The answer that a repeated request gets.
        case answer
        /// The secrets that sign what is posted to a webhook.
        case webhook
    }

    package let kind: Kind
    /// The bytes of the UUID of the application, platform or webhook, those of the person's key, or the name of the reservation.
    package let name: [UInt8]
    package let seal: Sealed

    /// The purpose that the secret was sealed for; nil when its name is damaged.
    package var purpose: String? {
        switch kind {
        case .sharedSecret, .previousSharedSecret:
            name.withUnsafeBytes { UUID(bytes: $0) }.map(VaultPurpose.sharedSecret)
        case .credentials: name.withUnsafeBytes { UUID(bytes: $0) }.map(VaultPurpose.credentials)
        case .twoFactor: person.map(VaultPurpose.twoFactor)
        case .answer: VaultPurpose.answer(to: name)
        case .webhook: name.withUnsafeBytes { UUID(bytes: $0) }.map(VaultPurpose.webhook)
        }
    }

    /// The person's key, whose bytes are the name.
    package var person: Key<Person>? { name.count == 8 ? Key(name.reduce(0) { $0 << 8 | Int64($1) }) : nil }
}

extension Key<Person> {
    /// As the name of a sealed secret: eight bytes, which ascend with the key.
    package var bytes: [UInt8] { (0..<8).reversed().map { UInt8(truncatingIfNeeded: rawValue >> (8 * Int64($0))) } }
}
