package import BelfryService
import FoundationEssentials
import KeyFiles
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

    /// The longest time to live in seconds, and that of a push without an expiry: Android's, for which PCF named a figure.
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
        let ttl = min(push.webLifetime(at: sentAt) ?? Self.lifetime, Self.lifetime)
        let (topic, urgency) = (push.webTopic, WebPushUrgency(rawValue: push.webUrgency.rawValue) ?? .normal)
        let message =
            if let ciphertext = push.content.ciphertext {
                try WebPushMessage(
                    relaying: ciphertext.sealed, ttl: ciphertext.isStored ? ttl : 0, urgency: urgency, topic: topic
                )
            } else {
                try WebPushMessage(payload: payload.bytes, ttl: ttl, urgency: urgency, topic: topic)
            }
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

extension Ciphertext {
    fileprivate var sealed: WebPushMessage.SealedBody {
        let headers = [("content-encoding", encoding), ("encryption", encryption), ("crypto-key", cryptoKey)]
        return WebPushMessage.SealedBody(
            body, headers: headers.compactMap { name, value in value.map { (name: name, value: $0) } })
    }
}

extension Push {
    /// The sender's time to live, unless the push expires before.
    func webLifetime(at now: Instant) -> Int? {
        guard let own = content.web?.ttl.map(Int.init) else { return lifetime(at: now) }
        return lifetime(at: now).map { min($0, own) } ?? own
    }

    var webUrgency: WebMessage.Urgency {
        if content.pacing.isPassive { return .low }
        if let own = content.web?.urgency { return own }
        return switch lane {
        case .urgent: .high
        case .normal: .normal
        case .bulk: .low
        }
    }

    /// If a message was sent twice and still waits, the second replaces the first.
    var webTopic: String {
        let key = content.follows?.key(on: .web) ?? content.web?.topic ?? content.shared.collapseKey
        return key?.asKey(of: 32, takingSigns: true) ?? withUnsafeBytes(of: shownID.uuid) { Base64.encode($0) }
    }
}

// The outcome of every answer of a push service. docs/Providers.md has the same table for operators.
// Source: RFC 8030, RFC 8292 §4.2; autopush, "Error Codes"; Apple, "Sending web push notifications in web apps and browsers".

extension Outcome {
    /// - Parameters:
    ///   - isApple: whether Apple answered.
    ///   - sentAt: a subscription that was renewed since is another.
    init(_ answer: WebPushAnswer, isApple: Bool, sentAt: Instant) {
        switch answer {
        case .accepted: self = .accepted
        case .rejected(let rejection):
            self.init(rejection, isApple: isApple, sentAt: sentAt)
            self = saying("\(rejection.status)\(rejection.reason.map { " \($0.text)" } ?? "")", rejection.words)
        case .dropped(let words): self = .refused(.dropped).saying("dropped", words)
        case .unusableKey: self = .refused(.badToken)
        // Browsers give such an address in place of an endpoint that is gone.
        case .unprocessed(let fault) where fault.code == .nowhere:
            self = Outcome.gone(since: sentAt).saying("not sent: \(fault)")
        case .unprocessed(let fault): self.init(unprocessed: fault)
        case .unknown: self = .unanswered
        }
    }

    /// A browser names its push service, so anyone can run one that answers arbitrarily, or subscribe with another key.
    /// So 401 and 403 concern only the one device; but Apple's reason for a bad token can only be caused by us.
    private init(_ rejection: WebPushRejection, isApple: Bool, sentAt: Instant) {
        switch (rejection.status, rejection.reason) {
        case (404, _), (410, _): self = .gone(since: sentAt)
        case (403, WebPushReason.badToken?) where isApple:
            self = .credentialsRefused("Apple refuses the VAPID token: subject, key or clock")
        case (_, WebPushReason.keyMismatch?): self = .refused(.tokenOfAnotherApplication)
        case (400, .number(113)?): self = .refused(.badCollapseID)
        case (400, .number(112)?), (400, .number(111)?): self = .refused(.badExpiration)
        case (400, .word("BadUrgency")?): self = .refused(.badPriority)
        case (401, _), (403, _): self = .refused(.forbidden)
        case (405, _): self = .refused(.methodNotAllowed)
        // Microsoft's service throttles with it.
        case (406, _): self = .throttled(retryAfter: Self.wait(rejection.retryAfter))
        default: self.init(unlisted: rejection.status, retryAfter: rejection.retryAfter)
        }
    }
}

extension WebPushReason {
    /// The reason as the service wrote it.
    fileprivate var text: String {
        switch self {
        case .word(let word): word
        case .number(let number): "errno \(number)"
        }
    }
}

/// The credentials of a web platform: the key pair that its subscriptions are bound to, and a contact for complaints.
package struct WebPushPlatformCredentials: PlatformCredentials {
    /// The private key, 32 bytes in Base64 for URLs or PEM.
    let vapidKey: String
    /// `mailto:` or `https:`.
    let subject: String?
    /// Certificates in PEM to trust instead of the system's.
    let trustRoots: String?

    package static let families = [ProviderFamily.webpush]
    package static let fields = ["vapid_key", "subject", "trust_root"]

    /// Without `vapid_key` a new pair is made.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "Web Push", known: Self.fields)
        vapidKey = try fields.textIfAny("vapid_key") ?? VAPIDKey().privateText
        subject = try fields.textIfAny("subject").map(VAPIDSubjectFault.normalized)
        trustRoots = try fields.textIfAny("trust_root")
    }

    /// Subscriptions are bound to the key: another loses them all, so it has to be given.
    package static func kept(beside entered: [String: JSONValue], of old: Self) -> [String: JSONValue] {
        var kept = old.settings(unlessIn: entered)
        if entered["vapid_key", default: .null] == .null { kept["vapid_key"] = .string(old.vapidKey) }
        return kept
    }

    package var entered: [String: JSONValue] {
        ["vapid_key": vapidKey, "subject": subject, "trust_root": trustRoots].compactMapValues {
            $0.map { .string($0) }
        }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        // What is stored goes on: Chrome and Firefox take it.
        if let fault = VAPIDSubjectFault.of(subject), fault.isCertain {
            throw InvalidInput(field: "subject", fault.reason)
        }
        _ = try identity()
        _ = try Outbound.checkedTLS(trustRoots: trustRoots)
    }

    package func published() throws -> [String: String] {
        var published = ["vapid_public_key": try identity().publicKey]
        published["subject"] = subject
        published["warning"] = VAPIDSubjectFault.of(subject).map { "subject \($0)" }
        return published
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try WebPushProvider(self, with: dependencies)
    }

    func identity() throws(InvalidInput) -> VAPID {
        let key: VAPIDKey
        do {
            key = try VAPIDKey(vapidKey)
        } catch {
            let found = vapidKey.contains("BEGIN ") ? ", but it is \(PEMFile.words(for: vapidKey))" : ""
            throw InvalidInput(field: "vapid_key", "cannot be used: \(error)\(found)")
        }
        do {
            return try VAPID(key: key, subject: subject)
        } catch {
            throw InvalidInput(field: "subject", "cannot be used: \(error)")
        }
    }
}
