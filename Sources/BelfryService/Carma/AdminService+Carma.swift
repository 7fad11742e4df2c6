import FoundationEssentials

extension AdminService {
    /// Creates an account. Returns the token too: it is shown once.
    package func createCarmaAccount(
        customerID: Int64, user: String, password: String, by author: AuditAuthor
    ) async throws -> (account: CarmaAccount, token: String) {
        let user = user.normalized
        guard 1...CarmaAccount.userBytesMax ~= user.utf8.count, !user.utf8.contains(UInt8(ascii: ":")) else {
            throw InvalidInput(
                field: "user", "has to be 1 to \(CarmaAccount.userBytesMax) bytes, without a colon")
        }
        let passwordHash = try await hashed(password, by: author)
        let token = Self.carmaToken()
        let change = AuditedChange(
            by: author, "carma_account.create", "\(customerID)", of: .everything, ["user": user])
        let account = try await store.audited(change) {
            try await store.createCarmaAccount(
                customerID: customerID, user: user, passwordHash: passwordHash, tokenHash: SecretHash.of(token))
        }
        return (account, token)
    }

    private static func carmaToken() -> String {
        (0..<2).map { _ in UUID().lowercased.replacing("-", with: "") }.joined()
    }

    private func hashed(_ password: String, by author: AuditAuthor) async throws -> [UInt8] {
        guard !password.isEmpty else { throw InvalidInput(field: "password", "is empty") }
        guard password.utf8.count <= Password.bytesMax else {
            throw InvalidInput(field: "password", "is \(password.utf8.count) bytes, the limit is \(Password.bytesMax)")
        }
        return Array(try await passwords.hash(Password(checked: password), for: author.derivationCaller).utf8)
    }

    /// Makes a new token, and sets a new password where one is given.
    package func rotateCarmaAccount(
        _ account: CarmaAccount, password: String?, by author: AuditAuthor
    ) async throws -> String {
        let passwordHash: [UInt8]? = if let password { try await hashed(password, by: author) } else { nil }
        let token = Self.carmaToken()
        let change = AuditedChange(
            by: author, "carma_account.rotate", "\(account.customerID)", of: .everything, ["user": account.user])
        try await store.audited(change, orUnknown: "account") {
            try await store.replaceSecrets(of: account.key, passwordHash: passwordHash, tokenHash: SecretHash.of(token))
        }
        return token
    }

    package func deleteCarmaAccount(_ account: CarmaAccount, by author: AuditAuthor) async throws {
        let change = AuditedChange(
            by: author, "carma_account.delete", "\(account.customerID)", of: .everything, ["user": account.user])
        try await store.audited(change) { _ = try await store.delete(account.key) }
    }

    package func createCarmaApp(
        customerID: Int64, appID: String, for application: Application, by author: AuditAuthor
    ) async throws -> CarmaApp {
        let appID = appID.normalized
        guard 1...255 ~= appID.utf8.count else { throw InvalidInput(field: "app_id", "has to be 1 to 255 bytes") }
        let details = ["customer_id": "\(customerID)", "app_id": appID]
        let change = AuditedChange(by: author, "carma_app.create", application, details)
        return try await store.audited(change) {
            try await store.createCarmaApp(customerID: customerID, appID: appID, for: application.key)
        }
    }

    package func deleteCarmaApp(_ app: CarmaApp, by author: AuditAuthor) async throws {
        let details = ["customer_id": "\(app.customerID)", "app_id": app.appID]
        let change = AuditedChange(by: author, "carma_app.delete", "\(app.customerID)", of: .everything, details)
        try await store.audited(change) { _ = try await store.delete(app.key) }
    }

    package func createCarmaTrigger(
        _ template: CarmaTemplate, of app: CarmaApp, by author: AuditAuthor
    ) async throws -> CarmaTrigger {
        let details = ["app_id": app.appID, "name": template.name]
        let change = AuditedChange(by: author, "carma_trigger.create", "\(app.customerID)", of: .everything, details)
        return try await store.audited(change) { try await store.createCarmaTrigger(template, of: app) }
    }

    package func deleteCarmaTrigger(
        _ trigger: Key<CarmaTrigger>, of app: CarmaApp, by author: AuditAuthor
    ) async throws {
        let details = ["app_id": app.appID, "trigger": "\(trigger)"]
        let change = AuditedChange(by: author, "carma_trigger.delete", "\(app.customerID)", of: .everything, details)
        try await store.audited(change, orUnknown: "trigger") { try await store.delete(trigger) }
    }
}
