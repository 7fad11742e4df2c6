package import BelfryService
import Outbound
import WNS

/// Sends the pushes of one Windows platform through WNS.
struct WNSProvider: PostingProvider {
    let inFlight: InFlightDevices
    private let client: WNSClient
    private let hosts: HostCheck
    private let domain: String
    private let clock: any WallClock
    private let options: PostingOptions
    private let backOff = SenderBackOff()

    init(_ credentials: WNSPlatformCredentials, with dependencies: ProviderDependencies) throws {
        options = dependencies.options.posting
        clock = dependencies.clock
        inFlight = InFlightDevices(logger: dependencies.logger)
        domain = credentials.domain ?? WNSChannel.domain
        var configuration = WNSClient.Configuration()
        configuration.tls = try Outbound.checkedTLS(trustRoots: credentials.trustRoots)
        hosts = HostCheck(outbound: dependencies.routes.guarded(for: .wns), tls: configuration.tls)
        client = WNSClient(hosts.outbound, credentials: credentials.credentials, configuration: configuration)
    }

    /// WNS throttles a sender as a whole.
    var room: Int { backOff.isTried(at: clock.now) ? 0 : inFlight.room }

    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]? {
        guard let payload = try Windows8Payload(push.content) else { return nil }
        let sentAt = clock.now
        let message = try WNSMessage(
            payload,
            tag: (push.content.follows?.key(on: .windows8) ?? push.content.shared.collapseKey)?
                .asKey(of: WNSMessage.tagBytesMax, takingSigns: false),
            lifetime: push.secondsToLive(at: sentAt, max: 2_592_000).map { Int($0) }, isUrgent: push.lane == .urgent)
        let batch = ParsedRecipients(recipients) { try WNSChannel($0.text, domain: domain) }
        let answers = await client.send(
            message, to: batch.addresses, urgent: push.lane == .urgent, within: options.deadline)
        backOff.heed(answers.compactMap(\.senderWait), of: answers.count, at: clock.now)
        return batch.outcomes(answers.map { Outcome($0, sentAt: sentAt) })
    }

    func test() async -> CredentialsTest {
        await CredentialsTest { () async throws(AccessTokenError) in try await client.authorize() }
    }

    /// Tokens come from another host than the one that messages are sent to. Without a device only the token can be
    /// requested.
    func testConnection(to devices: [DeviceToken]) async -> CredentialsTest? {
        let channels = devices.compactMap { try? WNSChannel(String(decoding: $0.bytes, as: UTF8.self), domain: domain) }
        guard !channels.isEmpty, case .works = await test() else { return nil }
        return await hosts.test(channels.compactMap { HostCheck.origin(of: $0.uri) }, reached: .works, unasked: .works)
    }
}

extension WNSMessage {
    /// A toast is never stored for an offline device, a tile and a badge always are, as PCF did. A raw notification is
    /// stored when the push has an expiry. WNS keeps nothing for 0 s.
    ///
    /// - Parameter tag: a toast, or a tile, with the same is replaced.
    fileprivate init(
        _ payload: Windows8Payload, tag: String?, lifetime: Int?, isUrgent: Bool
    ) throws(WNSError) {
        let kept = lifetime.map { max($0, 1) }
        switch payload.kind {
        case .toast:
            try self.init(.toast, body: payload.bytes, isCached: false, tag: tag, priority: isUrgent ? .high : nil)
        case .tile: try self.init(.tile, body: payload.bytes, ttl: kept, isCached: true, tag: tag)
        case .badge: try self.init(.badge, body: payload.bytes, ttl: kept, isCached: true)
        case .raw: try self.init(.raw, body: payload.bytes, ttl: lifetime, isCached: (lifetime ?? 0) > 0)
        }
    }
}

// The outcome of every answer of WNS. docs/Providers.md has the same table for operators.
// Source: Microsoft, "Push notification service request and response headers", "Response codes".

extension Outcome {
    /// - Parameter sentAt: a channel that was renewed since is another.
    init(_ answer: WNSAnswer, sentAt: Instant) {
        switch answer {
        case .received: self = .accepted
        case .dropped(let words): self = .refused(.dropped).saying("200 dropped", words)
        case .channelThrottled(let retryAfter):
            self = .throttled(retryAfter: Self.wait(retryAfter) ?? .seconds(600)).saying("200 channelthrottled")
        case .rejected(let rejection):
            self.init(rejection, sentAt: sentAt)
            self = saying("\(rejection.status)", rejection.description)
        case .unauthorized(let fault): self.init(fault)
        case .unprocessed(let fault): self.init(unprocessed: fault)
        case .unknown: self = .unanswered
        }
    }

