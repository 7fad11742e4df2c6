import Synchronization

/// Google's side: an access token for a signed assertion, and HTTP v1.
package final class FCMService: SimulatedService {
    package static let habits = {
        var habits = HTTPHabits()
        habits.speaksHTTP2 = true
        // The value that other clients of FCM report of its servers.
        habits.streamsAtOnceMax = 100
        habits.pingsWithoutRequestMax = 3
        habits.idleMax = .seconds(240)
        habits.ageMax = .seconds(3600)
        habits.endsInEmptyFrame = true
        return habits
    }()

    let configuration: FCMConfiguration
    package let account: ServiceAccount
    /// The access tokens that were issued.
    package let accessTokens = AccessTokens(prefix: "ya29.c.")
    private let projectQuota: Quota?
    private let deviceQuotas: [Quota]
    private let messages = Atomic<UInt64>(0)
    /// The last valid message.
    private let template = Mutex<FCMTemplate?>(nil)

    package init(_ configuration: FCMConfiguration) throws {
        self.configuration = configuration
        self.account = try configuration.account ?? ServiceAccount(projectID: configuration.projectID)
        self.projectQuota = configuration.messagesPerMinute.map { Quota($0, per: .seconds(60)) }
        self.deviceQuotas = [
            configuration.deviceMessagesPerMinute.map { Quota($0, per: .seconds(60)) },
            configuration.deviceMessagesPerHour.map { Quota($0, per: .seconds(3600)) },
        ].compactMap { $0 }
    }

    package func answer(for reason: String) -> ServiceAnswer? { FCMAnswers.answer(for: reason) }

    package func reply(to request: ServiceRequest, context: inout ServiceContext) -> ServiceReply {
        guard request.authority != nil else { return ServiceReply(.html(400, "Bad Request", reason: "BAD_REQUEST")) }
        if request.path == "/token" { return .aside(grant(request, context)) }
        guard request.method == "POST", let project = Self.project(in: request.path) else {
            return ServiceReply(FCMAnswers.notFound)
        }
        if let refusal = refusal(of: request, project: project, at: context.now) { return ServiceReply(refusal) }
        return send(request, &context)
    }

    // MARK: - Sending

    private func send(_ request: ServiceRequest, _ context: inout ServiceContext) -> ServiceReply {
        if let token = template.withLock({ $0 })?.token(of: request.body) {
            return take(token, isForDevice: true, &context) ?? deliver(request, to: token, context)
        }
        guard let json = JSON(request.body), json.members != nil else {
            return ServiceReply(FCMAnswers.badShape("", "Invalid JSON payload received."))
        }
        if let (field, message) = FCMShape.request.complaint(about: json) {
            return ServiceReply(FCMAnswers.badShape(field, message))
        }
        let message = FCMMessage(json)
        if let complaint = message.complaint() { return ServiceReply(complaint) }
        let token = message.target
        if message.isPlain { template.withLock { $0 = FCMTemplate(request.body, token: token) } }
        if let refusal = take(token, isForDevice: message.isForDevice, &context) { return refusal }
        guard !message.isValidateOnly else { return .aside(accepted("fake_message_id")) }
        return deliver(request, to: token, context)
    }

    /// The answer of the script or a quota to a valid message; nil when there is none.
    private func take(_ token: String, isForDevice: Bool, _ context: inout ServiceContext) -> ServiceReply? {
        if let scripted = context.scripted(for: token) {
            return ServiceReply(scripted.answer(by: self), token: token)
        }
        if let wait = projectQuota?.take("", at: context.now) {
            return ServiceReply(FCMAnswers.quotaExceeded("project", retryAfter: wait.secondsUp), token: token)
        }
        guard isForDevice else { return nil }
        for quota in deviceQuotas {
            guard let wait = quota.take(token, at: context.now) else { continue }
            return ServiceReply(FCMAnswers.quotaExceeded("device", retryAfter: wait.secondsUp), token: token)
        }
        return nil
    }

    private func deliver(_ request: ServiceRequest, to token: String, _ context: ServiceContext) -> ServiceReply {
        let payload = context.keepsPayloads ? String(decoding: request.body, as: UTF8.self) : ""
        return ServiceReply(accepted(nextID(at: context.now)), token: token, payload: payload)
    }

    private func accepted(_ id: String) -> ServiceAnswer {
        .json(200, "{\n  \"name\": \"projects/\(configuration.projectID)/messages/\(id)\"\n}\n")
    }

    private func nextID(at now: Duration) -> String {
        let number = messages.add(1, ordering: .relaxed).newValue
        return "0:\(now.milliseconds)\(1000 + number % 9000)%\(String(StableHash.mix(number), radix: 16))"
    }

    private func refusal(of request: ServiceRequest, project: String, at now: Duration) -> ServiceAnswer? {
        guard let token = request.bearer else { return FCMAnswers.missingCredentials }
        let isKnown =
            configuration.believesAnyToken || accessTokens.find(token, at: now) == .good(subject: account.email)
        guard isKnown else { return FCMAnswers.unauthenticated }
        return project == configuration.projectID ? nil : FCMAnswers.permissionDenied(project)
    }

    /// The project of `/v1/projects/{project}/messages:send`.
    private static func project(in path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[1] == "v1", parts[2] == "projects", parts[4] == "messages:send" else {
            return nil
        }
        return String(parts[3])
    }

    // MARK: - Access tokens

    private func grant(_ request: ServiceRequest, _ context: ServiceContext) -> ServiceAnswer {
        guard request.method == "POST", request.isForm else {
            return refuse("invalid_request", "Missing required parameter: grant_type")
        }
        let form = request.form
        guard form["grant_type"] == AssertionCheck.grantType else {
            return refuse("unsupported_grant_type", "Invalid grant_type: \(form["grant_type"] ?? "")")
        }
        let check = AssertionCheck(account: account, audience: "https://\(request.authority ?? "")/token")
        if let (error, description) = check.complaint(about: form["assertion"] ?? "", at: context.seconds) {
            return refuse(error, description)
        }
        let life = configuration.accessTokenLife
        let token = accessTokens.issue(to: account.email, for: life, at: context.now)
        return .json(
            200, #"{"access_token":"\#(token)","expires_in":\#(life.components.seconds),"token_type":"Bearer"}"#)
    }

    private func refuse(_ error: String, _ description: String) -> ServiceAnswer {
        .json(400, #"{"error":"\#(error)","error_description":\#(description.quoted)}"#, reason: error)
    }
}
