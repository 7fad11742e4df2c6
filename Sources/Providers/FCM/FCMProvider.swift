package import BelfryService
import FCM
import FoundationEssentials
import HTTP2Client
import Logging
import Outbound
import Synchronization

/// Sends the pushes of one platform through FCM.
struct FCMProvider: MessageTestedProvider {
    private let client: FCMClient
    private let kind: PlatformKind
    private let options: FCMOptions
    private let sendsReceiptID: Bool
    private let clock: any WallClock
    private let logger: Logger

    init(_ platform: Platform, _ credentials: FCMPlatformCredentials, with dependencies: ProviderDependencies) throws {
        options = dependencies.options.fcm
        kind = platform.kind
        sendsReceiptID =
            kind.isApple
            ? dependencies.options.apns.sendsReceiptID : kind == .webFCM || dependencies.options.sendsAndroidReceiptID
        clock = dependencies.clock
        logger = dependencies.logger
        let account = try credentials.open()
        var configuration = FCMClient.Configuration()
        configuration.pool.connectionsMax = options.connectionsMax
        configuration.pool.broadcastLoops = dependencies.broadcastLoops
        configuration.tokenSources.folders = options.tokenFolders
        configuration.tokenSources.metadataServer = options.metadataServer
        configuration.tokenSources.deadline = min(.seconds(20), options.deadline)
        configuration.tokenSources.subjects = dependencies.routes.guarded(for: .fcm)
        configuration.tokenSources.machine = dependencies.routes.own
        dependencies.routes.lead(&configuration.pool.connection, for: .fcm)
        client = try FCMClient(
            dependencies.routes.trusted(for: .fcm), credentials: account, endpoint: try credentials.address(),
            quota: dependencies.fcmQuotas.quota(of: account.projectID, perMinute: options.messagesPerMinute),
            configuration: configuration, eventLoopGroup: dependencies.eventLoopGroup, logger: logger)
    }

    var room: Int { client.room }

    /// Firebase's key for another system is used after a look at the token alone.
    var isProvenByAcceptanceAlone: Bool { kind.isApple || kind == .webFCM }

    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        guard kind == .fcmTopic else { return await send([(push, recipients)])[0] }
        let now = clock.now
        let topics = ParsedRecipients(recipients) { try FCMAudience($0.text) }
        do {
            let batch = try FCMBatch(
                message: FCMMessage(toTopics: push, on: kind, now: now), audiences: topics.addresses)
            let answers = await client.send([batch], urgent: push.lane == .urgent, deadline: options.deadline)[0]
            return topics.outcomes(outcomes(answers, sentAt: now))
        } catch {
            return Outcome.refusals(of: push, recipients, error, logger)
        }
    }

    func send(_ pushes: [(push: Push, recipients: [Recipient])]) async -> [[Outcome]] {
        guard kind != .fcmTopic else { return await sendEach(pushes) }
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
        let receiptID = sendsReceiptID ? push.receiptID : nil
        func message(isNotifying: Bool) throws -> FCMMessage {
            if kind.isApple {
                return try FCMMessage(
                    data: [], android: FCMAndroid(), apple: FCMApple(push, content, receiptID, now: now))
            }
            if kind == .webFCM { return try FCMMessage(forBrowsers: push, content, receiptID, now: now) }
            return try FCMMessage(push, content, on: kind, now: now, receiptID: receiptID, isNotifying: isNotifying)
        }
        let whole = try? message(isNotifying: true)
        let usual = try whole ?? message(isNotifying: false)
        let own = template.map { PayloadTemplate(usual.tail, $0) }
            .flatMap { $0.isConstant && kind != .webFCM ? nil : $0 }
        var dataAlone: FittedMessage?
        let fitting = RenderedRecipients(recipients, own) { own, filling in
            // A link may be a page that FCM takes on some devices alone.
            if kind == .webFCM {
                return try? FCMMessage(forBrowsers: push, push.content.filled(with: filling), receiptID, now: now).tail
            }
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
        return answers.map { Outcome($0, for: kind, sentAt: sentAt, fault: fault) }
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
        _ push: Push, _ content: Push.Content, on kind: PlatformKind, now: Instant, receiptID: UUID?,
        isNotifying: Bool
    ) throws {
        let payload = try AndroidPayload(content, kind: kind, receiptID: receiptID, sentAt: now)
        let notice = kind == .android || !isNotifying ? nil : payload.notice
        var android = FCMAndroid(
            collapseKey: payload.collapseKey, priority: payload.isHighPriority ? .high : .normal,
            timeToLive: push.secondsToLive(at: now, max: Self.secondsMax))
        if let notice {
            android.show(notice)
            // A second copy replaces the first. A collapse key would do so too, but FCM limits those.
            android.tag = notice.collapseKey ?? push.shownID.lowercased
        }
        try self.init(
            notification: notice.map { FCMNotification(title: $0.title, body: $0.body, image: $0.image) },
            data: payload.data.texts, android: android)
    }
}

