import CryptoExtras
import FoundationEssentials
public import HTTP2Client
import KeyFiles
public import Logging
public import NIOCore
import NIOSSL
public import Outbound

/// Sends messages to FCM, HTTP v1, with one service account.
///
/// The unit is the batch: one message to many devices costs one hop to an event loop. Answers are values, one for each
/// device in order; `send` never throws and always returns by its deadline.
public final class FCMClient: Sendable {
    public struct Configuration: Sendable {
        /// How connections are opened, watched and replaced. What FCM's habits ask for is set by the client.
        public var pool = HTTP2PoolConfiguration()
        /// Unix seconds, for the time of issue of assertions and dates in answers.
        public var now: @Sendable () -> Int64 = { Outbound.now() }
        /// For credentials without a key.
        public var tokenSources = FCMTokenSources()

        public init() {}
    }

    private let pool: HTTP2Pool
    private let token: AccessToken
    private let quota: FCMQuota
    private let project: String
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - quota: one for each project, shared by its clients.
    ///   - outbound: asks for tokens.
    /// - Throws: when the trust roots cannot be used by TLS.
    public init(
        _ outbound: Outbound, credentials: FCMCredentials, endpoint: FCMEndpoint = .production,
        quota: FCMQuota = FCMQuota(), configuration: Configuration = Configuration(),
        eventLoopGroup: any EventLoopGroup, logger: Logger
    ) throws(FCMCredentialsError) {
        self.quota = quota
        project = credentials.projectID
        now = configuration.now
        do {
            let tls = try Outbound.tls(trustRoots: endpoint.trustRoots)
            let now = now
            let sources = configuration.tokenSources
            token = AccessToken { await credentials.grant(by: outbound, sources, tls: tls, now: now()) }
            pool = try HTTP2Pool(
                endpoint: endpoint.http2(), configuration: configuration.prescribed, eventLoopGroup: eventLoopGroup,
                logger: logger)
        } catch {
            throw error as? FCMCredentialsError ?? FCMCredentialsError(.tls, "\(error)")
        }
    }

    /// How many more messages the client can usefully take now.
    public var room: Int { min(pool.room, quota.room) }

    /// Connections and requests at this moment.
    public var snapshot: HTTP2PoolSnapshot { pool.snapshot }

    /// Sends a message to all devices of a batch and returns their answers in order.
    ///
    /// - Parameters:
    ///   - urgent: goes before all batches that wait and are not.
    ///   - deadline: for everything: the token, the quota, connecting, sending, the answers. Cancelling the task ends it
    ///     at once.
    public func send(_ batch: FCMBatch, urgent: Bool = false, deadline: Duration = .seconds(30)) async -> [FCMAnswer] {
        await send([batch], urgent: urgent, deadline: deadline)[0]
    }

    /// Sends batches of different messages together, as one burst of frames. Returns the answers of each batch in order.
    ///
    /// - Parameters: as those of ``send(_:urgent:deadline:)``.
    public func send(
        _ batches: [FCMBatch], urgent: Bool = false, deadline: Duration = .seconds(30)
    ) async -> [[FCMAnswer]] {
        var rest = await deliver(FCMBurst(batches), urgent, deadline)[...]
        return batches.map { batch in
            defer { rest = rest.dropFirst(batch.tokens.count) }
            return Array(rest.prefix(batch.tokens.count))
        }
    }

