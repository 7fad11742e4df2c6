import BelfryCore
import Crypto
import FoundationEssentials
import Hummingbird
import Metrics

/// Finds out who calls: a platform's devices by its secret, or an application's back end by its API key.
///
/// Nothing is remembered between requests, so a changed or deleted credential counts at once; the store answers from
/// memory. An unknown user costs the same work as a wrong secret, and both get the same words.
struct Authenticator: Sendable {
    private let store: any ApplicationStore
    private let challenge: String
    private let failures = Counter(metric: .authenticationFailures)

    /// Compared with when there is nobody, so that the time taken tells nothing. No secret hashes to it.
    private static let nobody = [UInt8](repeating: 0, count: SHA256.byteCount)

    /// - Parameter realm: what a person who is asked for a password gets to read.
    init(store: any ApplicationStore, realm: String) {
        self.store = store
        challenge = #"Basic realm="\#(realm)""#
    }

    func platform(of request: Request) async throws -> Platform {
        guard let credentials = credentials(of: request) else { throw refusal("platform_uuid:platform_secret") }
        let platform = try await store.platform(credentials.user)
        guard matches(credentials, platform?.secretHash), let platform else {
            throw refusal("platform_uuid:platform_secret")
        }
        return platform
    }

    func application(of request: Request) async throws -> Application {
        guard let credentials = credentials(of: request) else { throw refusal("application_uuid:api_key") }
        let application = try await store.application(credentials.user)
        guard matches(credentials, application?.apiKeyHash), let application else {
            throw refusal("application_uuid:api_key")
        }
        return application
    }

    private func credentials(of request: Request) -> BasicCredentials? {
        request.headers[.authorization].flatMap(BasicCredentials.init(header:))
    }

    private func matches(_ credentials: BasicCredentials, _ hash: [UInt8]?) -> Bool {
        SHA256.hash(data: credentials.secret).isEqual(inConstantTime: hash ?? Self.nobody)
    }

    private func refusal(_ expected: String) -> APIError {
        failures.increment()
        return APIError(
            .unauthorized, "Authentication failed: this path takes HTTP Basic with \(expected)",
            headers: [.wwwAuthenticate: challenge])
    }
}

extension SHA256.Digest {
    /// Looks at every byte whatever it finds, so that the time taken says nothing about where two differ.
    func isEqual(inConstantTime other: [UInt8]) -> Bool {
        guard other.count == Self.byteCount else { return false }
        return zip(self, other).reduce(0) { difference, pair in difference | (pair.0 ^ pair.1) } == 0
    }
}
