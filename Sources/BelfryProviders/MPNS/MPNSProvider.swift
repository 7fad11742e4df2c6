import BelfryService
import MPNS
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
