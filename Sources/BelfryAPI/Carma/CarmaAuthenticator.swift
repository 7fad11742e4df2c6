import BelfryCore
import HTTPTypes
import Hummingbird

/// Authenticates Carma's apps and back ends: by HTTP Basic with a user and password, or by a token in a header of its own.
struct CarmaAuthenticator: Sendable {
    let store: any CarmaStore
    let requestLimiter: RequestLimiter
    let passwords: KnownPasswords

    /// Throws a 401 for unknown credentials, and a 403 for those of another customer.
    func account(_ customerID: Int64, of request: Request, _ context: APIContext) async throws -> CarmaAccount {
        let name = request.headers.value(.authorization) == nil ? request.headers.value(.carmaToken) : "carma"
        let found = try await requestLimiter.checkCredentials(name, of: request, context, letsRightPass: true) {
            try await accounts(of: request)
        }
        guard let found else {
            throw APIError(
                .unauthorized, "Unknown user, password or token", headers: [.wwwAuthenticate: #"Basic realm="Carma""#])
        }
        guard let account = found.first(where: { $0.customerID == customerID }) else {
            throw APIError(.forbidden, "These credentials are not those of customer \(customerID)")
        }
        return account
    }

    /// nil when none of these credentials exists.
    private func accounts(of request: Request) async throws -> [CarmaAccount]? {
        if let token = request.headers.value(.carmaToken) {
            return try await store.carmaAccount(tokenHash: SecretHash.of(token)).map { [$0] }
        }
        guard let header = request.headers.value(.authorization),
            let (name, secret) = BasicCredentials.parts(of: header)
        else { return nil }
        let (user, password) = (String(decoding: name, as: UTF8.self), String(decoding: secret, as: UTF8.self))
        var accounts: [CarmaAccount] = []
        for account in try await store.carmaAccounts(user: user) {
            let hash = String(decoding: account.passwordHash, as: UTF8.self)
            if try await passwords.matches(password, hash) { accounts.append(account) }
        }
        return accounts.isEmpty ? nil : accounts
    }
}