    private func deliver(_ burst: FCMBurst, _ urgent: Bool, _ deadline: Duration) async -> [FCMAnswer] {
        guard burst.count > 0 else { return [] }
        let lapsesAt = ContinuousClock.now + deadline
        let (taken, wait) = await quota.take(burst.count, within: deadline * 0.5)
        let held = Array(repeating: FCMAnswer.held(retryAfter: wait), count: burst.count - taken)
        guard taken > 0 else { return held }
        let part = held.isEmpty ? burst : burst.picking(Array(0..<taken))
        var answers = await attempt(part, urgent, until: lapsesAt)
        // A token may end, or be revoked, before its time. The failed attempt ensures that the next gets another.
        let refused = answers.indices.filter { answers[$0].isUnauthenticated }
        if !refused.isEmpty {
            let again = await attempt(part.picking(refused), urgent, until: lapsesAt)
            for (index, answer) in zip(refused, again) { answers[index] = answer }
        }
        if let wait = FCMBackOff.pause(after: answers) { quota.pause(for: wait) }
        return answers + held
    }

    /// Takes no more work, waits for the answers that are due, and closes all connections within `deadline`.
    public func shutdown(within deadline: Duration) async {
        await pool.shutdown(within: deadline)
    }

    private func attempt(
        _ burst: FCMBurst, _ urgent: Bool, until lapsesAt: ContinuousClock.Instant
    ) async -> [FCMAnswer] {
        do throws(AccessTokenError) {
            let (token, generation) = try await token.current()
            var requests = burst.requests(project: project)
            requests.headers.append(HTTP2Header("authorization", "Bearer \(token)"))
            let now = now()
            let answers = await pool.send(requests, urgent: urgent, deadline: lapsesAt - .now)
                .map { FCMAnswer($0, now: now) }
            if answers.contains(where: \.isUnauthenticated) { self.token.reject(generation) }
            return answers
        } catch {
            return Array(repeating: .unauthorized(error), count: burst.count)
        }
    }
}

extension FCMClient.Configuration {
    /// The configuration with what FCM requires: it ends connections that were idle for four minutes, and those that
    /// are pinged while idle. Source: bloomberg/pushiko, docs/comparisons.md.
    fileprivate var prescribed: HTTP2PoolConfiguration {
        var pool = pool
        pool.connection.keptHeaders = FCMAnswer.keptHeaders
        pool.connection.idlePingAfter = .seconds(86_400)
        pool.idleMax = min(pool.idleMax, .seconds(220))
        pool.lastIdleMax = min(pool.lastIdleMax, .seconds(220))
        return pool
    }
}

public struct FCMEndpoint: Sendable, Hashable {
    public var host: String
    public var port: Int
    /// Certificates in PEM to trust instead of the system's, for simulators; the token server's too.
    public var trustRoots: String?

    /// Source: Firebase, REST reference of the FCM HTTP v1 API.
    public static let production = FCMEndpoint(host: "fcm.googleapis.com")

    public init(host: String, port: Int = 443, trustRoots: String? = nil) {
        self.host = host
        self.port = port
        self.trustRoots = trustRoots
    }

    func http2() throws(FCMCredentialsError) -> HTTP2Endpoint {
        do {
            return HTTP2Endpoint(
                host: host, port: port, tls: try Outbound.tls(trustRoots: trustRoots) ?? Outbound.standardTLS)
        } catch {
            throw FCMCredentialsError(.trustRoots, "the trust roots are not PEM certificates")
        }
    }
}

/// How a client authenticates to Google: with the key of a service account, by the token of another identity provider, or as the machine
/// that it runs on.
public struct FCMCredentials: Sendable {
    enum Identity: Sendable {
        case key(ServiceAccountKey)
        case external(ExternalAccount)
        case machine
    }

    public let projectID: String
    let identity: Identity

