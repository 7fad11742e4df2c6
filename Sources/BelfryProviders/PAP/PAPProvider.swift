import BelfryService
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
