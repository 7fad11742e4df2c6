extension Store {
    /// Throws `StoreError.conflict` when the customer has an account of that user.
    package func createCarmaAccount(
        customerID: Int64, user: String, passwordHash: [UInt8], tokenHash: [UInt8]
    ) async throws -> CarmaAccount {
        try await write { session in
            let now = session.now
            let key = try session.prepared(CarmaAccountStatements.insert).number(
                customerID, user, passwordHash, tokenHash, now)
            guard let key else { throw StoreError.conflict("the customer has an account of that user") }
            return CarmaAccount(
                key: Key(key), customerID: customerID, user: user, passwordHash: passwordHash, tokenHash: tokenHash,
                createdAt: now)
        }
    }

    package func carmaAccounts() async throws -> [CarmaAccount] {
        try await read { try $0.prepared(CarmaAccountStatements.all).all(as: CarmaAccount.init) }
    }

    package func carmaAccounts(user: String) async throws -> [CarmaAccount] {
        try await read { try $0.prepared(CarmaAccountStatements.byUser).all(user, as: CarmaAccount.init) }
    }

    package func carmaAccount(tokenHash: [UInt8]) async throws -> CarmaAccount? {
        try await read { try $0.prepared(CarmaAccountStatements.byToken).first(tokenHash, as: CarmaAccount.init) }
    }

    /// nil keeps the password. Returns false when there is none.
    package func replaceSecrets(
        of account: Key<CarmaAccount>, passwordHash: [UInt8]?, tokenHash: [UInt8]
    ) async throws -> Bool {
        try await writeIfFound {
            try $0.prepared(CarmaAccountStatements.replaceSecrets).run(passwordHash, tokenHash, account) > 0
        }
    }

    package func delete(_ account: Key<CarmaAccount>) async throws -> Bool {
        try await writeIfFound { try $0.prepared(CarmaAccountStatements.delete).run(account) > 0 }
    }
}

extension CarmaAccount {
    /// From the columns of `CarmaAccountStatements.all`.
    fileprivate init(_ row: some SQLRow) {
        self.init(
            key: Key(row.integer(0)), customerID: row.integer(1), user: row.text(2), passwordHash: row.blob(3),
            tokenHash: row.blob(4), createdAt: Instant(milliseconds: row.integer(5)))
    }
}

enum CarmaAccountStatements {
    static let insert: SQLText = """
        INSERT INTO carma_account /* carma_accounts.insert */ (
            customer_id, user_name, password_hash, token_hash, created_at_ms)
        VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (user_name, customer_id) DO NOTHING
        RETURNING id
        """

    static let all = select("all", "ORDER BY id")
    static let byUser = select("by_user", "WHERE user_name = $1 ORDER BY id")
    static let byToken = select("by_token", "WHERE token_hash = $1")

    private static func select(_ name: String, _ rows: String) -> SQLText {
        """
        SELECT id, customer_id, user_name, password_hash, token_hash, created_at_ms /* carma_accounts.\(name) */
          FROM carma_account \(rows)
        """
    }

    static let replaceSecrets: SQLText = """
        UPDATE carma_account /* carma_accounts.replace_secrets */
           SET password_hash = coalesce($1, password_hash), token_hash = $2
         WHERE id = $3
        """

    static let delete: SQLText = "DELETE FROM carma_account /* carma_accounts.delete */ WHERE id = $1"
}

/// Credentials of a Carma customer, as its apps and back ends have them built in.
package struct CarmaAccount: Sendable, Hashable {
    package let key: Key<CarmaAccount>
    package let customerID: Int64
    package let user: String
    /// The form that `PasswordHashing` makes, as text.
    package let passwordHash: [UInt8]
    package let tokenHash: [UInt8]
    package let createdAt: Instant

    package static let userBytesMax = 255
    /// The usual length of a password; shorter ones are easy to guess. They are accepted all the same, since shipped
    /// apps have them built in.
    package static let passwordBytesUsual = 8

    /// The sentence for an operator who gives a short password; nil for one that is long enough.
    package static func warning(of password: String) -> String? {
        let count = password.utf8.count
        return count < passwordBytesUsual
            ? "the password has \(count) bytes; one of \(passwordBytesUsual) or more is guessed less soon" : nil
    }
}

/// An app of a Carma customer: its bundle id or package name, and its application here.
package struct CarmaApp: Sendable, Hashable {
    package let key: Key<CarmaApp>
    package let customerID: Int64
    package let appID: String
    package let applicationKey: Key<Application>

    /// The list that the app's contacts are on. Source: the guide's sample has 1000000005.
    package var listID: Int64 { 1_000_000_000 + key.rawValue }
}

/// Messages that a back end sends by naming a trigger and a contact.
package struct CarmaTrigger: Sendable, Hashable {
    package let key: Key<CarmaTrigger>
    package let app: Key<CarmaApp>
    package let template: CarmaTemplate
}
