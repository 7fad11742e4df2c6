import BelfryService
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
            payload, tag: push.content.shared.collapseKey(of: WNSMessage.tagBytesMax, takingSigns: false),
            lifetime: push.lifetime(at: sentAt), isUrgent: push.lane == .urgent)
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
    /// stored when the push has an expiry.
    ///
    /// - Parameter tag: a toast, or a tile, with the same is replaced.
    fileprivate init(
        _ payload: Windows8Payload, tag: String?, lifetime: Int?, isUrgent: Bool
    ) throws(WNSError) {
        switch payload.kind {
        case .toast:
            try self.init(.toast, body: payload.bytes, isCached: false, tag: tag, priority: isUrgent ? .high : nil)
        case .tile: try self.init(.tile, body: payload.bytes, ttl: lifetime, isCached: true, tag: tag)
        case .badge: try self.init(.badge, body: payload.bytes, ttl: lifetime, isCached: true)
        case .raw: try self.init(.raw, body: payload.bytes, ttl: lifetime, isCached: lifetime != nil)
        }
    }
}
