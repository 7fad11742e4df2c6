package import BelfryService
import GCM
import Outbound

/// Sends the pushes of one Android platform over `gcm/send`.
struct GCMProvider: PostingProvider, MessageTestedProvider {
    let inFlight: InFlightDevices
    private let client: GCMClient
    private let kind: PlatformKind
    private let options: MulticastOptions
    private let sendsReceiptID: Bool
    private let clock: any WallClock

    init(_ platform: Platform, _ credentials: GCMPlatformCredentials, with dependencies: ProviderDependencies) throws {
        options = dependencies.options.gcm
        sendsReceiptID = dependencies.options.sendsAndroidReceiptID
        kind = platform.kind
        clock = dependencies.clock
        inFlight = InFlightDevices(devicesMax: options.devicesMax, logger: dependencies.logger)
        var configuration = GCMClient.Configuration()
        if let endpoint = credentials.endpoint { configuration.url = endpoint }
        configuration.tls = try Outbound.checkedTLS(trustRoots: credentials.trustRootsPEM)
        client = GCMClient(dependencies.routes.guarded(for: .gcm), key: credentials.key, configuration: configuration)
    }

    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]? {
        let sentAt = clock.now
        let message = try GCMMessage(push, on: kind, now: sentAt, sendsReceiptID: sendsReceiptID)
        let answers = await client.send(
            message, to: recipients.map(\.token.bytes), urgent: push.lane == .urgent, within: options.deadline)
        return answers.map { Outcome($0, kind: kind, sentAt: sentAt) }
    }

    /// Uses a token that no device has, and a message that is only validated.
    func test() async -> CredentialsTest {
        guard let message = try? GCMMessage(data: ["test": "1"], isDryRun: true) else { return CredentialsTest(nil) }
        let answers = await client.send(
            message, to: [Array("belfry-credentials-test".utf8)], within: options.deadline)
        return CredentialsTest(answers.first.map { Outcome($0, kind: kind, sentAt: clock.now) })
    }
}

extension GCMMessage {
    init(_ push: Push, on kind: PlatformKind, now: Instant, sendsReceiptID: Bool) throws {
        let payload = try AndroidPayload(
            push.content, kind: kind, receiptID: sendsReceiptID ? push.receiptID : nil, sentAt: now)
        try self.init(
            data: payload.data.texts, collapseKey: payload.collapseKey,
            timeToLive: push.secondsToLive(at: now, max: Self.secondsMax), isHighPriority: payload.isHighPriority)
    }
}

// The outcome of every answer of gcm/send. docs/Providers.md has the same table for operators.
// Source: Firebase, "Firebase Cloud Messaging HTTP protocol" (legacy).

extension Outcome {
    /// - Parameters:
    ///   - kind: the type of platform that the tokens belong to.
    ///   - sentAt: when sending began; a dead token comes without a time.
    init(_ answer: GCMAnswer, kind: PlatformKind, sentAt: Instant) {
        switch answer {
        case .accepted(_, let canonical): self.init(movedTo: canonical, kind: kind)
        case .rejected(let error, let retryAfter):
            self.init(error, Self.wait(retryAfter), sentAt)
            self = saying("\(error)")
        case .refused(let status, let retryAfter, let words):
            self.init(gcmStatus: status, Self.wait(retryAfter))
            self = spoken(by: .request).saying("\(status)", words)
        case .unprocessed(let fault): self.init(unprocessed: fault, byHostOf: "GCM")
        case .unknown: self = .unanswered
        }
    }

    private init(_ error: GCMError, _ retryAfter: Duration?, _ sentAt: Instant) {
        switch error {
        case .notRegistered: self = .gone(since: sentAt)
        case .invalidRegistration: self = .refused(.badToken)
        case .missingRegistration: self = .refused(.missingToken)
        case .mismatchSenderID: self = .refused(.tokenOfAnotherApplication)
        case .messageTooBig: self = .refused(.payloadTooLarge)
        case .invalidTTL: self = .refused(.badExpiration)
        case .invalidAPNsCredential: self = .refused(.forbidden)
        case .unavailable, .internalServerError: self = .failed(retryAfter: retryAfter)
        case .deviceMessageRateExceeded, .topicsMessageRateExceeded:
            self = .throttled(retryAfter: retryAfter ?? .seconds(60))
        default: self = .refused(.other)
        }
    }