extension FCMMessage {
    /// The notification that the worker of Firebase's SDK shows. The site's own worker has as data what that has no place for: the data, the
    /// badge, a link that is no https page, or else a part that the sender wrote for a worker.
    fileprivate init(forBrowsers push: Push, _ content: Push.Content, _ receiptID: UUID?, now: Instant) throws {
        let payload = try WebPayload(content, receiptID: nil)
        var shown = payload.notification
        var data = shown == nil ? payload.members : [:]
        let page = shown?.removeValue(forKey: "navigate")?.stringValue
        let host = page.flatMap { URL(string: $0) }.flatMap { $0.scheme?.lowercased() == "https" ? $0.host() : nil }
        let link = host == nil ? nil : page.map { "https://\($0.dropFirst(8))" }
        if let own = shown?.removeValue(forKey: "data") {
            if case .object(let members) = own { data = members } else { data["data"] = own }
        }
        data["app_badge"] = data["app_badge"] ?? payload.members["app_badge"]
        if shown != nil, link == nil, data["link"] == nil {
            data["link"] = content.web?.notification["navigate"] ?? content.shared.link.map(JSONValue.string)
        }
        data["receiptId"] = receiptID.map { .string($0.lowercased) }
        // A second copy, and an update, replace the first.
        if shown != nil, shown?["tag"] == nil { shown?["tag"] = .string(push.shownID.lowercased) }
        let web = FCMWeb(
            notification: shown.map { JSONValue.object($0).encoded },
            timeToLive: push.webLifetime(at: now).map { min(Self.secondsMax, Int64($0)) },
            urgency: FCMWeb.Urgency(rawValue: push.webUrgency.rawValue), topic: push.webTopic, link: link)
        try self.init(data: data.texts, android: FCMAndroid(), web: web)
    }

    /// The notification, which FCM translates for each system, and the data for all platforms. No receipt id: the server knows none of
    /// the devices.
    fileprivate init(toTopics push: Push, on kind: PlatformKind, now: Instant) throws {
        let payload = try AndroidPayload(push.content, kind: kind, receiptID: nil, sentAt: now)
        var android = FCMAndroid(
            collapseKey: payload.collapseKey, priority: payload.isHighPriority ? .high : .normal,
            timeToLive: push.secondsToLive(at: now, max: Self.secondsMax))
        if let notice = payload.notice { android.show(notice) }
        // The notification has these. Without fields for all platforms it has the text alone.
        let shared = push.content.shared
        let names: [SharedFields.Name] = shared.isEmpty ? [] : [.title, .image, .sound, .category, .channel]
        let shown = names.map(\.rawValue) + ["message", "priority"]
        let own: JSONObject = payload.data.filter { shared.data[$0.key] != nil || !shown.contains($0.key) }
        try self.init(
            notification: payload.notice.map { FCMNotification(title: $0.title, body: $0.body, image: $0.image) },
            data: (payload.notice == nil ? payload.data : own).texts, android: android)
    }
}

