import BelfryService
import HMS
import Outbound

/// Sends the pushes of one Huawei platform through Push Kit.
struct HMSProvider: PostingProvider, MessageTestedProvider {
    let inFlight: InFlightDevices
    private let client: HMSClient
    private let isServiceAccount: Bool
    private let options: MulticastOptions
    private let clock: any WallClock

    init(_ credentials: HMSPlatformCredentials, with dependencies: ProviderDependencies) throws {
        options = dependencies.options.hms
        clock = dependencies.clock
        inFlight = InFlightDevices(devicesMax: options.devicesMax, logger: dependencies.logger)
        let opened = try credentials.open()
        isServiceAccount = opened.isServiceAccount
        client = HMSClient(
            dependencies.routes.trusted(for: .hms), credentials: opened, configuration: try credentials.address())
    }

    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]? {
        let message = try HMSMessage(push, forHarmonyOS: isServiceAccount, now: clock.now)
        let answers = await client.send(
            message, to: recipients.map(\.token.bytes), urgent: push.lane == .urgent, within: options.deadline)
        return answers.map { Outcome($0) }
    }

    /// Uses a token that no device has, and a message that is only validated, or would be shown on no device.
    func test() async -> CredentialsTest {
        let message =
            isServiceAccount
            ? try? HMSMessage(background: "test") : try? HMSMessage(data: "test", isValidatedOnly: true)
        guard let message else { return CredentialsTest(nil) }
        let answers = await client.send(
            message, to: [Array("belfry-credentials-test".utf8)], within: options.deadline)
        return CredentialsTest(answers.first.map { Outcome($0) })
    }
}

extension HMSMessage {
    /// Makes the message: Android's flat map, as one text. The system itself shows a push with a title and a text; the app shows any
    /// other. Older Android does so for a title that is for all platforms.
    init(_ push: Push, forHarmonyOS isHarmonyOS: Bool, now: Instant) throws {
        let payload = try AndroidPayload(push.content, kind: .huawei, receiptID: push.receiptID, sentAt: now)
        let timeToLive = push.secondsToLive(at: now, max: Self.secondsMax).map { max(1, $0) }
        if isHarmonyOS, let body = payload.notificationText, let title = payload.data["title"]?.stringValue {
            let notification = HMSNotification(
                title: payload.notice?.title ?? title, body: body,
                category: payload.ownCategory ?? HMSNotification.standardCategory, image: payload.notice?.image,
                badge: payload.notice?.badge.map { HMSNotification.Badge($0) }, data: payload.data.texts)
            if let shown = try? HMSMessage(notification: notification, timeToLive: timeToLive) {
                self = shown
                return
            }
            // It holds the text twice: where that is too large, the app shows the data.
        }
        let object = JSONValue.object(payload.data).encoded
        let data = String(decoding: object, as: UTF8.self)
        guard !isHarmonyOS else {
            try self.init(background: data, timeToLive: timeToLive)
            return
        }
        let collapseKey = payload.hmsCollapseKey
        do {
            try self.init(
                data: data, shown: HMSAndroidNotification(payload.notice), timeToLive: timeToLive,
                collapseKey: collapseKey)
        } catch HMSMessageError.tooLarge {
            // The app shows what would not fit twice.
            try self.init(data: data, timeToLive: timeToLive, collapseKey: collapseKey)
        }
    }
}

extension HMSAndroidNotification {
    /// nil unless there are a title and a text, both of which Huawei demands.
    fileprivate init?(_ notice: AndroidPayload.Notice?) {
        guard let notice, let title = notice.title, let body = notice.body else { return nil }
        self.init(
            title: title, body: body, image: notice.image, sound: notice.sound, tag: notice.collapseKey,
            channelID: notice.channel, page: notice.link.flatMap { $0.hasPrefix("https://") ? $0 : nil })
    }
}

extension HMSNotification.Badge {
    fileprivate init(_ change: BadgeChange) {
        self =
            switch change {
            case .set(let number): .set(Int(number))
            case .add(let number): .add(Int(number))
            }
    }
}

extension AndroidPayload {
    /// Push Kit accepts only numbers.
    fileprivate var hmsCollapseKey: Int? {
        collapseKey.flatMap { Int($0) }.flatMap { HMSMessage.collapseKeys.contains($0) ? $0 : nil }
    }
}
