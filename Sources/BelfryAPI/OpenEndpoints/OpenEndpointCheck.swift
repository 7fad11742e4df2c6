package import BelfryService
package import Hummingbird
import Synchronization

/// Finds the application that a path without credentials serves: by its key, and for callers of the allowed networks alone.
///
/// A wrong key counts as a failed login at the caller's address, and few of them are looked for in the database.
package struct OpenEndpointCheck: Sendable {
    private let store: any OpenEndpointStore & ApplicationStore
    private let requestLimiter: RequestLimiter
    /// Keys that led somewhere, by their hashes.
    private let known = Known()

    private final class Known: Sendable {
        let keys = Mutex(BoundedCache<[UInt8], Bool>(countMax: 16_384))
    }

    package init(store: any OpenEndpointStore & ApplicationStore, requestLimiter: RequestLimiter) {
        self.store = store
        self.requestLimiter = requestLimiter
    }

    /// Throws a 404 for a wrong key and for a caller who is not let in alike.
    package func endpoint(
        _ kind: OpenEndpoint.Kind, key: String, of request: Request, _ context: APIContext
    ) async throws -> (endpoint: OpenEndpoint, application: BelfryService.Application) {
        let found = try await requestLimiter.checkCredentials(
            String?.none, of: request, context, letsRightPass: true
        ) {
            let hash = SecretHash.of(key)
            let isKnown = known.keys.withLock { $0.value(for: hash) != nil }
            let endpoint =
                isKnown
                ? try await store.openEndpoint(kind, keyHash: hash)
                : try await requestLimiter.lookUp(of: request, context) {
                    try await store.openEndpoint(kind, keyHash: hash)
                }
            known.keys.withLock { if endpoint == nil { $0.remove(hash) } else { $0.set(true, for: hash) } }
            return try await self.open(endpoint, request, context)
        }
        guard let found else { throw APIError.missing("path") }
        return found
    }

    /// Whether the caller is let in, where the path names no key.
    package func admits(_ endpoint: OpenEndpoint, _ request: Request, _ context: APIContext) -> Bool {
        guard !endpoint.allowed.isEmpty else { return true }
        guard let address = requestLimiter.address(of: request, context) else { return false }
        return endpoint.allowed.contains { NetworkBlock($0)?.contains(address) ?? false }
    }

    private func open(
        _ endpoint: OpenEndpoint?, _ request: Request, _ context: APIContext
    ) async throws -> (endpoint: OpenEndpoint, application: BelfryService.Application)? {
        guard let endpoint, admits(endpoint, request, context),
            let application = try await store.application(endpoint.application)
        else { return nil }
        try requestLimiter.admit(Principal(application))
        return (endpoint, application)
    }
}