extension FCMApple {
    /// The payload and headers that APNs would get from Belfry itself.
    fileprivate init(_ push: Push, _ content: Push.Content, _ receiptID: UUID?, now: Instant) throws {
        let payload = try IOSPayload(content, receiptID: receiptID, sentAt: now)
        let apple = push.content.apple
        let priority =
            payload.isBackground || push.content.pacing.isPassive ? 5 : apple?.priority.map { Int($0.rawValue) } ?? 10
        self.init(
            payload: payload.bytes, pushType: payload.isBackground ? .background : .alert, priority: priority,
            expiration: apple?.isStored == false ? 0 : push.expiresAt.map { max(0, $0.milliseconds / 1_000) },
            collapseID: push.appleCollapseID)
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

/// The operator's options for FCM.
package struct FCMOptions: Sendable {
    /// How many connections one platform may open.
    package var connectionsMax: Int
    /// How long one batch may take, from asking for a token to the last answer.
    package var deadline: Duration
    /// Google's limit for one project.
    package var messagesPerMinute: Int
    /// The folders in which subject tokens of Workload Identity Federation may be read.
    package var tokenFolders: [String] = []
    /// The metadata server, as `http://host`; nil where the identity of this machine is not used.
    package var metadataServer: String?

    package init(connectionsMax: Int = 10, deadline: Duration = .seconds(30), messagesPerMinute: Int = 600_000) {
        self.connectionsMax = connectionsMax
        self.deadline = deadline
        self.messagesPerMinute = messagesPerMinute
    }
}

/// The quotas of projects: platforms of the same project share one, and so do nodes.
package final class FCMQuotas: Sendable {
    private struct State {
        var quotas: [String: (quota: FCMQuota, perMinute: Int)] = [:]
        var share = NodeShare.whole
    }

    private let state = Mutex(State())

    package init() {}

    /// Sets this node's share of the limit.
    package func take(_ share: NodeShare) {
        state.withLock { state in
            guard share != state.share else { return }
            state.share = share
            for (quota, perMinute) in state.quotas.values { quota.change(perMinute: share.part(of: perMinute)) }
        }
    }

    /// - Parameter perMinute: the project's limit, for all nodes together.
    func quota(of project: String, perMinute: Int) -> FCMQuota {
        state.withLock { state in
            if let known = state.quotas[project] { return known.quota }
            let quota = FCMQuota(perMinute: state.share.part(of: perMinute))
            state.quotas[project] = (quota, perMinute)
            return quota
        }
    }
}

// The outcome of every answer of FCM. docs/Providers.md has the same table for operators.
// Source: Firebase, "Error codes for the HTTP v1 API".

extension Outcome {
    /// - Parameters:
    ///   - kind: Apple's devices and browsers are reached with a key that the Firebase project has for them.
    ///   - sentAt: when sending began. FCM names no time for a dead token: a device that registered since did so with another
    ///     token.
    ///   - fault: why the last connection could not be opened, if it could not.
    init(_ answer: FCMAnswer, for kind: PlatformKind = .androidFCM, sentAt: Instant, fault: ConnectionFault? = nil) {
        switch answer {
        case .accepted: self = .accepted
        case .rejected(let rejection):
            self.init(rejection, for: kind, sentAt)
            self = saying("\(rejection.status) \(rejection.code)", rejection.words)
        case .held(let retryAfter):
            self = .throttled(retryAfter: retryAfter).saying("not asked: the project's quota is used up")
        case .unauthorized(let error): self.init(error)
        case .unprocessed(let why):
            self = fault.map { .unreachable($0) } ?? .failed(retryAfter: nil).saying("not processed: \(why)")
        case .unknown: self = .unanswered
        case .credentialsRefused(let refusal):
            self = .credentialsRefused("FCM: \(fault?.detail ?? "\(refusal)")", by: .shared)
        }
    }

    private init(_ rejection: FCMRejection, for kind: PlatformKind, _ sentAt: Instant) {
        let wait = Self.wait(rejection.retryAfter)
        switch rejection.code {
        case .unregistered: self = .gone(since: sentAt)
        // FCM reports this for a malformed token, and for an invalid message: never a reason to deactivate.
        case .invalidArgument: self = .refused(rejection.isAboutToken ? .badToken : .other)
        case .senderIDMismatch: self = .refused(.tokenOfAnotherApplication)
        // Firebase's key for another service is wrong: it concerns only this device, which is not an Android device.
        case .thirdPartyAuthError where kind.isApple || kind == .webFCM, .apnsAuthError where kind.isApple:
            self = .credentialsRefused(
                "FCM answered \(rejection.status) \(rejection.code): the \(kind.isApple ? "APNs key" : "Web Push key") in the "
                    + "Firebase project is missing or wrong; see its Project settings, Cloud Messaging")
        case .thirdPartyAuthError, .apnsAuthError: self = .refused(.forbidden)
        case .quotaExceeded, .resourceExhausted: self = .throttled(retryAfter: wait ?? .seconds(60))
        case .unavailable, .internal, .unspecified: self = .failed(retryAfter: wait)
        case .unauthenticated, .permissionDenied, .notFound:
            self = .credentialsRefused("FCM answered \(rejection.status) \(rejection.code)")
        default: self.init(status: rejection.status, rejection, wait)
        }
    }

    /// A code that Google added later: decided by its status.
    private init(status: Int, _ rejection: FCMRejection, _ wait: Duration?) {
        switch status {
        case 401, 403, 404: self = .credentialsRefused("FCM answered \(status) \(rejection.code)")
        case 429: self = .throttled(retryAfter: wait ?? .seconds(60))
        case 500...: self = .failed(retryAfter: wait)
        default: self = .refused(.other)
        }
    }
}

/// The credentials of a platform for FCM: a service account or another identity at Google, and the endpoint. Stored sealed.
package struct FCMPlatformCredentials: PlatformCredentials {
    /// The JSON that the Firebase console issues, or that of Workload Identity Federation; nil for the machine's own account.
    package let serviceAccount: String?
    /// The id of the Firebase project, where the file does not say it.
    package let projectID: String?
    /// `https://host` or `https://host:port`; nil for Google's.
    package let endpoint: String?
    /// Certificates in PEM to trust instead of the system's.
    package let trustRootsPEM: String?

    package static let families = [ProviderFamily.fcm]
    package static let fields = ["service_account", "project_id", "endpoint", "trust_root"]

    package init(
        serviceAccount: String?, projectID: String? = nil, endpoint: String? = nil, trustRootsPEM: String? = nil
    ) {
        self.serviceAccount = serviceAccount
        self.projectID = projectID
        self.endpoint = endpoint
        self.trustRootsPEM = trustRootsPEM
    }

    /// Reads `service_account`, the file as a text or as an object, and `project_id`, which alone stands for the account of this machine.
    /// `endpoint` and `trust_root` (PEM) are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "FCM", known: Self.fields)
        serviceAccount = try fields.documentIfAny("service_account")
        projectID = try fields.textIfAny("project_id").flatMap { $0.isEmpty ? nil : $0 }
        guard serviceAccount != nil || projectID != nil else {
            throw InvalidInput(
                field: "service_account",
                "is missing; for the account of this machine, by a metadata server, project_id is entered alone")
        }
        endpoint = try fields.textIfAny("endpoint")
        trustRootsPEM = try fields.textIfAny("trust_root")
    }

    package var entered: [String: JSONValue] {
        [
            "service_account": serviceAccount, "project_id": projectID, "endpoint": endpoint,
            "trust_root": trustRootsPEM,
        ]
        .compactMapValues { $0.map { .string($0) } }
    }

    /// A token's file is this machine's as well: a tenant that named it would send by the identity of another. Each is named by itself,
    /// since an operator's endpoint may stay beside what a tenant enters.
    package var unguardedAddresses: [String] {
        let endpoints = endpoint == nil ? [] : ["endpoint"]
        guard serviceAccount != nil else { return endpoints + ["project_id"] }
        guard let account = try? open() else { return endpoints }
        let others = account.tokenURLs.filter { URL(string: $1)?.host()?.hasSuffix(".googleapis.com") != true }
            .map(\.key)
        return endpoints + (others + [account.machineMember].compactMap(\.self)).map { "service_account.\($0)" }
    }

    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        _ = try open()
        _ = try address()
    }

