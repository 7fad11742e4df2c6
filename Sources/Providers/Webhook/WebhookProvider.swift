package import BelfryService
import FoundationEssentials
import Outbound
import Webhook

/// Posts the pushes of one webhook platform, batch by batch, to the operator's own service.
struct WebhookProvider: PostingProvider, MessageTestedProvider {
    let inFlight: InFlightDevices
    private let client: WebhookClient
    private let clock: any WallClock
    private let options: PostingOptions

    init(_ credentials: WebhookPlatformCredentials, with dependencies: ProviderDependencies) throws {
        options = dependencies.options.posting
        clock = dependencies.clock
        inFlight = InFlightDevices(logger: dependencies.logger)
        var configuration = WebhookClient.Configuration()
        configuration.tls = try Outbound.checkedTLS(trustRoots: credentials.trustRoots)
        let clock = clock
        configuration.now = { clock.now.milliseconds / 1_000 }
        client = WebhookClient(
            dependencies.routes.guarded(for: .webhook), url: credentials.url, signature: try credentials.signature(),
            configuration: configuration)
    }

    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]? {
        let sentAt = clock.now
        let ids = MessageID(push: push.receiptID)
        let devices = recipients.map { recipient in
            WebhookBatch.Device(messageID: ids.uuid(for: recipient.device).lowercased, token: recipient.text)
        }
        let batch = WebhookBatch(push: push.json.encoded, devices: devices)
        let answer = await client.send(batch, urgent: push.lane == .urgent, within: options.deadline)
        return Outcome.table(answer, devices: devices.count, sentAt: sentAt)
    }

    /// Sends a batch without devices.
    func test() async -> CredentialsTest {
        let answer = await client.send(
            WebhookBatch(push: Array(#"{"test":true}"#.utf8), devices: []), within: options.deadline)
        return CredentialsTest(Outcome.table(answer, devices: 1, sentAt: clock.now).first)
    }
}

extension Push {
    /// The description of a push for a webhook.
    fileprivate var json: JSONValue {
        var members: JSONObject = [
            "receiptId": .string(receiptID.lowercased), "urgency": .string("\(lane)"),
            "custom": .object(content.custom),
        ]
        if let body = content.body { members["body"] = .string(body) }
        members = members.merging(content.shared.json) { own, _ in own }
        members["badge"] = content.badge?.json
        if let expiresAt { members["expiresAt"] = .integer(expiresAt.milliseconds) }
        return .object(members)
    }
}

// The outcome of every answer of a webhook. docs/Providers.md has the same table for operators.

extension Outcome {
    /// One outcome for each device of the batch.
    ///
    /// - Parameter sentAt: a device that registered since is active.
    static func table(_ answer: WebhookAnswer, devices: Int, sentAt: Instant) -> [Outcome] {
        if case .verdicts(let verdicts) = answer, verdicts.count == devices {
            return verdicts.map { Outcome($0, sentAt: sentAt) }
        }
        return Array(repeating: Outcome(ofBatch: answer), count: devices)
    }

    private init(_ verdict: WebhookVerdict, sentAt: Instant) {
        switch verdict {
        case .accepted: self = .accepted
        case .refused: self = .refused(.other)
        case .gone: self = .gone(since: sentAt)
        case .retry(let wait): self = .failed(retryAfter: Self.wait(wait))
        }
    }

    private init(ofBatch answer: WebhookAnswer) {
        switch answer {
        case .verdicts: self = .accepted
        case .unreadable, .unknown: self = .unanswered
        case .rejected(let status, let retryAfter, let words):
            switch status {
            case 300..<400, 401, 403, 404, 410:
                self = .credentialsRefused("the webhook answered \(status)", by: .request)
            default: self.init(unlisted: status, retryAfter: retryAfter)
            }
            self = saying("\(status)", words)
        case .unprocessed(let fault): self.init(unprocessed: fault, byHostOf: "the webhook")
        }
    }
}

/// The credentials of a webhook platform: its URL, and the secret that signs requests.
package struct WebhookPlatformCredentials: PlatformCredentials {
    let url: String
    let secret: String
    /// Certificates in PEM to trust instead of the system's.
    let trustRoots: String?

    package static let families = [ProviderFamily.webhook]
    package static let fields = ["url", "secret", "trust_root"]

    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "webhook", known: Self.fields)
        guard let url = try fields.urlIfAny("url") else { throw InvalidInput(field: "url", "is missing") }
        self.url = url
        secret = try fields.text("secret")
        trustRoots = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        ["url": url, "secret": secret, "trust_root": trustRoots].compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try signature()
        _ = try Outbound.checkedTLS(trustRoots: trustRoots)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try WebhookProvider(self, with: dependencies)
    }

    func signature() throws(InvalidInput) -> WebhookSignature {
        guard let signature = WebhookSignature(secret: secret) else {
            throw InvalidInput(
                field: "secret",
                "has to be \(WebhookSignature.secretBytesMin) bytes or more, as text or as whsec_ with Base64 behind it"
            )
        }
        return signature
    }
}
