import ADM
import BelfryService
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
