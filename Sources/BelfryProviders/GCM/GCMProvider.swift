import BelfryCore
import GCM
import Logging

/// Sends the pushes of one Android platform over `gcm/send`.
struct GCMProvider: DrainableProvider {
    private let client: GCMClient
    private let kind: PlatformKind
    private let options: MulticastOptions
    private let inAir: InAir
    private let clock: any WallClock
    private let logger: Logger

    init(_ platform: Platform, _ credentials: GCMPlatformCredentials, with means: ProviderMeans) throws {
        options = means.options.gcm
        inAir = InAir(max: options.devicesMax)
        kind = platform.kind
        clock = means.clock
        logger = means.logger
        client = try GCMClient(
            key: credentials.key, url: credentials.endpoint ?? GCMClient.standardURL,
            trustRoots: credentials.trustRootsPEM.map { Array($0.utf8) }, http: means.exits.http(for: .gcm))
    }

    var room: Int { inAir.room }

    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        let now = clock.now
        let message: GCMMessage
        do {
            message = try GCMMessage(push, on: kind, now: now)
        } catch {
            logger.error(
                "push cannot be rendered for GCM", metadata: ["push.key": "\(push.key)", "error": "\(error)"])
            return recipients.map { _ in .refused(.other) }
        }
        let answers = await inAir.holding(recipients.count) {
            await client.send(message, to: recipients.map(\.token.bytes), deadline: options.deadline)
        }
        return answers.map { Outcome($0, sentAt: now) }
    }

    /// A token that no device has, and a message that is only checked.
    func test() async -> CredentialsTest {
        guard let message = try? GCMMessage(data: ["test": "1"], isDryRun: true) else { return CredentialsTest(nil) }
        let answers = await client.send(
            message, to: [Array("belfry-credentials-test".utf8)], deadline: options.deadline)
        return CredentialsTest(answers.first.map { Outcome($0, sentAt: clock.now) })
    }

    /// It has no connections of its own; what is in the air has its deadline.
    func retire() async {}

    func shutdown(within deadline: Duration) async {}
}

extension GCMMessage {
    init(_ push: Push, on kind: PlatformKind, now: Instant) throws {
        let payload = try AndroidPayload(push.content, kind: kind, receiptID: push.receiptID, sentAt: now)
        try self.init(
            data: payload.data, collapseKey: payload.collapseKey,
            timeToLive: push.secondsToLive(at: now, max: Self.secondsMax), isHighPriority: !payload.isSilent)
    }
}