    private init(gcmStatus status: Int, _ retryAfter: Duration?) {
        switch status {
        case 401, 403, 404, 300..<400: self = .credentialsRefused("GCM answered \(status)")
        case 413: self = .refused(.payloadTooLarge)
        case 429: self = .throttled(retryAfter: retryAfter ?? .seconds(60))
        case 500...: self = .failed(retryAfter: retryAfter)
        default: self = .refused(.other)
        }
    }
}

/// The credentials of a platform for `gcm/send`: the server key, and the endpoint. Stored sealed.
package struct GCMPlatformCredentials: PlatformCredentials {
    package let key: String
    /// `https://host/path`; nil for FCM's own, which Google shut down.
    package let endpoint: String?
    /// Certificates in PEM to trust instead of the system's.
    package let trustRootsPEM: String?

    package static let families = [ProviderFamily.gcm]
    package static let fields = ["gcm_api_key", "endpoint", "trust_root"]

    package init(key: String, endpoint: String? = nil, trustRootsPEM: String? = nil) {
        self.key = key
        self.endpoint = endpoint
        self.trustRootsPEM = trustRootsPEM
    }

    /// Reads `gcm_api_key`, and `endpoint`: the whole URL of the gateway. `trust_root` (PEM) is for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "GCM", known: Self.fields)
        key = try fields.text("gcm_api_key")
        endpoint = try fields.urlIfAny("endpoint")
        trustRootsPEM = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        ["gcm_api_key": key, "endpoint": endpoint, "trust_root": trustRootsPEM]
            .compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        guard Outbound.isWord(key) else { throw InvalidInput(field: "gcm_api_key", "holds other than visible ASCII") }
        _ = try Outbound.checkedTLS(trustRoots: trustRootsPEM)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try GCMProvider(platform, self, with: dependencies)
    }
}

/// The credentials of a platform of type `android`: a service account for FCM, or the key of a gateway that speaks
/// GCM's protocol.
package enum AndroidPlatformCredentials: PlatformCredentials {
    case fcm(FCMPlatformCredentials)
    case gcm(GCMPlatformCredentials)

    package static let families = [ProviderFamily.fcm, .gcm]
    package static let fields = ["service_account", "project_id", "gcm_api_key", "endpoint", "trust_root"]

    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let isGiven = { (field: String) in entered[field].map { !$0.isNull } ?? false }
        switch (isGiven("service_account") || isGiven("project_id"), isGiven("gcm_api_key")) {
        case (true, false): self = .fcm(try FCMPlatformCredentials(entered: entered))
        case (false, true): self = .gcm(try GCMPlatformCredentials(entered: entered))
        case (false, false): throw InvalidInput(field: "service_account", "or gcm_api_key is missing")
        case (true, true): throw InvalidInput(field: "service_account", "and gcm_api_key exclude each other")
        }
    }

    /// Fields of FCM are not kept beside a key of a gateway, nor the other way round: their endpoints differ.
    package static func kept(beside entered: [String: JSONValue], of old: Self) -> [String: JSONValue] {
        switch old {
        case .fcm(let old) where entered["gcm_api_key"] == nil: FCMPlatformCredentials.kept(beside: entered, of: old)
        case .gcm(let old) where entered["service_account"] == nil && entered["project_id"] == nil:
            GCMPlatformCredentials.kept(beside: entered, of: old)
        case .fcm, .gcm: [:]
        }
    }

    package var entered: [String: JSONValue] { own.entered }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) { try own.check(mode: mode, now: now) }

    package var unguardedAddresses: [String] { own.unguardedAddresses }

    package func expiry(now: Instant) -> Instant? { own.expiry(now: now) }

    package func published() throws -> [String: String] { try own.published() }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try own.makeProvider(for: platform, with: dependencies)
    }

    private var own: any PlatformCredentials {
        switch self {
        case .fcm(let credentials): credentials
        case .gcm(let credentials): credentials
        }
    }
}
