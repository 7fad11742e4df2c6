import BelfryCore
import HMS
import Logging

/// Sends the pushes of one Huawei platform through Push Kit.
struct HMSProvider: DrainableProvider {
    private let client: HMSClient
    private let options: MulticastOptions
    private let inAir: InAir
    private let clock: any WallClock
    private let logger: Logger

    init(_ platform: Platform, _ credentials: HMSPlatformCredentials, with means: ProviderMeans) throws {
        options = means.options.hms
        inAir = InAir(max: options.devicesMax)
        clock = means.clock
        logger = means.logger
        client = try HMSClient(
            credentials: try credentials.open(), endpoint: try credentials.address(), http: means.exits.http(for: .hms))
    }

    var room: Int { inAir.room }

    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        let message: HMSMessage
        do {
            message = try HMSMessage(push, now: clock.now)
        } catch {
            logger.error(
                "push cannot be rendered for HMS", metadata: ["push.key": "\(push.key)", "error": "\(error)"])
            return recipients.map { _ in .refused(.other) }
        }
        let answers = await inAir.holding(recipients.count) {
            await client.send(message, to: recipients.map(\.token.bytes), deadline: options.deadline)
        }
        return answers.map { Outcome($0) }
    }

    /// A token that no device has, and a message that is only checked.
    func test() async -> CredentialsTest {
        guard let message = try? HMSMessage(data: "test", isValidatedOnly: true) else { return CredentialsTest(nil) }
        let answers = await client.send(
            message, to: [Array("belfry-credentials-test".utf8)], deadline: options.deadline)
        return CredentialsTest(answers.first.map { Outcome($0) })
    }

    /// It has no connections of its own; what is in the air has its deadline.
    func retire() async {}

    func shutdown(within deadline: Duration) async {}
}

extension HMSMessage {
    /// The same flat map as on Android, as one text.
    init(_ push: Push, now: Instant) throws {
        let payload = try AndroidPayload(push.content, kind: .huawei, receiptID: push.receiptID, sentAt: now)
        let data = try JSONValue.object(payload.data.mapValues { .string($0) }).encoded(field: "message")
        try self.init(
            data: String(decoding: data, as: UTF8.self),
            timeToLive: push.secondsToLive(at: now, max: Self.secondsMax).map { max(1, $0) },
            collapseKey: payload.collapseKey.flatMap { Int($0) }.flatMap { Self.collapseKeys.contains($0) ? $0 : nil })
    }
}