    /// Reads a JSON file: a service account of the Firebase console, or an `external_account` of Workload Identity Federation.
    ///
    /// - Parameters:
    ///   - serviceAccount: the bytes of the file.
    ///   - project: instead of the file's. A file of type `external_account` has none, but for that of its service account.
    public init(serviceAccount: [UInt8], project: String? = nil) throws(FCMCredentialsError) {
        guard let file = try? JSONDecoder().decode(File.self, from: Data(serviceAccount)) else {
            throw FCMCredentialsError(.file, "the service account is not the JSON that the Firebase console hands out")
        }
        guard file.project_info == nil else {
            throw FCMCredentialsError(
                .file,
                "this is google-services.json, which is for the app and holds no private key. A service account is needed: Firebase "
                    + "console, project settings, \"Service accounts\", \"Generate new private key\"")
        }
        if file.type == "external_account" {
            let account = try ExternalAccount(serviceAccount)
            guard let project = project ?? account.projectID else {
                throw FCMCredentialsError(
                    .file, "it names no project: enter project_id, the id of the Firebase project, too")
            }
            projectID = try Self.plain(project, "project_id")
            identity = .external(account)
            return
        }
        if let type = file.type, type != "service_account" {
            throw FCMCredentialsError(
                .file,
                "the JSON is of type \(Outbound.plain(type.utf8)), it has to be of type service_account or external_account"
            )
        }
        projectID = try Self.plain(project ?? file.project_id, "project_id")
        let clientEmail = try Self.plain(file.client_email, "client_email")
        let tokenURI = try Self.secureURL(file.token_uri ?? "https://oauth2.googleapis.com/token", "token_uri")
        guard let pem = file.private_key else {
            throw FCMCredentialsError(.file, "private_key is missing in the service account")
        }
        identity = .key(
            try ServiceAccountKey(
                pem: pem, keyID: file.private_key_id, clientEmail: clientEmail, audience: tokenURI))
    }

    /// The service account of the machine that the client runs on, which Google's metadata server knows.
    public init(machineFor project: String) throws(FCMCredentialsError) {
        projectID = try Self.plain(project, "project_id")
        identity = .machine
    }

    /// The member that makes use of this machine: the file of a token; nil where none does. The machine's own account has none.
    public var machineMember: String? {
        if case .external(let account) = identity, case .file = account.source { TokenFile.field } else { nil }
    }

    /// The addresses that tokens are sent to, each with the member of the file that names it.
    public var tokenURLs: KeyValuePairs<String, String> {
        switch identity {
        case .key(let key): ["token_uri": key.audience]
        case .external(let account):
            if let url = account.impersonationURL {
                ["token_url": account.tokenURL, "service_account_impersonation_url": url]
            } else {
                ["token_url": account.tokenURL]
            }
        case .machine: [:]
        }
    }

    /// Source: Google, "Using OAuth 2.0 for Server to Server Applications".
    private struct File: Decodable {
        let type: String?
        let project_id: String?
        let client_email: String?
        let private_key_id: String?
        let private_key: String?
        let token_uri: String?
        /// Only in `google-services.json`, the configuration of Android apps.
        let project_info: ProjectInfo?

        struct ProjectInfo: Decodable {}
    }

    /// They are put into a path and into JSON unescaped.
    static func plain(_ text: String?, _ field: String) throws(FCMCredentialsError) -> String {
        guard let text, !text.isEmpty else { throw FCMCredentialsError(.file, "\(field) is missing in the file") }
        let isPlain = text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        guard isPlain else { throw FCMCredentialsError(.file, "\(field) contains invalid characters") }
        return text
    }

    static func secureURL(_ text: String, _ field: String) throws(FCMCredentialsError) -> String {
        let url = try plain(text, field)
        guard url.hasPrefix("https://") else {
            throw FCMCredentialsError(.file, "\(field) is \(Outbound.plain(url.utf8)), it has to be https")
        }
        return url
    }
}

/// Why credentials cannot be used.
public struct FCMCredentialsError: Error, Sendable, Hashable, CustomStringConvertible {
    public struct Code: Sendable, Hashable {
        private let number: UInt8

        /// The JSON is not a service account, or a field is missing.
        public static let file = Code(number: 1)
        /// The private key is not an RSA key of 2,048 bits or more in PEM.
        public static let key = Code(number: 2)
        public static let trustRoots = Code(number: 3)
        /// TLS did not accept the configuration.
        public static let tls = Code(number: 4)
        public static let signing = Code(number: 5)
    }

