import ADM
package import BelfryService
import Outbound

/// Sends the pushes of one Amazon platform through ADM.
struct ADMProvider: PostingProvider {
    let inFlight: InFlightDevices
    private let client: ADMClient
    private let clock: any WallClock
    private let options: PostingOptions

    init(_ credentials: ADMPlatformCredentials, with dependencies: ProviderDependencies) throws {
        options = dependencies.options.posting
        clock = dependencies.clock
        inFlight = InFlightDevices(logger: dependencies.logger)
        var configuration = ADMClient.Configuration()
        if let endpoint = credentials.endpoint { configuration.endpoint = endpoint }
        configuration.tls = try Outbound.checkedTLS(trustRoots: credentials.trustRoots)
        client = ADMClient(
            dependencies.routes.guarded(for: .adm),
            credentials: ADMCredentials(clientID: credentials.clientID, clientSecret: credentials.clientSecret),
            configuration: configuration)
    }

    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]? {
        let sentAt = clock.now
        let payload = try AndroidPayload(push.content, kind: .amazon, receiptID: push.receiptID, sentAt: sentAt)
        let message = try ADMMessage(
            data: payload.data.texts, consolidationKey: payload.collapseKey ?? push.receiptID.lowercased,
            lifetime: push.lifetime(at: sentAt))
        let batch = ParsedRecipients(recipients) { $0.text }
        let answers = await client.send(
            message, to: batch.addresses, urgent: push.lane == .urgent, within: options.deadline)
        return batch.outcomes(answers.map { Outcome($0, sentAt: sentAt) })
    }

    func test() async -> CredentialsTest {
        await CredentialsTest { () async throws(AccessTokenError) in try await client.authorize() }
    }
}

// The outcome of every answer of ADM. docs/Providers.md has the same table for operators.
// Source: Amazon, "Sending a message via Amazon Device Messaging", response codes.

extension Outcome {
    /// - Parameter sentAt: a device that registered since is active.
    init(_ answer: ADMAnswer, sentAt: Instant) {
        switch answer {
        case .accepted(let replacement): self.init(movedTo: replacement, kind: .amazon)
        case .rejected(let rejection):
            self.init(rejection, sentAt: sentAt)
            self = saying("\(rejection.status)", rejection.words)
        case .unauthorized(let fault): self.init(fault)
        case .unprocessed(let fault): self.init(unprocessed: fault, byHostOf: "ADM")
        case .unknown: self = .unanswered
        }
    }

    private init(_ rejection: ADMRejection, sentAt: Instant) {
        switch rejection.reason {
        case .unregistered?: self = .gone(since: sentAt)
        case .invalidRegistrationID?: self = .refused(.badToken)
        case .invalidConsolidationKey?: self = .refused(.badCollapseID)
        case .invalidExpiration?: self = .refused(.badExpiration)
        case .messageTooLarge?: self = .refused(.payloadTooLarge)
        case .invalidData?, .invalidChecksum?, .invalidType?: self = .refused(.other)
        case .maxRateExceeded?: self = .throttled(retryAfter: Self.wait(rejection.retryAfter))
        case .accessTokenExpired?: self = .credentialsRefused("ADM refuses the access token")
        case nil where rejection.status == 401: self = .credentialsRefused("ADM refuses the access token")
        case nil where rejection.status == 403: self = .refused(.forbidden)
        case nil: self.init(unlisted: rejection.status, retryAfter: rejection.retryAfter)
        }
    }
}

/// The credentials of an Amazon platform: the app's security profile.
package struct ADMPlatformCredentials: PlatformCredentials {
    let clientID: String
    let clientSecret: String
    /// `https://host` in place of Amazon's.
    let endpoint: String?
    /// Certificates in PEM to trust instead of the system's.
    let trustRoots: String?

    package static let families = [ProviderFamily.adm]
    package static let fields = ["client_id", "client_secret", "endpoint", "trust_root"]

    /// `endpoint` and `trust_root` are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "ADM", known: Self.fields)
        clientID = try fields.text("client_id")
        clientSecret = try fields.text("client_secret")
        endpoint = try fields.urlIfAny("endpoint")
        trustRoots = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        ["client_id": clientID, "client_secret": clientSecret, "endpoint": endpoint, "trust_root": trustRoots]
            .compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try Outbound.checkedTLS(trustRoots: trustRoots)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try ADMProvider(self, with: dependencies)
    }
}
