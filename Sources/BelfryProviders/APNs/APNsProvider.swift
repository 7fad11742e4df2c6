import APNs
import BelfryService
import FoundationEssentials
import HTTP2Client
import Logging

/// Sends the pushes of one platform of Apple's devices through APNs.
struct APNsProvider: MessageTestedProvider {
    private let client: APNsClient
    private let topic: String
    private let use: AppleTokenUse
    private let clock: any WallClock
    private let options: APNsOptions
    private let logger: Logger

    /// The expiry that PCF sent for a push without one: the end of 32-bit time. Source: PCF Push API, "expiryTime".
    private static let farFuture: Int64 = 2_147_483_647

    init(_ platform: Platform, _ credentials: APNsPlatformCredentials, with dependencies: ProviderDependencies) throws {
        options = dependencies.options.apns
        logger = dependencies.logger
        clock = dependencies.clock
        topic = credentials.topic
        use = if case .apple(let use) = platform.kind { use } else { .app }
        var configuration = APNsClient.Configuration()
        configuration.pool.connectionsMax = options.connectionsMax
        dependencies.routes.lead(&configuration.pool.connection, for: .apns)
        client = try APNsClient(
            credentials: try credentials.open(now: dependencies.clock.now),
            endpoint: try credentials.address(mode: platform.mode), configuration: configuration,
            eventLoopGroup: dependencies.eventLoopGroup, logger: logger)
    }

    var room: Int { client.room }

    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        let sentAt = clock.now
        do {
            return try await outcomes(of: push, recipients, sentAt: sentAt)
        } catch {
            return Outcome.refusals(of: push, recipients, error, logger)
        }
    }

    func send(_ pushes: [(push: Push, recipients: [Recipient])]) async -> [[Outcome]] {
        guard use != .broadcast, pushes.count > 1 else { return await sendEach(pushes) }
        let sentAt = clock.now
        var outcomes = [[Outcome]](repeating: [], count: pushes.count)
        var batches: [APNsBatch] = []
        var fitting: [RenderedRecipients] = []
        var places: [Int] = []
        for (place, part) in pushes.enumerated() {
            do {
                let made = try makeBatch(part.push, part.recipients)
                batches.append(made.batch)
                fitting.append(made.fitting)
                places.append(place)
            } catch {
                outcomes[place] = Outcome.refusals(of: part.push, part.recipients, error, logger)
            }
        }
        let isUrgent = pushes.contains { $0.push.lane == .urgent }
        let answers = await client.send(batches, urgent: isUrgent, deadline: options.deadline)
        for (index, place) in places.enumerated() {
            outcomes[place] = fitting[index].outcomes(self.outcomes(answers[index], sentAt: sentAt))
        }
        return outcomes
    }

    /// Uses a token that no device has: APNs checks the credentials before it looks up the device.
    func test() async -> CredentialsTest {
        do {
            let message = try APNsMessage(
                topic: topic, pushType: use.emptyPush.type, expiration: 0, payload: Array(use.emptyPush.payload.utf8))
            let unknownDevice = try APNsDevice(token: [UInt8](repeating: 0, count: 32))
            let answers = await client.send(
                APNsBatch(message: message, devices: [unknownDevice]), deadline: options.deadline)
            return CredentialsTest(outcomes(answers, sentAt: clock.now).first)
        } catch {
            return .refused("\(error)")
        }
    }

    func retire() async { await client.shutdown(within: options.deadline) }

    func shutdown(within deadline: Duration) async { await client.shutdown(within: deadline) }

    private func outcomes(of push: Push, _ recipients: [Recipient], sentAt: Instant) async throws -> [Outcome] {
        let isUrgent = push.lane == .urgent
        guard use == .broadcast else {
            let (batch, fitting) = try makeBatch(push, recipients)
            let answers = await client.send(batch, urgent: isUrgent, deadline: options.deadline)
            return fitting.outcomes(outcomes(answers, sentAt: sentAt))
        }
        let broadcast = try makeBroadcast(push, recipients)
        let answers = await client.broadcast(broadcast, urgent: isUrgent, deadline: options.deadline)
        return outcomes(answers, sentAt: sentAt)
    }

    private func outcomes(_ answers: [APNsAnswer], sentAt: Instant) -> [Outcome] {
        let fault = answers.contains(where: \.isUnsent) ? client.snapshot.lastFailure.map { ConnectionFault($0) } : nil
        return answers.map {
            Outcome($0, sentAt: sentAt, serverErrorWait: options.serverErrorWait, fault: fault)
        }
    }

    /// Makes the batch. The part that is the same for all devices is encoded once.
    private func makeBatch(
        _ push: Push, _ recipients: [Recipient]
    ) throws -> (batch: APNsBatch, fitting: RenderedRecipients) {
        let template = try ContentTemplate(push.content)
        let payload = try IOSPayload(
            template?.content ?? push.content, for: use, receiptID: options.sendsReceiptID ? push.receiptID : nil,
            sentAt: clock.now)
        let apple = push.content.apple
        let message = try APNsMessage(
            topic: topic, pushType: APNsPushType(payload.type), priority: apple?.priority.map(APNsPriority.init),
            expiration: apple?.isStored == false ? 0 : Self.seconds(push.expiresAt) ?? Self.farFuture,
            collapseID: apple?.collapseID ?? push.content.shared.collapseKey ?? push.receiptID.lowercased,
            payload: payload.bytes)
        let ids = MessageID(push: push.receiptID)
        let own = template.map { PayloadTemplate(payload.bytes, $0) }.flatMap { $0.isConstant ? nil : $0 }
        let fitting = RenderedRecipients(recipients, own) { own, filling in
            own.payload(for: filling, bytesMax: message.pushType.payloadBytesMax)
        }
        let devices = try fitting.recipients.enumerated().map { place, recipient in
            let (high, low) = ids.words(for: recipient.device)
            let payload = try fitting.payloads.map { try APNsPayload($0[place], for: message.pushType) }
            return try APNsDevice(token: recipient.token.bytes, id: APNsID(high: high, low: low), payload: payload)
        }
        return (APNsBatch(message: message, devices: devices), fitting)
    }

    /// A channel that stores nothing takes no expiry, so a push without one gets none.
    private func makeBroadcast(_ push: Push, _ recipients: [Recipient]) throws -> APNsBroadcast {
        let payload = try IOSPayload(push.content, for: use, receiptID: nil, sentAt: clock.now)
        let apple = push.content.apple
        return try APNsBroadcast(
            bundleID: topic, priority: apple?.priority.map(APNsPriority.init) ?? .immediate,
            expiration: apple?.isStored == false ? 0 : Self.seconds(push.expiresAt) ?? 0, payload: payload.bytes,
            channels: try recipients.map { try APNsChannelID(String(decoding: $0.token.bytes, as: UTF8.self)) })
    }

    private static func seconds(_ moment: Instant?) -> Int64? { moment.map { $0.milliseconds / 1_000 } }
}

