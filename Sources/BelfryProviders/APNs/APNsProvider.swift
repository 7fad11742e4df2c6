import APNs
import BelfryCore
import Foundation
import HTTP2Client
import Logging
import NIOCore

/// Sends the pushes of one iOS platform through APNs.
struct APNsProvider: DrainableProvider {
    private let client: APNsClient
    private let topic: String
    private let options: APNsOptions
    private let logger: Logger

    /// What PCF sent where a push has no expiry: the end of 32-bit time. Source: PCF Push API, "expiryTime".
    private static let farFuture: Int64 = 2_147_483_647

    /// Throws `ProviderError.credentials` with words for a person.
    init(
        _ platform: Platform, vault: any Vault, options: APNsOptions, now: Instant,
        eventLoopGroup: any EventLoopGroup, logger: Logger
    ) throws(ProviderError) {
        do {
            let stored = try APNsPlatformCredentials(opening: platform, with: vault)
            var configuration = APNsClient.Configuration()
            configuration.pool.connectionsMax = options.connectionsMax
            client = try APNsClient(
                credentials: try stored.open(now: now), endpoint: try stored.address(mode: platform.mode),
                configuration: configuration, eventLoopGroup: eventLoopGroup, logger: logger)
            topic = stored.topic
        } catch {
            throw .credentials("the credentials of platform \(platform.uuid) cannot be used: \(error)")
        }
        self.options = options
        self.logger = logger
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
