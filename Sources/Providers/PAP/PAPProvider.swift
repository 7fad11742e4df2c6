package import BelfryService
import FoundationEssentials
import Outbound
import PAP

/// Sends the pushes of one BlackBerry platform through its gateway.
struct PAPProvider: PostingProvider {
    let inFlight: InFlightDevices
    private let client: PAPClient
    private let hosts: HostCheck
    private let gateway: String
    private let clock: any WallClock
    private let options: PostingOptions

    init(_ credentials: PAPPlatformCredentials, mode: Platform.Mode, with dependencies: ProviderDependencies) throws {
        options = dependencies.options.posting
        clock = dependencies.clock
        inFlight = InFlightDevices(logger: dependencies.logger)
        var configuration = PAPClient.Configuration()
        configuration.tls = try Outbound.checkedTLS(trustRoots: credentials.trustRoots)
        gateway = try credentials.gateway(mode)
        hosts = HostCheck(outbound: dependencies.routes.guarded(for: .pap), tls: configuration.tls)
        client = PAPClient(
            hosts.outbound,
            credentials: PAPCredentials(
                applicationID: credentials.applicationID, password: credentials.password, url: gateway),
            configuration: configuration)
    }

    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]? {
        guard let payload = try BB10Payload(push.content) else { return nil }
        let sentAt = clock.now
        let message = try PAPMessage(
            content: payload.bytes, deliverBefore: push.expiresAt.map { $0.milliseconds / 1_000 })
        let ids = MessageID(push: push.receiptID)
        let batch = ParsedRecipients(recipients) { recipient in
            try PAPDevice(address: recipient.text, pushID: ids.uuid(for: recipient.device).lowercased)
        }
        let answers = await client.send(
            message, to: batch.addresses, urgent: push.lane == .urgent, within: options.deadline)
        return batch.outcomes(answers.map { Outcome($0, sentAt: sentAt) })
    }

    func test() async -> CredentialsTest {
        let reached = CredentialsTest.unknown(
            "the gateway was reached; whether it takes the password it says to a push alone")
        guard let origin = HostCheck.origin(of: gateway) else { return reached }
        return await hosts.test([origin], reached: reached, unasked: reached)
    }
}

extension MessageID {
    func uuid(for device: Key<Device>) -> UUID {
        let (high, low) = words(for: device)
        return UUID(
            uuid: withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { $0.loadUnaligned(as: uuid_t.self) })
    }
}

// The outcome of every answer of a push gateway. docs/Providers.md has the same table for operators.
// Source: WAP-247 PAP §9.13; BlackBerry, "Push Service SDK", response codes.

extension Outcome {
    /// - Parameter sentAt: a device that registered since is active.
    init(_ answer: PAPAnswer, sentAt: Instant) {
        switch answer {
        case .result(let code, let words):
            self.init(papCode: code, sentAt: sentAt)
            self = saying("code \(code)", words)
        // Not an answer of the protocol; the message may have been accepted.
        case .rejected(200..<300, _, _): self = .unanswered
        case .rejected(401, _, let words), .rejected(403, _, let words):
            self = .credentialsRefused("the push gateway refuses the application's password").saying("", words)
        case .rejected(let status, let retryAfter, let words):
            self.init(unlisted: status, retryAfter: retryAfter)
            self = saying("\(status)", words)
        case .unprocessed(let fault): self.init(unprocessed: fault, byHostOf: "the push gateway")
        case .unknown: self = .unanswered
        }
    }

    private init(papCode: Int, sentAt: Instant) {
        switch papCode {
        // 1500: accepted, and the daily quota is now used up.
        case 1_000, 1_001, 1_500: self = .accepted
        // The push id is known: an earlier attempt arrived after all.
        case 2_007: self = .accepted
        case 2_001: self = .refused(.badToken)
        case 2_002, 4_502, 22_002: self = .gone(since: sentAt)
        case 2_500, 22_005: self = .throttled(retryAfter: Self.untilTomorrow(sentAt))
        case 3_000, 3_007, 4_000, 4_001, 23_000: self = .failed(retryAfter: nil)
        case 4_500: self = .refused(.badExpiration)
        case 4_503: self = .refused(.forbidden)
        default: self = .refused(.other)
        }
    }

    /// Quotas are reset at midnight UTC.
    private static func untilTomorrow(_ now: Instant) -> Duration {
        let day: Int64 = 86_400_000
        return .milliseconds(day - now.milliseconds % day)
    }
}

/// The credentials of a BlackBerry platform: the app's id and password, and its gateway.
package struct PAPPlatformCredentials: PlatformCredentials {
    let applicationID: String
    let password: String
    /// The content provider's id, which selects a public gateway.
    let contentProvider: String?
    /// A private gateway.
    let url: String?
    /// Certificates in PEM to trust instead of the system's.
    let trustRoots: String?

    package static let families = [ProviderFamily.pap]
    package static let fields = ["application_id", "password", "content_provider_id", "url", "trust_root"]

    /// `application_id` and `password` with `content_provider_id` or `url`.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "BlackBerry", known: Self.fields)
        applicationID = try fields.text("application_id")
        password = try fields.text("password")
        contentProvider = try fields.textIfAny("content_provider_id")
        url = try fields.urlIfAny("url", schemes: ["https", "http"])
        trustRoots = try fields.textIfAny("trust_root")
    }

    /// The two that exclude each other are kept while neither is named.
    package static func kept(beside entered: [String: JSONValue], of old: Self) -> [String: JSONValue] {
        let places = ["content_provider_id", "url"]
        let isNamed = places.contains { entered[$0] != nil }
        return old.settings(unlessIn: entered).filter { !isNamed || !places.contains($0.key) }
    }

    package var entered: [String: JSONValue] {
        [
            "application_id": applicationID, "password": password, "content_provider_id": contentProvider, "url": url,
            "trust_root": trustRoots,
        ].compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try gateway(mode)
        _ = try Outbound.checkedTLS(trustRoots: trustRoots)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try PAPProvider(self, mode: platform.mode, with: dependencies)
    }

    /// Platforms in development use the gateway for evaluation.
    func gateway(_ mode: Platform.Mode) throws(InvalidInput) -> String {
        switch (contentProvider, url) {
        case (nil, let url?): return url
        case (let id?, nil):
            guard !id.isEmpty, id.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
                throw InvalidInput(field: "content_provider_id", "has to be digits")
            }
            return PAPCredentials.url(contentProvider: id, isEvaluation: mode == .development)
        case (nil, nil): throw InvalidInput(field: "content_provider_id", "or url is missing")
        case (_?, _?): throw InvalidInput(field: "content_provider_id", "and url exclude each other")
        }
    }
}
