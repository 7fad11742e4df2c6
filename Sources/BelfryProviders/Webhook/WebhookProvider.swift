import BelfryService
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
        if !content.shared.isEmpty {
            members = members.merging(content.shared.json) { own, _ in own }
            members["badge"] = content.badge?.json
        }
        if let expiresAt { members["expiresAt"] = .integer(expiresAt.milliseconds) }
        return .object(members)
    }
}