    package func published() throws -> [String: String] {
        let account = try serviceAccount.map { try JSONValue(json: $0.utf8) }
        let project = try? open().projectID
        return [
            "project_id": project ?? projectID, "key_id": account?["private_key_id"]?.stringValue,
            "audience": account?["audience"]?.stringValue,
        ].compactMapValues(\.self)
    }

    package func makeProvider(for platform: Platform, with dependencies: ProviderDependencies) throws
        -> any DrainableProvider
    {
        try FCMProvider(platform, self, with: dependencies)
    }

    func open() throws(InvalidInput) -> FCMCredentials {
        do throws(FCMCredentialsError) {
            guard let serviceAccount else { return try FCMCredentials(machineFor: projectID ?? "") }
            return try FCMCredentials(serviceAccount: Array(serviceAccount.utf8), project: projectID)
        } catch {
            let key = error.code == .key ? serviceAccount.map { foundKey(in: $0) } : nil
            throw InvalidInput(
                field: serviceAccount == nil ? "project_id" : "service_account",
                "cannot be used: \(error.reason)\(key ?? "")")
        }
    }

    func address() throws(InvalidInput) -> FCMEndpoint {
        var address = FCMEndpoint.production
        if let endpoint {
            let origin = try Origin(endpoint, field: "endpoint")
            address = FCMEndpoint(host: origin.host, port: origin.port)
        }
        address.trustRoots = trustRootsPEM
        return address
    }
}

extension APNsBroadcastChannels {
    /// Topics come to be when a device follows them: nothing is asked of FCM.
    func checkTopic(_ text: String) throws(InvalidInput) {
        do { _ = try FCMAudience(text) } catch { throw InvalidInput(field: "registration_token", "\(error)") }
    }
}