extension APNsAnswer {
    /// Whether a missing connection may be the reason.
    fileprivate var isUnsent: Bool {
        switch self {
        case .unprocessed, .credentialsRefused: true
        case .accepted, .rejected, .unknown: false
        }
    }
}

extension APNsPushType {
    init(_ kind: ApplePush.Kind) {
        self =
            switch kind {
            case .alert: .alert
            case .background: .background
            case .voip: .voip
            case .complication: .complication
            case .fileProvider: .fileProvider
            case .location: .location
            case .mdm: .mdm
            case .liveActivity: .liveActivity
            case .pushToTalk: .pushToTalk
            case .widgets: .widgets
            case .controls: .controls
            }
    }
}

extension APNsPriority {
    init(_ priority: ApplePush.Priority) {
        self =
            switch priority {
            case .immediate: .immediate
            case .considerate: .considerate
            case .low: .low
            }
    }
}

extension AppleTokenUse {
    /// A push of its type that would show nothing on a device.
    fileprivate var emptyPush: (type: APNsPushType, payload: String) {
        switch self {
        case .app: (.background, #"{"aps":{"content-available":1}}"#)
        case .voip: (.voip, "{}")
        case .complication: (.complication, "{}")
        case .fileProvider: (.fileProvider, "{}")
        case .location: (.location, #"{"aps":{}}"#)
        case .mdm: (.mdm, #"{"mdm":"-"}"#)
        case .liveActivity, .liveActivityStart, .broadcast:
            (.liveActivity, #"{"aps":{"timestamp":0,"event":"end","content-state":{}}}"#)
        case .pushToTalk: (.pushToTalk, #"{"aps":{}}"#)
        case .widgets: (.widgets, #"{"aps":{"content-changed":true}}"#)
        case .controls: (.controls, #"{"aps":{"content-changed":true}}"#)
        }
    }
}
