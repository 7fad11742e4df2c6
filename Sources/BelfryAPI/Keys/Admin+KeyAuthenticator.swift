import BelfryService
import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import Metrics

extension Admin {
    /// Authenticates a request by its key, in `Authorization: Bearer bfy_…`.
    ///
    /// Keys are read with each request, so a revoked one is refused at once. All refusals have the same message.
    struct KeyAuthenticator: Sendable {
        private let store: any AdminKeyStore
        private let requestLimiter: RequestLimiter
        private let clock: any WallClock
        private let challenge: String
        private let failures = Counter(metric: .authenticationFailures)

        init(store: any AdminKeyStore, requestLimiter: RequestLimiter, clock: any WallClock, realm: String) {
            self.store = store
            self.requestLimiter = requestLimiter
            self.clock = clock
            challenge = #"Bearer realm="\#(realm)""#
        }

        func key(of request: Request, _ context: APIContext) async throws -> AdminKey {
            guard let header = try request.headers.authorization() else { throw refusal() }
            let given = Self.bearer(header).flatMap(AdminKey.Text.init)
            let found = try await requestLimiter.checkCredentials(given?.id, of: request, context) {
                if let given { try await check(given) } else { nil }
            }
            guard let key = found else { throw refusal() }
            try requestLimiter.admit(Principal(.admin, key.key.rawValue))
            await note(key, context.logger)
            return key
        }

        private func check(_ given: AdminKey.Text) async throws -> AdminKey? {
            let key = try await store.adminKey(given.id)
            let hash = SHA256.hash(data: Array(given.secret.utf8))
            let taken = key?.secretHashes(at: clock.now) ?? []
            let matches = (taken + [SecretHash.unmatchable]).map(hash.isEqual(inConstantTime:))
            return matches.contains(true) ? key : nil
        }

        /// A use that cannot be recorded does not stop the request.
        private func note(_ key: AdminKey, _ logger: Logger) async {
            guard key.isUseWorthNoting(at: clock.now) else { return }
            do {
                try await store.noteUse(of: key.key, at: clock.now)
            } catch {
                logger.debug("use of an admin key was not noted", metadata: ["key.id": "\(key.id)"])
            }
        }

        private static func bearer(_ header: String) -> String? {
            let parts = header.split(separator: " ", omittingEmptySubsequences: true)
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
            return String(parts[1])
        }

        private func refusal() -> APIError {
            failures.increment()
            return APIError(
                .unauthorized,
                "Authentication failed: the admin API takes an admin key, as 'Authorization: Bearer bfy_…'. "
                    + "`belfry admin create` on the server's machine makes one",
                headers: [.wwwAuthenticate: challenge])
        }
    }
}
