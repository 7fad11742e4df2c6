import CryptoExtras
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
    /// The ways to a token without a key.
    package let identities: SimulatedIdentities
    private let projectQuota: Quota?
    private let deviceQuotas: [Quota]
    private let messages = Atomic<UInt64>(0)
    /// The last valid message.
    private let template = Mutex<FCMTemplate?>(nil)

    package init(_ configuration: FCMConfiguration) throws {
        self.configuration = configuration
        self.account = try configuration.account ?? ServiceAccount(projectID: configuration.projectID)
        self.identities = SimulatedIdentities(account: self.account.email, accessTokens)
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
        if let answer = identities.answer(to: request, at: context.now) { return .aside(answer) }
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

/// FCM on this machine: the token endpoint at `/token`, the ways to a token without a key (``SimulatedIdentities``), HTTP v1 at `/v1/projects/{project}/messages:send`.
package typealias FCMSimulator = ServiceSimulator<FCMService>

extension ServiceSimulator where S == FCMService {
    /// The file that the Firebase console would issue: a service account whose key is known here.
    package var serviceAccountJSON: String { service.account.json(tokenURL: "\(url)/token") }

    package var projectID: String { service.configuration.projectID }

    /// The file that `gcloud iam workload-identity-pools create-cred-config` would write.
    ///
    /// - Parameter source: `credential_source`, as JSON.
    package func externalAccountJSON(source: String, impersonates: Bool = true) -> String {
        let email = service.account.email
        let impersonation =
            impersonates
            ? #""service_account_impersonation_url":"\#(url)/v1/projects/-/serviceAccounts/\#(email):generateAccessToken","#
            : ""
        return """
            {"type":"external_account","audience":\(SimulatedIdentities.audience.quoted),\
            "subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":"\(url)/v1/token",\
            \(impersonation)"credential_source":\(source),"universe_domain":"googleapis.com"}
            """
    }

    /// The address that a sender posts messages to.
    package var sendURL: String { "\(url)/v1/projects/\(projectID)/messages:send" }
}

/// How a simulated FCM listens, which senders it accepts and how much it takes.
package struct FCMConfiguration: ServiceConfiguration {
    package var listening = Listening()
    package var projectID = "belfry-simulated"
    /// The account whose assertions are accepted; nil makes a new one.
    package var account: ServiceAccount?
    /// Accepts any bearer token. For benchmarks.
    package var believesAnyToken = false
    /// How long an access token lasts.
    package var accessTokenLife = Duration.seconds(3599)
    /// Messages of the project in a minute; nil for no limit. Source: firebase.google.com, "Throttling and scaling".
    package var messagesPerMinute: Int? = 600_000
    /// Messages to one device in a minute and in an hour; nil for no limit. Source: the same.
    package var deviceMessagesPerMinute: Int? = 240
    package var deviceMessagesPerHour: Int? = 5_000

    package init() {}
}

/// FCM's answers, in Google's format.
///
/// Source: firebase.google.com, "FCM error codes"; google.rpc.Status.
enum FCMAnswers {
    /// One of FCM's error codes, or of this simulator's names for answers without a code.
    static func answer(for reason: String) -> ServiceAnswer? {
        switch reason {
        case "UNREGISTERED":
            error(404, "NOT_FOUND", "Requested entity was not found.", [fcm(reason)], reason)
        case "SENDER_ID_MISMATCH":
            error(403, "PERMISSION_DENIED", "SenderId mismatch", [fcm(reason)], reason)
        case "INVALID_ARGUMENT": badToken
        case "INVALID_ARGUMENT_ELSEWHERE":
            badArgument("message.android.ttl", "Invalid duration")
        case "QUOTA_EXCEEDED": quotaExceeded("project")
        case "UNAVAILABLE":
            error(503, "UNAVAILABLE", "The service is currently unavailable.", [fcm(reason)], reason)
        case "INTERNAL":
            error(500, "INTERNAL", "Internal error encountered.", [fcm(reason)], reason)
        case "UNSPECIFIED_ERROR":
            error(500, "UNKNOWN", "Unknown error.", [fcm(reason)], reason)
        case "THIRD_PARTY_AUTH_ERROR":
            error(
                401, "UNAUTHENTICATED", "Auth error from APNS or Web Push Service", [fcm(reason)], reason)
        case "UNAUTHENTICATED": unauthenticated
        case "PERMISSION_DENIED": permissionDenied("belfry-simulated")
        case "NOT_FOUND": notFound
        case "BAD_GATEWAY":
            .html(
                502,
                "<html><head><title>502 Server Error</title></head><body><h1>Error: Server Error</h1>"
                    + "<h2>The server encountered a temporary error and could not complete your request.<p>"
                    + "Please try again in 30 seconds.</h2></body></html>", reason: reason)
        default: nil
        }
    }

    static let badToken = error(
        400, "INVALID_ARGUMENT", "The registration token is not a valid FCM registration token",
        [
            badRequest("message.token", "Invalid registration token"), fcm("INVALID_ARGUMENT"),
        ], "INVALID_ARGUMENT")

    /// A message of the right shape with an invalid value.
    static func badArgument(_ field: String, _ description: String) -> ServiceAnswer {
        error(
            400, "INVALID_ARGUMENT", description, [badRequest(field, description), fcm("INVALID_ARGUMENT")],
            "INVALID_ARGUMENT")
    }

    /// JSON of the wrong shape: the answer comes from a layer before FCM and has no code of FCM.
    static func badShape(_ field: String, _ description: String) -> ServiceAnswer {
        error(400, "INVALID_ARGUMENT", description, [badRequest(field, description)], "INVALID_ARGUMENT")
    }

    /// A message over its size.
    static let tooBig = error(
        400, "INVALID_ARGUMENT", "Request contains an invalid argument.", [], "INVALID_ARGUMENT")

    static let unauthenticated = error(
        401, "UNAUTHENTICATED",
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
            + "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
        [], "UNAUTHENTICATED")

    static let missingCredentials = error(
        401, "UNAUTHENTICATED",
        "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other "
            + "valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
        [], "UNAUTHENTICATED")

    static func permissionDenied(_ project: String) -> ServiceAnswer {
        error(
            403, "PERMISSION_DENIED",
            "Permission 'cloudmessaging.messages.create' denied on resource "
                + "'//cloudresourcemanager.googleapis.com/projects/\(project)' (or it may not exist).",
            [
                #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"IAM_PERMISSION_DENIED","#
                    + #""domain":"cloudresourcemanager.googleapis.com"}"#
            ], "PERMISSION_DENIED")
    }

    static let notFound = ServiceAnswer.html(
        404, "<!DOCTYPE html><html lang=en><title>Error 404 (Not Found)!!1</title><p><b>404.</b> That’s an error.",
        reason: "NOT_FOUND")

    static func quotaExceeded(_ scope: String, retryAfter: Int64? = nil) -> ServiceAnswer {
        let quota =
            #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":\#(scope.quoted),"#
            + #""description":"Message rate exceeded"}]}"#
        var answer = error(
            429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Messages sent'.",
            [fcm("QUOTA_EXCEEDED"), quota], "QUOTA_EXCEEDED")
        if let retryAfter { answer.fields.append(("retry-after", "\(retryAfter)")) }
        return answer
    }

    private static func error(
        _ code: Int, _ status: String, _ message: String, _ details: [String], _ reason: String
    ) -> ServiceAnswer {
        let list = details.isEmpty ? "" : #","details":[\#(details.joined(separator: ","))]"#
        return .json(
            code, #"{"error":{"code":\#(code),"message":\#(message.quoted),"status":"\#(status)"\#(list)}}"#,
            reason: reason)
    }

    private static func fcm(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    private static func badRequest(_ field: String, _ description: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":"#
            + #"[{"field":\#(field.quoted),"description":\#(description.quoted)}]}"#
    }
}

/// Both halves of a service account, of Google or Huawei: the key that signs assertions and the key that verifies them.
package struct ServiceAccount: Sendable {
    package let email: String
    package let keyID: String
    package let projectID: String
    let key: _RSA.Signing.PrivateKey

    /// Made once for each process, since RSA keys are expensive.
    private static let sharedKey = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    /// - Parameter ownKey: whether its key differs from those of the process's other accounts.
    package init(
        projectID: String, keyID: String = "0123456789abcdef0123456789abcdef01234567", ownKey: Bool = false
    ) throws {
        self.projectID = projectID
        self.keyID = keyID
        self.email = "sender@\(projectID).iam.gserviceaccount.com"
        self.key = try ownKey ? _RSA.Signing.PrivateKey(keySize: .bits2048) : Self.sharedKey.get()
    }

    /// The account in the file of an earlier start, of either form; nil when it is none of this project's.
    package init?(projectID: String, json: String) {
        guard let read = JSON(Array(json.utf8)), read["project_id"]?.string == projectID,
            let keyID = (read["private_key_id"] ?? read["key_id"])?.string,
            let email = (read["client_email"] ?? read["sub_account"])?.string,
            let pem = read["private_key"]?.string, let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem)
        else { return nil }
        self.projectID = projectID
        self.keyID = keyID
        self.email = email
        self.key = key
    }

    package var privateKeyPEM: String { key.pkcs8PEMRepresentation }

    /// The file of the Firebase console.
    package func json(tokenURL: String) -> String {
        """
        {"type":"service_account","project_id":\(projectID.quoted),"private_key_id":\(keyID.quoted),\
        "private_key":\((privateKeyPEM + "\n").quoted),"client_email":\(email.quoted),\
        "client_id":"100000000000000000001","auth_uri":"https://accounts.google.com/o/oauth2/auth",\
        "token_uri":\(tokenURL.quoted),"universe_domain":"googleapis.com"}
        """
    }

    /// The file of Huawei's API console.
    package var huaweiJSON: String {
        """
        {"project_id":\(projectID.quoted),"key_id":\(keyID.quoted),\
        "private_key":\((privateKeyPEM + "\n").quoted),"sub_account":\(email.quoted)}
        """
    }
}

/// The check of a JWT bearer assertion. Source: RFC 7523 §3; Google, "Using OAuth 2.0 for server to server applications".
struct AssertionCheck {
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    static let scopes: Set<String> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    static let lifeMaxSeconds: Int64 = 3600
    /// The largest difference of the sender's clock.
    static let skewMaxSeconds: Int64 = 300

    let account: ServiceAccount
    /// Another accepted `aud`, besides Google's own token endpoint.
    let audience: String

    /// The fault of the assertion, as Google's `error` and `error_description`; nil when there is none.
    func complaint(about assertion: String, at now: Int64) -> (error: String, description: String)? {
        let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]).flatMap(JSON.init),
            let claims = Base64URL.decode(parts[1]).flatMap(JSON.init), let signature = Base64URL.decode(parts[2])
        else { return ("invalid_grant", "Bad Request") }
        guard header["alg"]?.string == "RS256" else { return ("invalid_grant", "Invalid JWT Signature.") }
        guard claims["iss"]?.string == account.email else {
            return ("invalid_grant", "Invalid grant: account not found")
        }
        guard (header["kid"]?.string ?? account.keyID) == account.keyID,
            isSigned(Array("\(parts[0]).\(parts[1])".utf8), signature)
        else { return ("invalid_grant", "Invalid JWT Signature.") }
        return complaint(about: claims, at: now)
    }

    private func complaint(about claims: JSON, at now: Int64) -> (error: String, description: String)? {
        guard let scope = claims["scope"]?.string, !scope.isEmpty else {
            return ("invalid_scope", "Empty or missing scope not allowed.")
        }
        guard scope.split(separator: " ").contains(where: { Self.scopes.contains(String($0)) }) else {
            return ("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        }
        guard let aud = claims["aud"]?.string, aud == audience || aud == "https://oauth2.googleapis.com/token" else {
            return ("invalid_grant", "Invalid JWT: Failed audience check. The right audience is \(audience)")
        }
        guard let issued = claims["iat"]?.integer, let expires = claims["exp"]?.integer,
            issued <= now + Self.skewMaxSeconds, expires > now - Self.skewMaxSeconds,
            expires > issued, expires - issued <= Self.lifeMaxSeconds
        else {
            return (
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    + "Check your iat and exp values in the JWT claim."
            )
        }
        return nil
    }

    private func isSigned(_ text: [UInt8], _ signature: [UInt8]) -> Bool {
        account.key.publicKey.isValidSignature(
            .init(rawRepresentation: signature), for: text, padding: .insecurePKCS1v1_5)
    }
}
