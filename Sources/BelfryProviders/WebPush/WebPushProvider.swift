import BelfryService
import FoundationEssentials
import Outbound
import WebPush

/// Sends the pushes of one web platform, each to the push service that the browser named.
struct WebPushProvider: PostingProvider {
    static let splices = true
    let inFlight: InFlightDevices
    private let client: WebPushClient
    private let hosts: HostCheck
    private let vapid: VAPID
    private let subjectFault: VAPIDSubjectFault?
    private let clock: any WallClock
    private let options: PostingOptions

    /// The time to live in seconds. It is that of Android, for which PCF named a figure.
    private static let lifetime = 2_419_200

    init(_ credentials: WebPushPlatformCredentials, with dependencies: ProviderDependencies) throws {
        options = dependencies.options.posting
        clock = dependencies.clock
        inFlight = InFlightDevices(logger: dependencies.logger)
        vapid = try credentials.identity()
        subjectFault = .of(credentials.subject)
        var configuration = WebPushClient.Configuration()
        // When a service hangs, the first requests are waited for and the others are not begun.
        configuration.silenceLimit = min(options.deadline / 3, configuration.silenceLimit)
        configuration.tls = try Outbound.checkedTLS(trustRoots: credentials.trustRoots)
        let clock = clock
        configuration.now = { clock.now.milliseconds / 1_000 }
        hosts = HostCheck(outbound: dependencies.routes.guarded(for: .webpush), tls: configuration.tls)
        client = WebPushClient(hosts.outbound, vapid: vapid, configuration: configuration)
    }

    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]? {
        let sentAt = clock.now
        let template = try ContentTemplate(push.content)
        let payload = try WebPayload(template?.content ?? push.content, receiptID: push.receiptID)
        let message = try WebPushMessage(
            payload: payload.bytes, ttl: push.webLifetime(at: sentAt) ?? Self.lifetime, urgency: push.urgency,
            topic: push.content.web?.topic ?? push.content.shared.collapseKey(of: 32, takingSigns: true) ?? push.topic)
        let own = template.map { PayloadTemplate(payload.bytes, $0) }.flatMap { $0.isConstant ? nil : $0 }
        let fitting = RenderedRecipients(recipients, own) {
            $0.payload(for: $1, bytesMax: WebPushMessage.payloadBytesMax)
        }
        let batch = ParsedRecipients(fitting.recipients) { try WebPushSubscription(json: $0.token.bytes) }
        let answers = await client.send(
            message, to: batch.addresses, payloads: fitting.payloads.map { batch.addressed($0) },
            urgent: push.lane == .urgent, within: options.deadline)
        return fitting.outcomes(
            batch.outcomes(
                zip(batch.addresses, answers).map { Outcome($1, isApple: $0.isApple, sentAt: sentAt) }))
    }

    func service(of token: DeviceToken) -> String? { (try? WebPushSubscription(json: token.bytes))?.origin }

    /// The key was read when the provider was created. Each browser has its own push service, which `testConnection`
    /// connects to.
    func test() async -> CredentialsTest { .works }

    func testConnection(to devices: [DeviceToken]) async -> CredentialsTest? {
        let subscriptions = devices.compactMap { try? WebPushSubscription(json: $0.bytes) }
        let test = await hosts.test(
            subscriptions.map(\.origin), reached: .works,
            unasked: .unknown(
                "the VAPID key can be used, and no browser is registered yet, so there is no push service to connect to"
            ))
        guard let subjectFault else { return test }
        let words = "subject \(subjectFault); Google's FCM takes it"
        // Refused where a service is certain to refuse the subject, or where browsers of Apple are registered, which may get nothing.
        let isRefused = subjectFault.isCertain || subscriptions.contains(where: \.isApple)
        return isRefused ? .refused(words) : .unknown([words, test.detail].compactMap(\.self).joined(separator: "; "))
    }
}

extension WebPushSubscription {
    var isApple: Bool { origin.hasSuffix(".push.apple.com") }
}

extension Push {
    /// The sender's time to live, unless the push expires before.
    fileprivate func webLifetime(at now: Instant) -> Int? {
        guard let own = content.web?.ttl.map(Int.init) else { return lifetime(at: now) }
        return lifetime(at: now).map { min($0, own) } ?? own
    }

    fileprivate var urgency: WebPushUrgency {
        if let own = content.web?.urgency.flatMap({ WebPushUrgency(rawValue: $0.rawValue) }) { return own }
        return switch lane {
        case .urgent: .high
        case .normal: .normal
        case .bulk: .low
        }
    }

    /// If a message was sent twice and still waits, the second replaces the first.
    fileprivate var topic: String {
        withUnsafeBytes(of: receiptID.uuid) { Base64URL.encode($0) }
    }
}
