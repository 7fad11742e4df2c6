import BelfryService
import FCM
import HTTP2Client
import Logging
import Outbound

/// Sends the pushes of one Android platform through FCM.
struct FCMProvider: MessageTestedProvider {
    private let client: FCMClient
    private let kind: PlatformKind
    private let options: FCMOptions
    private let sendsReceiptID: Bool
    private let clock: any WallClock
    private let logger: Logger

    init(_ platform: Platform, _ credentials: FCMPlatformCredentials, with dependencies: ProviderDependencies) throws {
        options = dependencies.options.fcm
        sendsReceiptID = dependencies.options.sendsAndroidReceiptID
        kind = platform.kind
        clock = dependencies.clock
        logger = dependencies.logger
        let account = try credentials.open()
        var configuration = FCMClient.Configuration()
        configuration.pool.connectionsMax = options.connectionsMax
        dependencies.routes.lead(&configuration.pool.connection, for: .fcm)
        client = try FCMClient(
            dependencies.routes.trusted(for: .fcm), credentials: account, endpoint: try credentials.address(),
            quota: dependencies.fcmQuotas.quota(of: account.projectID, perMinute: options.messagesPerMinute),
            configuration: configuration, eventLoopGroup: dependencies.eventLoopGroup, logger: logger)
    }

    var room: Int { client.room }

    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] { await send([(push, recipients)])[0] }

    func send(_ pushes: [(push: Push, recipients: [Recipient])]) async -> [[Outcome]] {
        let now = clock.now
        var outcomes = [[Outcome]](repeating: [], count: pushes.count)
        var batches: [FCMBatch] = []
        var fitting: [RenderedRecipients] = []
        var places: [Int] = []
        for (place, part) in pushes.enumerated() {
            do {
                let made = try makeBatch(part.push, part.recipients, now: now)
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
            outcomes[place] = fitting[index].outcomes(self.outcomes(answers[index], sentAt: now))
        }
        return outcomes
    }

    /// Makes the batch. The part that is the same for all devices is encoded once. Where a message is too large with its notification,
    /// the app gets the data alone and shows them.
    private func makeBatch(
        _ push: Push, _ recipients: [Recipient], now: Instant
    ) throws -> (batch: FCMBatch, fitting: RenderedRecipients) {
        let template = try ContentTemplate(push.content)
        let content = template?.content ?? push.content
        func message(isNotifying: Bool) throws -> FCMMessage {
            try FCMMessage(
                push, content, on: kind, now: now, sendsReceiptID: sendsReceiptID, isNotifying: isNotifying)
        }
        let whole = try? message(isNotifying: true)
        let usual = try whole ?? message(isNotifying: false)
        let own = template.map { PayloadTemplate(usual.tail, $0) }.flatMap { $0.isConstant ? nil : $0 }
        var dataAlone: FittedMessage?
        let fitting = RenderedRecipients(recipients, own) { own, filling in
            if let payload = FittedMessage(usual, own).payload(for: filling) { return payload }
            guard let template, whole != nil else { return nil }
            dataAlone =
                dataAlone
                ?? (try? message(isNotifying: false)).map { FittedMessage($0, PayloadTemplate($0.tail, template)) }
            return dataAlone?.payload(for: filling)
        }
        let batch = FCMBatch(
            message: usual, tokens: fitting.recipients.map(\.token.bytes), tails: fitting.payloads)
        return (batch, fitting)
    }

    private func outcomes(_ answers: [FCMAnswer], sentAt: Instant) -> [Outcome] {
        let fault = answers.contains(where: \.isUnsent) ? client.snapshot.lastFailure.map { ConnectionFault($0) } : nil
        return answers.map { Outcome($0, sentAt: sentAt, fault: fault) }
    }

    /// Uses a token that no device has, and a message that is only validated: FCM checks the credentials first.
    func test() async -> CredentialsTest {
        guard let message = try? FCMMessage(data: ["test": "1"], isValidatedOnly: true) else {
            return CredentialsTest(nil)
        }
        let batch = FCMBatch(message: message, tokens: [Array("belfry-credentials-test".utf8)])
        let answers = await client.send(batch, deadline: options.deadline)
        return CredentialsTest(outcomes(answers, sentAt: clock.now).first)
    }

    /// A message that is only checked: FCM looks at the token, and tells the device nothing.
    func validate(_ tokens: [DeviceToken]) async -> [Outcome]? {
        guard let message = try? FCMMessage(data: ["test": "1"], isValidatedOnly: true) else { return nil }
        let batch = FCMBatch(message: message, tokens: tokens.map(\.bytes))
        return outcomes(await client.send(batch, deadline: options.deadline), sentAt: clock.now)
    }

    func retire() async { await client.shutdown(within: options.deadline) }

    func shutdown(within deadline: Duration) async { await client.shutdown(within: deadline) }
}

/// A message of which each device gets its own.
private struct FittedMessage {
    private let message: FCMMessage
    private let template: PayloadTemplate

    init(_ message: FCMMessage, _ template: PayloadTemplate) {
        self.message = message
        self.template = template
    }

    /// nil where FCM would refuse it for its size.
    func payload(for filling: PersonalizedValues) -> [UInt8]? {
        template.innerBytes(of: message.dataBytes, for: filling) <= FCMMessage.bytesMax
            ? template.payload(for: filling, bytesMax: .max) : nil
    }
}

extension FCMAnswer {
    /// Whether a missing connection may be the reason.
    fileprivate var isUnsent: Bool {
        switch self {
        case .unprocessed, .credentialsRefused: true
        case .accepted, .rejected, .held, .unauthorized, .unknown: false
        }
    }
}

extension FCMMessage {
    /// The notification that the system shows, and the data for the app; a silent push has only data.
    ///
    /// Apps of type `android` have an SDK of GCM's time, which is given its data only when there is nothing for the system to show.
    init(
        _ push: Push, _ content: Push.Content, on kind: PlatformKind, now: Instant, sendsReceiptID: Bool,
        isNotifying: Bool
    ) throws {
        let payload = try AndroidPayload(
            content, kind: kind, receiptID: sendsReceiptID ? push.receiptID : nil, sentAt: now)
        let notice = kind == .android || !isNotifying ? nil : payload.notice
        var android = FCMAndroid(
            collapseKey: payload.collapseKey, priority: payload.isHighPriority ? .high : .normal,
            timeToLive: push.secondsToLive(at: now, max: Self.secondsMax))
        if let notice {
            android.show(notice)
            // A second copy replaces the first. A collapse key would do so too, but FCM limits those.
            android.tag = notice.collapseKey ?? push.receiptID.lowercased
        }
        try self.init(
            notification: notice.map { FCMNotification(title: $0.title, body: $0.body, image: $0.image) },
            data: payload.data.texts, android: android)
    }
}

extension FCMAndroid {
    /// Google's words for a category on Apple's devices: the action of the activity that opens. A link is no such action: the app has it in
    /// its data. Source: Firebase, "Firebase Cloud Messaging HTTP protocol" (legacy), `click_action`; REST reference, Android notifications.
    fileprivate mutating func show(_ notice: AndroidPayload.Notice) {
        channelID = notice.channel
        sound = notice.sound
        clickAction = notice.category
        switch notice.badge {
        // 0 is what FCM takes for a count that is not given.
        case .set(let number): notificationCount = number > 0 ? Int(number) : nil
        case .add: countMark = PayloadTemplate.badgeMark
        case nil: return
        }
    }
}
