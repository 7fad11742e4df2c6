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
        configuration.pool.broadcastLoops = dependencies.broadcastLoops
        dependencies.routes.lead(&configuration.pool.connection, for: .apns)
        client = try APNsClient(
            credentials: try credentials.open(now: dependencies.clock.now),
            endpoint: try credentials.address(mode: platform.mode), configuration: configuration,
            eventLoopGroup: dependencies.eventLoopGroup, logger: logger)
    }

    var room: Int { client.room }

    /// The test is no broadcast, which needs more than the key.
    var isProvenByAcceptanceAlone: Bool { use == .broadcast }

    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        guard use == .broadcast else { return await send([(push, recipients)])[0] }
        let sentAt = clock.now
        let channels = ParsedRecipients(recipients) { try APNsChannelID($0.text) }
        do {
            let broadcast = try makeBroadcast(push, to: channels.addresses)
            let answers = await client.broadcast(
                broadcast, urgent: push.lane == .urgent, deadline: options.deadline)
            return channels.outcomes(outcomes(answers, sentAt: sentAt))
        } catch {
            return Outcome.refusals(of: push, recipients, error, logger)
        }
    }

    func send(_ pushes: [(push: Push, recipients: [Recipient])]) async -> [[Outcome]] {
        guard use != .broadcast else { return await sendEach(pushes) }
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
            topic: topic, pushType: APNsPushType(payload.type),
            priority: push.content.pacing.isPassive && payload.type == .alert
                ? .considerate : apple?.priority.map(APNsPriority.init),
            expiration: apple?.isStored == false ? 0 : Self.seconds(push.expiresAt) ?? Self.farFuture,
            collapseID: push.appleCollapseID,
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
    private func makeBroadcast(_ push: Push, to channels: [APNsChannelID]) throws -> APNsBroadcast {
        let payload = try IOSPayload(push.content, for: use, receiptID: nil, sentAt: clock.now)
        let apple = push.content.apple
        return try APNsBroadcast(
            bundleID: topic, priority: apple?.priority.map(APNsPriority.init) ?? .immediate,
            expiration: apple?.isStored == false ? 0 : Self.seconds(push.expiresAt) ?? 0, payload: payload.bytes,
            channels: channels)
    }

    private static func seconds(_ moment: Instant?) -> Int64? { moment.map { $0.milliseconds / 1_000 } }
}

extension Push {
    /// The id under which Apple's devices show it.
    var appleCollapseID: String {
        content.follows?.id(on: .ios) ?? content.apple?.collapseID ?? content.shared.collapseKey ?? receiptID.lowercased
    }
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

/// The operator's options for APNs.
package struct APNsOptions: Sendable {
    /// How many connections one platform may open.
    package var connectionsMax: Int
    /// How long one batch may take, from the first byte to the last answer.
    package var deadline: Duration
    /// Whether payloads carry `receiptId`, which the client SDKs need for analytics.
    package var sendsReceiptID: Bool
    /// How long a device waits whose message met an internal error of APNs. Source: Apple, "Handling notification
    /// responses from APNs", 15 minutes.
    package var serverErrorWait: Duration

    package init(
        connectionsMax: Int = 8, deadline: Duration = .seconds(20), sendsReceiptID: Bool = true,
        serverErrorWait: Duration = .seconds(15 * 60)
    ) {
        self.connectionsMax = connectionsMax
        self.deadline = deadline
        self.sendsReceiptID = sendsReceiptID
        self.serverErrorWait = serverErrorWait
    }
}

// The outcome of every answer of APNs. docs/Providers.md has the same table for operators.
// Source: Apple, "Handling notification responses from APNs".

extension Outcome {
    /// - Parameters:
    ///   - sentAt: the time of death for a channel that APNs does not know, because APNs names none.
    ///   - serverErrorWait: how long a message waits that met an internal error of APNs.
    ///   - fault: why the last connection could not be opened, if it could not.
    init(_ answer: APNsAnswer, sentAt: Instant, serverErrorWait: Duration, fault: ConnectionFault? = nil) {
        switch answer {
        case .accepted: self = .accepted
        case .rejected(let rejection):
            self.init(rejection, sentAt, serverErrorWait)
            self = saying("\(rejection.status) \(rejection.reason)")
        case .unprocessed(let why):
            self = fault.map { .unreachable($0) } ?? .failed(retryAfter: nil).saying("not processed: \(why)")
        case .unknown: self = .unanswered
        case .credentialsRefused(let refusal):
            self = .credentialsRefused("APNs: \(fault?.detail ?? "\(refusal)")", by: .shared)
        }
    }

