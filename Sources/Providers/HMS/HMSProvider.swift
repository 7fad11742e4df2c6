package import BelfryService
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

    /// v3 refuses the app behind a token, and the test's token has none.
    var isProvenByAcceptanceAlone: Bool { isServiceAccount }

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
            case .set(let number): .set(Int(min(number, 99)))
            case .add(let number): .add(Int(min(number, 99)))
            }
    }
}

extension AndroidPayload {
    /// Push Kit accepts only numbers.
    fileprivate var hmsCollapseKey: Int? {
        collapseKey.flatMap { Int($0) }.flatMap { HMSMessage.collapseKeys.contains($0) ? $0 : nil }
    }
}

// The outcome of every answer of Push Kit. docs/Providers.md has the same table for operators.
// Source: Huawei, Push Kit REST API, result codes. A result code takes precedence over the status.

extension Outcome {
    init(_ answer: HMSAnswer) {
        switch answer {
        case .accepted: self = .accepted
        case .illegalToken(let cause): self.init(cause)
        case .rejected(let rejection):
            self.init(rejection)
            self = spoken(by: .request).saying("\(rejection.status) \(rejection.code?.text ?? "")", rejection.words)
        case .unauthorized(let error): self.init(error)
        case .unprocessed(let fault): self.init(unprocessed: fault, byHostOf: "HMS")
        case .unknown: self = .unanswered
        }
    }

    /// Errors about our credentials become `credentialsRefused`; every other error concerns the device alone.
    private init(_ cause: HMSCause) {
        switch cause {
        case .appInformation, .penalty: self = .credentialsRefused("HMS answered \(cause)")
        case .noRight: self = .refused(.tokenOfAnotherApplication)
        case .noPushTypeRight, .noLiveNotificationRight, .country, .platform: self = .refused(.forbidden)
        // Also reported for a token of another app: never a reason to deactivate.
        default: self = .refused(.badToken)
        }
    }

    private init(_ rejection: HMSRejection) {
        switch rejection.code {
        case .allTokensInvalid?: self = .refused(.badToken)
        case .badExpiration?: self = .refused(.badExpiration)
        case .badCollapseKey?: self = .refused(.badCollapseID)
        case .sensitiveContent?: self = .refused(.forbidden)
        case .tooLarge?: self = .refused(.payloadTooLarge)
        case .badParameters?, .tokenCount?, .badStructure?, .badBody?, .tooManyTokens?: self = .refused(.other)
        case .tooManyTopicMessages?: self = .throttled(retryAfter: Self.wait(rejection.retryAfter))
        case .authenticationFailed?, .tokenExpired?, .jwtExpired?, .jwtTooLong?, .noPermission?, .noHighPriority?,
            .penalty?:
            self = .credentialsRefused("HMS answered \(rejection.code?.text ?? "")")
        case .tokenServer?, .internalError?: self = .failed(retryAfter: Self.wait(rejection.retryAfter))
        default: self.init(hmsStatus: rejection)
        }
    }

    /// No code, or one that Huawei added later: decided by the status.
    private init(hmsStatus rejection: HMSRejection) {
        switch rejection.status {
        case 401, 403, 404, 300..<400: self = .credentialsRefused("HMS answered \(rejection.status)")
        case 429, 503: self = .throttled(retryAfter: Self.wait(rejection.retryAfter))
        case 500...: self = .failed(retryAfter: Self.wait(rejection.retryAfter))
        default: self = .refused(.other)
        }
    }
}

/// The credentials of a platform for Huawei's Push Kit: the app's id and secret, or a service account. Stored sealed.
package struct HMSPlatformCredentials: PlatformCredentials {
    /// The app's id and, with `appSecret`, its login for HMS on Android.
    package let appID: String?
    package let appSecret: String?
    /// The project's id, for sending by v2.
    package let projectID: String?
    /// The JSON that Huawei's API console issues, for HarmonyOS 5 and later.
    package let serviceAccount: String?
    /// `https://host` or `https://host:port`; nil for Huawei's.
    package let endpoint: String?
    package let tokenURL: String?
    /// Certificates in PEM to trust instead of the system's.
    package let trustRootsPEM: String?

    package static let families = [ProviderFamily.hms]
    package static let fields = [
        "app_id", "app_secret", "project_id", "service_account", "endpoint", "token_url", "trust_root",
    ]

    /// Creates credentials for v1, or with a project for v2.
    package init(
        appID: String, appSecret: String, projectID: String? = nil, endpoint: String? = nil, tokenURL: String? = nil,
        trustRootsPEM: String? = nil
    ) {
        self.appID = appID
        self.appSecret = appSecret
        self.projectID = projectID
        serviceAccount = nil
        self.endpoint = endpoint
        self.tokenURL = tokenURL
        self.trustRootsPEM = trustRootsPEM
    }

    /// Reads `app_id` and `app_secret`, with or without `project_id`; or `service_account`, the file as a text or as an
    /// object. `endpoint`, `token_url` and `trust_root` (PEM) are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "HMS", known: Self.fields)
        serviceAccount = try fields.documentIfAny("service_account")
        if serviceAccount == nil {
            appID = try fields.text("app_id")
            appSecret = try fields.text("app_secret")
            projectID = try fields.textIfAny("project_id")
        } else {
            for field in ["app_id", "app_secret", "project_id", "token_url"] where fields[field] != nil {
                throw InvalidInput(field: field, "and service_account exclude each other")
            }
            (appID, appSecret, projectID) = (nil, nil, nil)
        }
        endpoint = try fields.textIfAny("endpoint")
        tokenURL = try fields.urlIfAny("token_url")
        trustRootsPEM = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        [
            "app_id": appID, "app_secret": appSecret, "project_id": projectID, "service_account": serviceAccount,
            "endpoint": endpoint, "token_url": tokenURL, "trust_root": trustRootsPEM,
        ].compactMapValues { $0.map { .string($0) } }
    }

    package var unguardedAddresses: [String] {
        ["endpoint": endpoint, "token_url": tokenURL].filter { $1 != nil }.keys.sorted()
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try open()
        _ = try address()
    }

    package func published() throws -> [String: String] {
        guard let serviceAccount else { return ["app_id": appID].compactMapValues(\.self) }
        let account = try JSONValue(json: serviceAccount.utf8)
        return ["project_id": account["project_id"], "key_id": account["key_id"]].compactMapValues { $0?.stringValue }
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try HMSProvider(self, with: dependencies)
    }

    func open() throws(InvalidInput) -> HMSCredentials {
        do throws(HMSCredentialsError) {
            if let serviceAccount { return try HMSCredentials(serviceAccount: Array(serviceAccount.utf8)) }
            return try HMSCredentials(appID: appID ?? "", appSecret: appSecret ?? "", projectID: projectID)
        } catch {
            if let serviceAccount {
                let isKey = error.reason.hasPrefix("private_key ")
                throw InvalidInput(
                    field: "service_account",
                    "cannot be used: \(error.reason)" + (isKey ? foundKey(in: serviceAccount) : ""))
            }
            throw InvalidInput(field: "app_id", "or app_secret cannot be used: \(error.reason)")
        }
    }

    func address() throws(InvalidInput) -> HMSClient.Configuration {
        var address = HMSClient.Configuration()
        if let endpoint { address.pushURL = try Origin(endpoint, field: "endpoint").text }
        if let tokenURL { address.tokenURL = tokenURL }
        address.tls = try Outbound.checkedTLS(trustRoots: trustRootsPEM)
        return address
    }
}
