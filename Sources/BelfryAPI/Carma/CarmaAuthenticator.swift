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
        let found = try await accounts(of: request, context)
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
    private func accounts(of request: Request, _ context: APIContext) async throws -> [CarmaAccount]? {
        if let token = request.headers.value(.carmaToken) {
            let name = try request.headers.authorization() == nil ? token : "carma"
            return try await requestLimiter.checkCredentials(name, of: request, context, letsRightPass: true) {
                try await store.carmaAccount(tokenHash: SecretHash.of(token)).map { [$0] }
            }
        }
        guard let basic = try request.headers.authorization().flatMap(BasicCredentials.parts) else {
            return try await requestLimiter.checkCredentials(String?.none, of: request, context) { nil }
        }
        let (user, password) = (
            String(decoding: basic.user, as: UTF8.self), String(decoding: basic.secret, as: UTF8.self)
        )
        let named = try await store.carmaAccounts(user: user.normalized)
        let known = named.filter { passwords.isKnown(password, $0.hashText) }
        if !known.isEmpty { return known }
        // A password that was never right is derived, which takes a while: a guesser has to wait before, not after.
        return try await requestLimiter.checkCredentials("carma", of: request, context) {
            var accounts: [CarmaAccount] = []
            for account in named where try await passwords.matches(password, account.hashText) {
                accounts.append(account)
            }
            return accounts.isEmpty ? nil : accounts
        }
    }
}

extension CarmaAccount {
    fileprivate var hashText: String { String(decoding: passwordHash, as: UTF8.self) }
}
