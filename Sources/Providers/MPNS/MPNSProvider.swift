package import BelfryService
import KeyFiles
import MPNS
import NIOSSL
import Outbound

/// Sends the pushes of one Windows Phone platform through MPNS.
struct MPNSProvider: PostingProvider {
    let inFlight: InFlightDevices
    private let client: MPNSClient
    private let hosts: HostCheck
    private let domain: String
    private let clock: any WallClock
    private let options: PostingOptions

    init(_ credentials: MPNSPlatformCredentials, with dependencies: ProviderDependencies) throws {
        options = dependencies.options.posting
        clock = dependencies.clock
        inFlight = InFlightDevices(logger: dependencies.logger)
        domain = credentials.domain ?? MPNSChannel.domain
        var configuration = MPNSClient.Configuration()
        configuration.tls = try credentials.tls()
        hosts = HostCheck(outbound: dependencies.routes.guarded(for: .mpns), tls: configuration.tls)
        client = MPNSClient(hosts.outbound, configuration: configuration)
    }

    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]? {
        guard let payload = try WindowsPhonePayload(push.content) else { return nil }
        let sentAt = clock.now
        let message = try MPNSMessage(
            MPNSMessage.Kind(payload.kind), body: payload.bytes,
            batching: MPNSMessage.Batching(lifetime: push.lifetime(at: sentAt)))
        let batch = ParsedRecipients(recipients) { try MPNSChannel($0.text, domain: domain) }
        let answers = await client.send(
            message, to: batch.addresses, urgent: push.lane == .urgent, within: options.deadline)
        return batch.outcomes(answers.map { Outcome($0, sentAt: sentAt) })
    }

    func test() async -> CredentialsTest { Self.unasked("no phone is registered yet") }

    func testConnection(to devices: [DeviceToken]) async -> CredentialsTest? {
        let channels = devices.compactMap {
            try? MPNSChannel(String(decoding: $0.bytes, as: UTF8.self), domain: domain)
        }
        return await hosts.test(
            channels.compactMap { HostCheck.origin(of: $0.uri) }, reached: Self.unasked("MPNS was reached"),
            unasked: Self.unasked("no phone is registered yet"))
    }

    private static func unasked(_ found: String) -> CredentialsTest {
        .unknown("\(found); whether MPNS takes the credentials it says to a message alone")
    }
}

extension MPNSMessage.Kind {
    fileprivate init(_ kind: WindowsPhonePayload.Kind) {
        self =
            switch kind {
            case .toast: .toast
            case .tile: .tile
            case .raw: .raw
            }
    }
}

// The outcome of every answer of MPNS. docs/Providers.md has the same table for operators.
// Source: Microsoft, "Push Notification Service response codes for Windows Phone".

extension Outcome {
    /// - Parameter sentAt: a channel that was renewed since is another.
    init(_ answer: MPNSAnswer, sentAt: Instant) {
        switch answer {
        case .answered(let verdict):
            self.init(verdict, sentAt: sentAt)
            self = saying("\(verdict.status)", verdict.words)
        case .unprocessed(let fault): self.init(unprocessed: fault)
        case .unknown: self = .unanswered
        }
    }

    private init(_ verdict: MPNSVerdict, sentAt: Instant) {
        switch (verdict.status, verdict.notification) {
        case (200, .queueFull): self = .throttled(retryAfter: Self.wait(verdict.retryAfter) ?? .seconds(240))
        // The app asked for none of this kind.
        case (200, .suppressed), (200, .dropped): self = .refused(.dropped)
        case (200, _): self = .accepted
        // Concerns this channel; devices name their channels, so it says nothing about our certificate.
        case (401, _): self = .refused(.forbidden)
        case (403, _): self = .credentialsRefused("MPNS refuses the certificate")
        case (404, _): self = verdict.subscription == .expired ? .gone(since: sentAt) : .refused(.badToken)
        case (405, _): self = .refused(.methodNotAllowed)
        // The daily limit of an unauthenticated sender.
        case (406, _): self = .throttled(retryAfter: Self.wait(verdict.retryAfter) ?? .seconds(3_600))
        // The device is inactive: at most one attempt an hour is allowed.
        case (412, _): self = .throttled(retryAfter: .seconds(61 * 60))
        default: self.init(unlisted: verdict.status, retryAfter: verdict.retryAfter)
        }
    }
}

/// The credentials of a Windows Phone platform: none, or the certificate of an authenticated web service.
package struct MPNSPlatformCredentials: PlatformCredentials {
    /// A chain in PEM, the leaf first.
    let certificate: String?
    /// The key in PEM.
    let privateKey: String?
    /// The suffix of channel hosts; nil for Microsoft's.
    let domain: String?
    /// Certificates in PEM to trust instead of the system's.
    let trustRoots: String?

    package static let families = [ProviderFamily.mpns]
    package static let fields = ["certificate", "private_key", "domain", "trust_root"]

    /// `certificate` and `private_key` together or neither. `domain` and `trust_root` are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "MPNS", known: Self.fields)
        certificate = try fields.textIfAny("certificate")
        privateKey = try fields.textIfAny("private_key")
        domain = try fields.textIfAny("domain")
        trustRoots = try fields.textIfAny("trust_root")
        guard (certificate == nil) == (privateKey == nil) else {
            throw InvalidInput(field: "certificate", "and private_key go together")
        }
    }

    package var entered: [String: JSONValue] {
        ["certificate": certificate, "private_key": privateKey, "domain": domain, "trust_root": trustRoots]
            .compactMapValues { $0.map { .string($0) } }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try tls()
        if domain == "" { throw InvalidInput(field: "domain", "is empty") }
        if let expiry = expiry(now: now), expiry <= now {
            throw InvalidInput(field: "certificate", "expired on \(expiry.text)")
        }
    }

    package func expiry(now: Instant) -> Instant? {
        guard let certificate, let leaf = try? PEMFile.certificates(in: Array(certificate.utf8)).first else {
            return nil
        }
        return Instant(milliseconds: Int64(leaf.notValidAfter) * 1_000)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try MPNSProvider(self, with: dependencies)
    }

    func tls() throws(InvalidInput) -> TLSConfiguration? {
        try Outbound.checkedTLS(trustRoots: trustRoots, certificate: certificate, key: privateKey)
    }
}