    private init(_ rejection: WNSRejection, sentAt: Instant) {
        let retryAfter = Self.wait(rejection.retryAfter)
        switch rejection.status {
        // The client has already tried a new token.
        case 401: self = .credentialsRefused("WNS refuses the access token: \(rejection.description ?? "401")")
        // The channel of another app: devices name their channels, so it says nothing about our credentials.
        case 403: self = .refused(.tokenOfAnotherApplication)
        case 410 where rejection.description?.lowercased().contains("domain blocked") == true:
            self = .credentialsRefused("WNS blocks this app: \(rejection.description ?? "410")")
        case 404, 410: self = .gone(since: sentAt)
        case 405: self = .refused(.methodNotAllowed)
        case 406, 429: self = .throttled(retryAfter: retryAfter ?? Self.standardWait)
        // The device cannot be reached at present.
        case 412: self = .throttled(retryAfter: retryAfter ?? Self.standardWait)
        default: self.init(unlisted: rejection.status, retryAfter: retryAfter)
        }
    }

    fileprivate static let standardWait = Duration.seconds(3_600)
}

extension WNSAnswer {
    /// How long the sender as a whole must wait, whatever the channel.
    var senderWait: Duration? {
        guard case .rejected(let rejection) = self, [406, 429].contains(rejection.status) else { return nil }
        return rejection.retryAfter ?? Outcome.standardWait
    }
}

/// The credentials of a Windows platform: an app of the Store, or one of Entra ID.
package struct WNSPlatformCredentials: PlatformCredentials {
    let identity: Identity
    /// The token service; nil for Microsoft's.
    let tokenURL: String?
    /// The suffix of channel hosts; nil for Microsoft's.
    let domain: String?
    /// Certificates in PEM to trust instead of the system's.
    let trustRoots: String?

    enum Identity: Sendable, Hashable, Codable {
        case store(packageSID: String, secret: String)
        case entra(tenant: String, clientID: String, secret: String)
    }

    package static let families = [ProviderFamily.wns]
    package static let fields = [
        "package_sid", "tenant_id", "client_id", "client_secret", "token_url", "domain", "trust_root",
    ]

    /// Reads `client_secret` with `package_sid`, or with `tenant_id` and `client_id`. `token_url`, `domain` and
    /// `trust_root` are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "WNS", known: Self.fields)
        let secret = try fields.text("client_secret")
        if fields["package_sid"] != nil {
            guard fields["tenant_id"] == nil, fields["client_id"] == nil else {
                throw InvalidInput(field: "package_sid", "and tenant_id with client_id exclude each other")
            }
            identity = .store(packageSID: try fields.text("package_sid"), secret: secret)
        } else {
            identity = .entra(
                tenant: try fields.text("tenant_id"), clientID: try fields.text("client_id"), secret: secret)
        }
        tokenURL = try fields.urlIfAny("token_url")
        domain = try fields.textIfAny("domain")
        trustRoots = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        var values = ["token_url": tokenURL, "domain": domain, "trust_root": trustRoots]
        switch identity {
        case .store(let packageSID, let secret):
            values["package_sid"] = packageSID
            values["client_secret"] = secret
        case .entra(let tenant, let clientID, let secret):
            values["tenant_id"] = tenant
            values["client_id"] = clientID
            values["client_secret"] = secret
        }
        return values.compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        switch identity {
        case .store(let packageSID, _):
            guard packageSID.hasPrefix("ms-app://") else {
                throw InvalidInput(field: "package_sid", "has to begin with ms-app://")
            }
        case .entra(let tenant, _, _):
            guard tenant.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "/") }) else {
                throw InvalidInput(field: "tenant_id", "has to be the id of a directory")
            }
        }
        if domain == "" { throw InvalidInput(field: "domain", "is empty") }
        _ = try Outbound.checkedTLS(trustRoots: trustRoots)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try WNSProvider(self, with: dependencies)
    }

    var credentials: WNSCredentials {
        switch identity {
        case .store(let packageSID, let secret):
            .store(packageSID: packageSID, secret: secret, url: tokenURL)
        case .entra(let tenant, let clientID, let secret):
            .entra(tenant: tenant, clientID: clientID, secret: secret, url: tokenURL)
        }
    }
}
