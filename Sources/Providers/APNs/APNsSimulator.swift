package import Crypto
import FoundationEssentials
package import NIOCore
import Synchronization

/// APNs on this machine: TLS, HTTP/2, Apple's checks and answers, a script of faults and a ledger of what arrived.
///
/// ```swift
/// let simulator = try await APNsSimulator.start()
/// simulator.script.answer(ScriptedAnswer(.unregistered, timestamp: 1_700_000_000_000), for: [token])
/// // … send to https://127.0.0.1:\(simulator.port), trusting simulator.trustRootPEM …
/// #expect(simulator.ledger.totals().told == 1)
/// ```
package typealias APNsSimulator = ServiceSimulator<APNsService>

extension ServiceSimulator where S == APNsService {
    package typealias Authentication = APNsAuthentication
    package typealias SigningKey = APNsSigningKey
    package typealias IssuedKey = APNsIssuedKey
}

extension ScriptedAnswer {
    package init(_ reason: APNsReason, timestamp: Int64? = nil, sticky: Bool? = nil) {
        self.init(reason.rawValue, timestamp: timestamp, sticky: sticky)
    }
}

/// How an APNs simulator listens and which senders it accepts.
package struct APNsConfiguration: ServiceConfiguration {
    package var listening = Listening()
    package var authentication = APNsAuthentication.anyToken
    /// Bundle ids that accept pushes; nil for any.
    package var topics: Set<String>?
    /// The sandbox also answers `apns-unique-id`.
    package var isSandbox = false
    /// The value that clients of APNs report of its SETTINGS.
    package var streamsAtOnceMax: UInt32 = 1000
    /// With provider tokens APNs allows one stream until a token has been accepted.
    package var startsWithOneStream = true
    /// The lengths a device token may have, in bytes. Source: Apple, `didRegisterForRemoteNotificationsWithDeviceToken`: they are of
    /// variable length; up to 100 bytes were seen.
    package var tokenBytes: ClosedRange<Int> = 32...100
    /// The existing broadcast channels; an `APNsChannelsSimulator` with the same `ChannelRegistry` creates them.
    package var channels = ChannelRegistry()
    /// Parses the whole payload of each request as JSON, instead of checking its first byte.
    package var parsesPayloads = false

    package init() {}

    package var clientCertificates: ClientCertificates {
        switch authentication {
        case .tokens, .anyToken: .none
        case .anyCertificate: .any
        case .certificates(let trustRootPEM): .signed(byPEM: trustRootPEM)
        }
    }
}

package enum APNsAuthentication: Sendable {
    /// Provider tokens signed by one of these keys.
    case tokens([APNsSigningKey])
    /// Any well-formed provider token, without checking its signature. For benchmarks.
    case anyToken
    /// A TLS client certificate signed by this authority (PEM); nil for the simulator's own.
    case certificates(trustRootPEM: String?)
    case anyCertificate

    var isByToken: Bool {
        switch self {
        case .tokens, .anyToken: true
        case .certificates, .anyCertificate: false
        }
    }

    /// The keys to verify with; nil accepts any.
    var knownKeys: [String: APNsSigningKey]? {
        guard case .tokens(let keys) = self else { return nil }
        return Dictionary(keys.map { ($0.keyID, $0) }) { _, last in last }
    }
}