    private init(_ rejection: APNsRejection, _ sentAt: Instant, _ serverErrorWait: Duration) {
        // The header may contain any number.
        let retryAfter = Self.wait(rejection.retryAfter.map { Duration.seconds(max($0, 0)) })
        switch rejection.reason {
        case .unregistered, .expiredToken:
            self = .gone(since: rejection.timestamp.map(Instant.init(milliseconds:)))
        case .channelNotRegistered: self = .gone(since: sentAt)
        case .badDeviceToken, .badChannelID: self = .refused(.badToken)
        case .deviceTokenNotForTopic: self = .refused(.tokenOfAnotherApplication)
        case .missingDeviceToken, .missingChannelID: self = .refused(.missingToken)
        case .payloadTooLarge: self = .refused(.payloadTooLarge)
        case .payloadEmpty: self = .refused(.payloadEmpty)
        case .badCollapseID: self = .refused(.badCollapseID)
        case .badExpirationDate: self = .refused(.badExpiration)
        case .badMessageID: self = .refused(.badMessageID)
        case .badPriority: self = .refused(.badPriority)
        case .invalidPushType, .missingPushType: self = .refused(.badPushType)
        case .duplicateHeaders: self = .refused(.duplicateHeaders)
        case .forbidden: self = .refused(.forbidden)
        case .badPath: self = .refused(.badPath)
        case .methodNotAllowed: self = .refused(.methodNotAllowed)
        case .badTopic, .missingTopic, .topicDisallowed, .badCertificate, .badCertificateEnvironment,
            .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken,
            .expiredProviderToken, .featureNotEnabled, .topicMismatch:
            let help = Self.help(rejection.reason).map { ": \($0)" } ?? ""
            self = .credentialsRefused("APNs answered \(rejection.status) \(rejection.reason)\(help)")
        case .tooManyRequests, .tooManyProviderTokenUpdates: self = .throttled(retryAfter: retryAfter)
        // Concerns the connection, which is replaced.
        case .idleTimeout, .shutdown: self = .failed(retryAfter: retryAfter)
        default: self.init(status: rejection.status, retryAfter, serverErrorWait)
        }
    }

    /// The usual mistake behind a reason, in the words of those who entered the credentials.
    private static func help(_ reason: APNsReason) -> String? {
        switch reason {
        case .invalidProviderToken:
            "the key, the key id and the team id do not belong together, or the key was revoked: compare them with the page of the "
                + "key at Apple's developer site"
        case .expiredProviderToken:
            "by APNs' clock the token was signed more than an hour ago: set this machine's clock"
        case .badTopic, .missingTopic, .topicDisallowed, .topicMismatch:
            "the topic has to be the app's bundle id, and the key or certificate one of its team"
        case .badCertificate: "the certificate expired, was revoked, or is not one for pushes"
        case .badCertificateEnvironment, .badEnvironmentKeyIDInToken:
            "it is for the other environment: compare the platform's mode, development or production"
        default: nil
        }
    }

    /// Decided by the status: internal errors of APNs, and reasons that Apple added later.
    private init(status: Int, _ retryAfter: Duration?, _ serverErrorWait: Duration) {
        switch status {
        case 410: self = .gone(since: nil)
        case 429: self = .throttled(retryAfter: retryAfter)
        case 500...: self = .failed(retryAfter: max(retryAfter ?? .zero, serverErrorWait))
        default: self = .refused(.other)
        }
    }
}