    public let code: Code
    /// A human-readable reason; contains no secret.
    public let reason: String

    public var description: String { reason }

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

extension FCMCredentials {
    /// Asks for a token that FCM accepts.
    ///
    /// - Parameter now: Unix seconds.
    func grant(
        by outbound: Outbound, _ sources: FCMTokenSources, tls: TLSConfiguration?, now: Int64
    ) async -> Result<AccessGrant, AccessTokenError> {
        switch identity {
        case .key(let key): return await key.grant(by: outbound, tls: tls, now: now)
        case .external(let account): return await account.grant(by: outbound, sources, tls: tls)
        case .machine:
            guard let server = sources.metadataServer else {
                return .failure(
                    AccessTokenError(
                        isRefusal: true,
                        "the identity of this machine is not used: fcm.metadata.server names no metadata server"))
            }
            return await (sources.machine ?? outbound).machineGrant(from: server, tls: tls)
        }
    }
}

/// Signs the assertions with which a service account requests a token: JWTs with RS256.
///
/// Source: RFC 7523 §2.1; Google, "Using OAuth 2.0 for Server to Server Applications"; RFC 7518 §3.3 for RS256.
struct ServiceAccountKey: Sendable {
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// The longest lifetime that Google accepts.
    static let lifetime: Int64 = 3_600

    /// A signature takes eight times as long with a key of twice the length.
    static let bitsMax = 8_192

    private let key: _RSA.Signing.PrivateKey
    private let keyID: String?
    private let clientEmail: String
    /// The address where an assertion is exchanged.
    let audience: String

    init(pem: String, keyID: String?, clientEmail: String, audience: String) throws(FCMCredentialsError) {
        do {
            key = try _RSA.Signing.PrivateKey(derRepresentation: PEMFile(pem).privateKey())
            guard key.keySizeInBits <= Self.bitsMax else { throw FCMCredentialsError(.key, "") }
        } catch {
            throw FCMCredentialsError(
                .key, "private_key is not an RSA private key of 2,048 to \(Self.bitsMax) bits in PEM")
        }
        self.keyID = keyID
        self.clientEmail = clientEmail
        self.audience = audience
    }

    /// Exchanges an assertion for a token. Source: RFC 7523 §2.1.
    ///
    /// - Parameter now: Unix seconds.
    func grant(
        by outbound: Outbound, tls: TLSConfiguration?, now: Int64
    ) async -> Result<AccessGrant, AccessTokenError> {
        do throws(FCMCredentialsError) {
            let assertion = try assertion(at: now)
            return await outbound.grant(
                from: audience,
                form: ["grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion], tls: tls)
        } catch {
            return .failure(AccessTokenError(isRefusal: true, error.reason))
        }
    }

    /// - Parameter now: Unix seconds.
    func assertion(at now: Int64) throws(FCMCredentialsError) -> String {
        let head = Head(kid: keyID)
        let claims = Claims(
            aud: audience, exp: now + Self.lifetime, iat: now, iss: clientEmail, scope: Self.scope)
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let signed = "\(Base64.encode(try encoder.encode(head))).\(Base64.encode(try encoder.encode(claims)))"
            return "\(signed).\(try signature(of: signed))"
        } catch {
            throw FCMCredentialsError(.signing, "the assertion could not be signed: \(error)")
        }
    }

    /// RS256, in Base64 for URLs.
    func signature(of text: String) throws -> String {
        Base64.encode(try key.signature(for: Data(text.utf8), padding: .insecurePKCS1v1_5).rawRepresentation)
    }

    private struct Head: Encodable {
        let alg = "RS256"
        let kid: String?
        let typ = "JWT"
    }

    private struct Claims: Encodable {
        let aud: String
        let exp: Int64
        let iat: Int64
        let iss: String
        let scope: String
    }
}
