import Crypto
package import FoundationEssentials
import Hummingbird
import KeyFiles
import Metrics
import SwiftASN1
import X509

/// Authenticates callers: a platform's devices by its secret, or an application's back end by its API key.
///
/// Nothing is cached between requests, so a changed or deleted credential counts at once; the store answers most from
/// memory. An unknown user costs the same work as a wrong secret, and both get the same message.
struct Authenticator: Sendable {
    private let store: any Store
    private let requestLimiter: RequestLimiter
    private let clock: any WallClock
    private let challenge: String
    /// The turns of UUIDs that memory does not have, of which strangers may send any number: one of an address is looked up at a time.
    private let lookUps = FairQueue(FairTurns<NetworkAddress>(places: 2, waitingMax: .max))
    private let failures = Counter(metric: .authenticationFailures)

    /// - Parameter realm: shown to a person who is asked for a password.
    init(store: any Store, requestLimiter: RequestLimiter, clock: any WallClock, realm: String) {
        self.store = store
        self.clock = clock
        self.requestLimiter = requestLimiter
        challenge = #"Basic realm="\#(realm)""#
    }

    /// A right platform secret is always let in: many phones share an address, and the Android SDK forgets its
    /// registration when it gets a 429. A secret of 122 random bits is not guessed.
    func platform(of request: Request, _ context: APIContext) async throws -> Platform {
        let found = try await check(request, context, letsRightPass: true) { credentials in
            let platform = try await known(.platformUUID(credentials.user), request, context) {
                try await store.platform(credentials.user)
            }
            return matches(credentials, platform?.secretHash) ? platform : nil
        }
        guard let platform = found else { throw refusal("platform_uuid:platform_secret", request) }
        try requestLimiter.admit(Principal(platform))
        return platform
    }

    func application(of request: Request, _ context: APIContext) async throws -> Application {
        let found = try await check(request, context) { credentials in
            let application = try await known(.uuid(credentials.user), request, context) {
                try await store.application(credentials.user)
            }
            // The keys of bindings count as the application's own, and one that was replaced does until its grace ends.
            let own = [application?.apiKeyHash, application?.previousAPIKey?.valid(at: clock.now)]
            let hashes = own + (application?.bindingKeyHashes ?? []).map(Optional.some)
            return hashes.contains { matches(credentials, $0) } ? application : nil
        }
        guard let application = found else { throw refusal("application_uuid:api_key", request) }
        try requestLimiter.admit(Principal(application))
        return application
    }

    private func known<Thing>(
        _ name: ApplicationCache.Name, _ request: Request, _ context: APIContext, _ find: () async throws -> Thing?
    ) async throws -> Thing? {
        guard !store.registryCache.has(name) else { return try await find() }
        return try await lookUps.run(for: requestLimiter.site(of: request, context)) { try await find() }
    }

    /// A request without credentials is not a guess.
    private func check<Known>(
        _ request: Request, _ context: APIContext, letsRightPass: Bool = false,
        _ look: (BasicCredentials) async throws -> Known?
    ) async throws -> Known? {
        guard let header = try request.headers.authorization() else { return nil }
        let credentials = BasicCredentials(header: header)
        return try await requestLimiter.checkCredentials(
            credentials?.user, of: request, context, letsRightPass: letsRightPass
        ) {
            if let credentials { try await look(credentials) } else { nil }
        }
    }

    private func matches(_ credentials: BasicCredentials, _ hash: [UInt8]?) -> Bool {
        SHA256.hash(data: credentials.secret).isEqual(inConstantTime: hash ?? SecretHash.unmatchable)
    }

    private func refusal(_ expected: String, _ request: Request) -> APIError {
        failures.increment()
        let hint = WrongPath.hintForOtherCredentials(at: request.uri.path).map { ". \($0)" } ?? ""
        return APIError(
            .unauthorized, "Authentication failed: this path takes HTTP Basic with \(expected)\(hint)",
            headers: [.wwwAuthenticate: challenge])
    }
}

extension SHA256.Digest {
    /// Compares every byte, so that the time taken does not reveal where two differ.
    func isEqual(inConstantTime other: [UInt8]) -> Bool {
        guard other.count == Self.byteCount else { return false }
        return zip(self, other).reduce(0) { difference, pair in difference | (pair.0 ^ pair.1) } == 0
    }
}

/// The user and password of HTTP Basic authentication, where the user is a UUID.
///
/// Lenient, since the client SDKs write two spaces after `Basic`. Source: docs/compatibility/pcf.md.
struct BasicCredentials: Sendable, Hashable {
    let user: UUID
    let secret: [UInt8]

    /// nil when the header is not Basic authentication, or its user is not a UUID.
    init?(header: String) {
        guard let (name, secret) = Self.parts(of: header), let user = UUID(text: name) else { return nil }
        self.user = user
        self.secret = secret
    }

    /// The user and the password as they were sent; nil when the header is no Basic authentication.
    static func parts(of header: String) -> (user: ArraySlice<UInt8>, secret: [UInt8])? {
        let utf8 = header.utf8
        guard let end = utf8.firstIndex(of: 0x20), utf8[..<end].elementsEqual("basic".utf8, by: { $0 | 0x20 == $1 })
        else { return nil }
        let encoded = utf8[end...].drop { $0 == 0x20 }
        guard let decoded = Base64.decode(encoded, of: .standard), let colon = decoded.firstIndex(of: UInt8(ascii: ":"))
        else {
            return nil
        }
        return (decoded[..<colon], Array(decoded[(colon + 1)...]))
    }
}

/// An authenticated caller, as limits and idempotency identify it.
package struct Principal: Sendable, Hashable {
    package enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        /// The devices of a platform, which share its secret.
        case devices = 1
        /// The back end of an application, or what is instead of it.
        case sender = 2
        /// The holder of a key of the admin API.
        case admin = 3
        /// The browsers at one network address, of one web platform.
        case browsers = 4
    }

    package let kind: Kind
    /// The key of the platform, the application or the admin key; for browsers a hash.
    package let id: Int64

    package init(_ kind: Kind, _ id: Int64) {
        self.kind = kind
        self.id = id
    }

    package init(_ platform: Platform) { self.init(.devices, platform.key.rawValue) }

    package init(_ application: Application) { self.init(.sender, application.key.rawValue) }

    /// The callers of an application's open endpoints. Their keys may be in every copy of an app, so they take nothing of the back end's rate.
    package static func endpoints(of application: Key<Application>) -> Principal {
        Principal(.sender, .min + application.rawValue)
    }
}

/// Proves that the person who enters a certificate has its key. All who see the certificate know its fingerprint, and the fingerprint leads
/// a sender's pushes to one platform: so without the key an operator has to enter it.
package enum CertificateProof {
    /// The text that the certificate's key signs, with SHA-256.
    package static func text(for platform: UUID) -> String { "belfry gateway \(platform.lowercased)" }

    /// - Parameter certificate: in DER.
    static func isValid(
        _ signature: [UInt8], by certificate: [UInt8], with fingerprint: [UInt8], for platform: UUID
    ) -> Bool {
        guard SHA256.hash(data: certificate).elementsEqual(fingerprint),
            let key = try? Certificate(derEncoded: certificate).publicKey
        else { return false }
        let text = Array(Self.text(for: platform).utf8)
        return [.sha256WithRSAEncryption, .ecdsaWithSHA256].contains { algorithm in
            key.isValidSignature(signature, for: text, signatureAlgorithm: algorithm)
        }
    }
}
