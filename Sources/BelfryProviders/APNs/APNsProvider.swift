import APNs
import BelfryCore
import Foundation
import HTTP2Client
import Logging

/// Sends the pushes of one iOS platform through APNs.
struct APNsProvider: DrainableProvider {
    private let client: APNsClient
    private let topic: String
    private let options: APNsOptions
    private let logger: Logger

    /// What PCF sent where a push has no expiry: the end of 32-bit time. Source: PCF Push API, "expiryTime".
    private static let farFuture: Int64 = 2_147_483_647

    init(_ platform: Platform, _ credentials: APNsPlatformCredentials, with means: ProviderMeans) throws {
        options = means.options.apns
        logger = means.logger
        topic = credentials.topic
        var configuration = APNsClient.Configuration()
        configuration.pool.connectionsMax = options.connectionsMax
        configuration.pool.connection.tunnel = means.exits.tunnel(for: .apns)
        client = try APNsClient(
            credentials: try credentials.open(now: means.clock.now),
            endpoint: try credentials.address(mode: platform.mode), configuration: configuration,
            eventLoopGroup: means.eventLoopGroup, logger: logger)
    }

    var room: Int { client.room }

    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        let batch: APNsBatch
        do {
            batch = try makeBatch(push, recipients)
        } catch {
            logger.error(
                "push cannot be rendered for APNs", metadata: ["push.key": "\(push.key)", "error": "\(error)"])
            return recipients.map { _ in .refused(.other) }
        }
        let answers = await client.send(batch, urgent: push.lane == .urgent, deadline: options.deadline)
        return answers.map(Outcome.init)
    }

    /// A token that no device has: APNs looks at the credentials before it looks for the device.
    func test() async -> CredentialsTest {
        do {
            let message = try APNsMessage(
                topic: topic, pushType: .background, expiration: 0,
                payload: Array(#"{"aps":{"content-available":1}}"#.utf8))
            let nobody = try APNsDevice(token: [UInt8](repeating: 0, count: 32))
            let answers = await client.send(APNsBatch(message: message, devices: [nobody]), deadline: options.deadline)
            return CredentialsTest(answers.map { Outcome($0) }.first)
        } catch {
            return .refused("\(error)")
        }
    }

    func retire() async { await client.shutdown(within: options.deadline) }

    func shutdown(within deadline: Duration) async { await client.shutdown(within: deadline) }

    private func makeBatch(_ push: Push, _ recipients: [Recipient]) throws -> APNsBatch {
        let payload = try IOSPayload(push.content, receiptID: options.sendsReceiptID ? push.receiptID : nil)
        let message = try APNsMessage(
            topic: topic, pushType: payload.isBackground ? .background : .alert,
            expiration: push.expiresAt.map { $0.milliseconds / 1_000 } ?? Self.farFuture,
            collapseID: push.receiptID.lowercased, payload: payload.bytes)
        let ids = MessageID(push: push.receiptID)
        let devices = try recipients.map { recipient in
            let (high, low) = ids.words(for: recipient.device)
            return try APNsDevice(token: recipient.token.bytes, id: APNsID(high: high, low: low))
        }
        return APNsBatch(message: message, devices: devices)
    }
}
