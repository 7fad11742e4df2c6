import BelfryService
import GCM
import Outbound

/// Sends the pushes of one Android platform over `gcm/send`.
struct GCMProvider: PostingProvider, MessageTestedProvider {
    let inFlight: InFlightDevices
    private let client: GCMClient
    private let kind: PlatformKind
    private let options: MulticastOptions
    private let sendsReceiptID: Bool
    private let clock: any WallClock

    init(_ platform: Platform, _ credentials: GCMPlatformCredentials, with dependencies: ProviderDependencies) throws {
        options = dependencies.options.gcm
        sendsReceiptID = dependencies.options.sendsAndroidReceiptID
        kind = platform.kind
        clock = dependencies.clock
        inFlight = InFlightDevices(devicesMax: options.devicesMax, logger: dependencies.logger)
        var configuration = GCMClient.Configuration()
        if let endpoint = credentials.endpoint { configuration.url = endpoint }
        configuration.tls = try Outbound.checkedTLS(trustRoots: credentials.trustRootsPEM)
        client = GCMClient(dependencies.routes.guarded(for: .gcm), key: credentials.key, configuration: configuration)
    }

    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]? {
        let sentAt = clock.now
        let message = try GCMMessage(push, on: kind, now: sentAt, sendsReceiptID: sendsReceiptID)
        let answers = await client.send(
            message, to: recipients.map(\.token.bytes), urgent: push.lane == .urgent, within: options.deadline)
        return answers.map { Outcome($0, kind: kind, sentAt: sentAt) }
    }

    /// Uses a token that no device has, and a message that is only validated.
    func test() async -> CredentialsTest {
        guard let message = try? GCMMessage(data: ["test": "1"], isDryRun: true) else { return CredentialsTest(nil) }
        let answers = await client.send(
            message, to: [Array("belfry-credentials-test".utf8)], within: options.deadline)
        return CredentialsTest(answers.first.map { Outcome($0, kind: kind, sentAt: clock.now) })
    }
}

extension GCMMessage {
    init(_ push: Push, on kind: PlatformKind, now: Instant, sendsReceiptID: Bool) throws {
        let payload = try AndroidPayload(
            push.content, kind: kind, receiptID: sendsReceiptID ? push.receiptID : nil, sentAt: now)
        try self.init(
            data: payload.data.texts, collapseKey: payload.collapseKey,
            timeToLive: push.secondsToLive(at: now, max: Self.secondsMax), isHighPriority: payload.isHighPriority)
    }
}
