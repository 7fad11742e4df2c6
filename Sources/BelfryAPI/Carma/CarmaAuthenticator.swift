import BelfryService
import HTTPTypes
import Hummingbird

/// Authenticates Carma's apps and back ends: by HTTP Basic with a user and password, or by a token in a header of its own.
struct CarmaAuthenticator: Sendable {
    let store: any CarmaStore
    let requestLimiter: RequestLimiter
    let passwords: KnownPasswords

    /// Throws a 401 for unknown credentials, and a 403 for those of another customer.
    func account(_ customerID: Int64, of request: Request, _ context: APIContext) async throws -> CarmaAccount {
        let found = try await accounts(customerID, of: request, context)
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
    private func accounts(
        _ customerID: Int64, of request: Request, _ context: APIContext
    ) async throws -> [CarmaAccount]? {
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
        // One derivation, whatever the user has: of the account of the customer in the path, or of one of another customer, or of none.
        let account = named.first { $0.customerID == customerID } ?? named.first
        return try await passwords.once(password, account?.hashText ?? user) {
            // No limit over all addresses: strangers who know the name, which shipped apps show, would keep the back end out.
            try await requestLimiter.checkGuess(at: "carma \(user)", nil, of: request, context) { caller in
                guard try await passwords.matches(password, account?.hashText, for: caller) else { return nil }
                return account.map { [$0] }
            }
        }
    }
}

extension CarmaAccount {
    fileprivate var hashText: String { String(decoding: passwordHash, as: UTF8.self) }
}