/// Apple's side of APNs: its checks, and the senders that it accepts.
///
/// Unlike the other providers it serves its connections itself: see ``APNsConnection``.
package final class APNsService: SimulatedProvider {
    package static let habits = {
        var habits = HTTPHabits(speaksHTTP2: true, speaksHTTP1: false)
        habits.goAwayData = { #"{"reason":"\#($0)"}"# }
        return habits
    }()
    package static let tokenText = Ledger.TokenText.hex

    let configuration: APNsConfiguration
    let tokens: ProviderTokenCheck
    let validation = Validation()

    package init(_ configuration: APNsConfiguration) {
        self.configuration = configuration
        self.tokens = ProviderTokenCheck(keys: configuration.authentication.knownKeys)
    }

    package func answer(for reason: String) -> ServiceAnswer? {
        APNsReason(rawValue: reason).map { ServiceAnswer($0.status, reason: reason) }
    }

    package func handler(at handler: ServiceHandler, ordinal: Int, overHTTP2: Bool) -> any ChannelHandler {
        APNsConnection(handler: handler, ordinal: ordinal, service: self)
    }

    /// The kind of a topic, as far as its suffix and the known topics tell.
    func classify(_ topic: String) -> RequestFacts.Topic {
        let suffix = TopicSuffix(of: topic)
        let bundle = String(topic.dropLast(suffix.rawValue.count))
        let isAllowed = configuration.topics.map { $0.contains(bundle) || $0.contains(topic) } ?? true
        return RequestFacts.Topic(suffix: suffix, isMDM: topic.hasPrefix("com.apple.mgmt."), isAllowed: isAllowed)
    }
}

/// The provider tokens that one connection has used. Pure: the time is a parameter.
///
/// Source: Apple, "Establishing a token-based connection to APNs": at most an hour old, refreshed no more than once
/// every 20 minutes on a connection, one team and one key to a connection.
struct ConnectionCredentials {
    static let ageMaxSeconds: Int64 = 60 * 60
    static let updateIntervalSeconds: Int64 = 20 * 60

    private var first: (teamID: String, keyID: String)?
    private var issuedAt: Int64?
    private var changedAt: Int64?

    /// The fault of a token whose signature is valid; nil when there is none.
    mutating func validate(_ token: ProviderToken, at now: Int64) -> APNsReason? {
        if let complaint = Self.complaintAboutAge(issuedAt: token.issuedAt, at: now) { return complaint }
        if let first, first.teamID != token.teamID { return .invalidProviderToken }
        if let first, first.keyID != token.keyID { return .unrelatedKeyIDInToken }
        first = first ?? (token.teamID, token.keyID)
        return complaintAboutUpdate(issuedAt: token.issuedAt, at: now)
    }

    static func complaintAboutAge(issuedAt: Int64, at now: Int64) -> APNsReason? {
        if issuedAt > now { return .invalidProviderToken }
        return now - issuedAt > ageMaxSeconds ? .expiredProviderToken : nil
    }

    private mutating func complaintAboutUpdate(issuedAt: Int64, at now: Int64) -> APNsReason? {
        defer { if self.issuedAt == nil { self.issuedAt = issuedAt } }
        guard let last = self.issuedAt, last != issuedAt else { return nil }
        if let changedAt, now - changedAt < Self.updateIntervalSeconds { return .tooManyProviderTokenUpdates }
        self.issuedAt = issuedAt
        changedAt = now
        return nil
    }
}

/// A key known to the simulator, as Apple knows the keys of its developers.
package struct APNsSigningKey: Sendable {
    package let keyID: String
    package let teamID: String
    package let publicKey: P256.Signing.PublicKey
}

/// Both halves of a signing key, for tests and demos: what Apple's developer site would issue.
package struct APNsIssuedKey: Sendable {
    package let keyID: String
    package let teamID: String
    private let privateKey: P256.Signing.PrivateKey

    /// - Parameter p8: the content of the file of an earlier start; a new key where it is none.
    package init(keyID: String = "BELFRYKEY1", teamID: String = "BELFRYTEAM", p8: String? = nil) {
        self.keyID = keyID
        self.teamID = teamID
        self.privateKey =
            p8.flatMap { try? P256.Signing.PrivateKey(pemRepresentation: $0) } ?? P256.Signing.PrivateKey()
    }

    /// The content of a `.p8` file.
    package var p8: String { privateKey.pemRepresentation }

    package var known: APNsSigningKey {
        APNsSigningKey(keyID: keyID, teamID: teamID, publicKey: privateKey.publicKey)
    }

    /// A provider token signed with this key, without the scheme `bearer`.
    ///
    /// - Parameter issuedAt: seconds since 1970.
    package func providerToken(issuedAt: Int64) throws -> String {
        let header = Base64URL.encode(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8)
        let claims = Base64URL.encode(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8)
        let signature = try privateKey.signature(for: Array("\(header).\(claims)".utf8))
        return "\(header).\(claims).\(Base64URL.encode(signature.rawRepresentation))"
    }
}

/// A provider token from `authorization`: a JWT signed with ES256.
///
/// Source: Apple, "Establishing a token-based connection to APNs".
struct ProviderToken: Equatable {
    var keyID: String
    var teamID: String
    /// Seconds since 1970.
    var issuedAt: Int64
    var signature: [UInt8]
    /// The bytes the signature covers: header and claims as sent.
    var signed: [UInt8]

    /// Reads `bearer <JWT>`; nil when the scheme is another or the JWT is not one of ES256 with `kid`, `iss` and `iat`.
    init?(jwt: String) {
        let parts = jwt.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Self.decode(Header.self, parts[0]), header.alg == "ES256",
            let claims = Self.decode(Claims.self, parts[1]),
            let signature = Base64URL.decode(parts[2]), signature.count == 64
        else { return nil }
        self.keyID = header.kid
        self.teamID = claims.iss
        self.issuedAt = claims.iat
        self.signature = signature
        self.signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return key.isValidSignature(signature, for: signed)
    }

    private static func decode<T: Decodable>(_ type: T.Type, _ part: Substring) -> T? {
        guard let bytes = Base64URL.decode(part) else { return nil }
        return try? JSONDecoder().decode(type, from: Data(bytes))
    }

    private struct Header: Decodable {
        var alg: String
        var kid: String
    }

    private struct Claims: Decodable {
        var iss: String
        var iat: Int64

        enum CodingKeys: CodingKey { case iss, iat }

        /// Apple also takes `iat` as a string: APNSwift writes it so.
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            iss = try container.decode(String.self, forKey: .iss)
            if let text = try? container.decode(String.self, forKey: .iat), let seconds = Int64(text) {
                iat = seconds
            } else {
                iat = try container.decode(Int64.self, forKey: .iat)
            }
        }
    }
}

/// Verifies provider tokens, and does the expensive part (JSON and signature) once for each distinct JWT.
final class ProviderTokenCheck: Sendable {
    /// The facts of a JWT that do not depend on time and connection: its signer and time, or nil when no known key
    /// signed it.
    typealias Finding = ProviderToken?

    private let keys: [String: APNsSigningKey]?
    private let findings = Mutex<[[UInt8]: Finding]>([:])
    /// Bounds the memory for a sender that makes a new JWT for each request.
    private static let findingsMax = 4096

    /// - Parameter keys: the known keys by key id; nil accepts any well-formed token.
    init(keys: [String: APNsSigningKey]?) {
        self.keys = keys
    }

    func finding(for jwt: UnsafeRawBufferPointer) -> Finding {
        let bytes = Array(jwt)
        if let known = findings.withLock({ $0[bytes] }) { return known }
        let finding = examine(String(decoding: bytes, as: UTF8.self))
        findings.withLock { findings in
            if findings.count >= Self.findingsMax { findings.removeAll() }
            findings.updateValue(finding, forKey: bytes)
        }
        return finding
    }

    private func examine(_ jwt: String) -> Finding {
        guard let token = ProviderToken(jwt: jwt) else { return nil }
        guard let keys else { return token }
        guard let key = keys[token.keyID], key.teamID == token.teamID, token.isSigned(by: key.publicKey) else {
            return nil
        }
        return token
    }
}
