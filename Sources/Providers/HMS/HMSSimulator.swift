import CryptoExtras

/// Huawei's side: a token endpoint, and answers whose meaning is in a code beside the status.
package final class HMSService: SimulatedService {
    package static let habits = HTTPHabits(speaksHTTP2: true)

    let configuration: HMSConfiguration
    /// The account that signs for `v3`: `email` is the sub-account that `iss` names.
    package let account: ServiceAccount
    /// The access tokens that were issued.
    package let accessTokens = AccessTokens(prefix: "DAEBA/")

    package init(_ configuration: HMSConfiguration) throws {
        self.configuration = configuration
        self.account = try configuration.account ?? ServiceAccount(projectID: configuration.projectID)
    }

    /// A code, a reason for one token, or an HTTP status.
    package func answer(for reason: String) -> ServiceAnswer? {
        if let code = HMSCode(rawValue: reason) { return code == .success ? body(code) : body(code, reason: reason) }
        if Self.tokenWords.contains(reason) { return body(.allTokensInvalid, reason: reason) }
        switch reason {
        case "NotFound": return .html(404, "404 Not Found", reason: reason)
        case "BadGateway": return .html(502, "502 Bad Gateway", reason: reason)
        case "FlowControl": return .text(503, "flow control", reason: reason)
        default: return nil
        }
    }

    /// Why one of several tokens is not served: it is listed as illegal, the others are notified.
    private static let tokenWords: Set = ["illegal", "tokenFormatError", "noPushTypeRight", "noRight"]

    package func reply(to request: ServiceRequest, context: inout ServiceContext) -> ServiceReply {
        if request.path == "/oauth2/v3/token" { return .aside(grant(request, at: context.now)) }
        guard request.method == "POST", let version = version(of: request.path) else {
            return ServiceReply(answer(for: "NotFound") ?? ServiceAnswer(404))
        }
        if let code = refusal(of: request, version, context) { return refuse(code) }
        guard let message = HMSMessage(request.body, isNewest: version == "v3") else { return refuse(.body) }
        if let code = message.complaint(pushType: request.field("push-type"), bytes: request.body.count) {
            return refuse(code)
        }
        return send(message, request, &context)
    }

    private func version(of path: String) -> String? {
        let id = configuration.credentials.clientID
        switch path {
        case "/v1/\(id)/messages:send": return "v1"
        case "/v2/\(configuration.projectID)/messages:send": return "v2"
        case "/v3/\(configuration.projectID)/messages:send": return "v3"
        default: return nil
        }
    }

    // MARK: - Sending

    private func send(_ message: HMSMessage, _ request: ServiceRequest, _ context: inout ServiceContext) -> ServiceReply
    {
        let targets = message.tokens.isEmpty ? [message.audience ?? ""] : message.tokens
        let payload = context.keepsPayloads ? String(decoding: request.body, as: UTF8.self) : ""
        var deliveries = targets.map { ServiceDelivery(token: $0, payload: payload) }
        for index in targets.indices {
            guard let scripted = context.scripted(for: targets[index]) else { continue }
            if let word = scripted.reason, Self.tokenWords.contains(word) {
                deliveries[index].reason = word
            } else {
                var reply = ServiceReply(body(.success), deliveries: deliveries)
                reply.replace(by: scripted.answer(by: self))
                return reply
            }
        }
        let illegal = deliveries.filter { $0.reason != nil }.map(\.token)
        if message.isValidateOnly { return .aside(body(.success)) }
        if illegal.isEmpty { return ServiceReply(body(.success), deliveries: deliveries) }
        let code = illegal.count == deliveries.count ? HMSCode.allTokensInvalid : .partial
        return ServiceReply(body(code, illegal: illegal, of: deliveries.count), deliveries: deliveries)
    }

    private func refuse(_ code: HMSCode) -> ServiceReply { ServiceReply(body(code, reason: code.rawValue)) }

    /// In a partial success `msg` is a string that holds JSON.
    private func body(_ code: HMSCode, reason: String? = nil, illegal: [String] = [], of count: Int = 0)
        -> ServiceAnswer
    {
        let list = illegal.map(\.quoted).joined(separator: ",")
        let message =
            code == .partial
            ? #"{"success":\#(count - illegal.count),"failure":\#(illegal.count),"illegal_tokens":[\#(list)]}"#
            : code.message
        return .json(
            code.status, #"{"code":"\#(code.rawValue)","msg":\#(message.quoted),"requestId":"174000000000000000000"}"#,
            reason: reason)
    }

    // MARK: - Who sends

    private func refusal(of request: ServiceRequest, _ version: String, _ context: ServiceContext) -> HMSCode? {
        guard let token = request.bearer else { return .authentication }
        if version == "v3" { return complaint(aboutJWT: token, at: context.seconds) }
        switch accessTokens.find(token, at: context.now) {
        case .good: return nil
        case .expired: return .expired
        case .unknown: return .authentication
        }
    }

    /// Source: developer.huawei.com, "Service account authentication": a JWT with PS256, an hour long at most.
    private func complaint(aboutJWT jwt: String, at now: Int64) -> HMSCode? {
        let parts = jwt.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]).flatMap(JSON.init),
            let claims = Base64URL.decode(parts[1]).flatMap(JSON.init), let signature = Base64URL.decode(parts[2]),
            header["alg"]?.string == "PS256", header["kid"]?.string == account.keyID,
            claims["iss"]?.string == account.email,
            claims["aud"]?.string == "https://oauth-login.cloud.huawei.com/oauth2/v3/token",
            let issued = claims["iat"]?.integer, let expires = claims["exp"]?.integer,
            issued <= now + AssertionCheck.skewMaxSeconds, expires - issued <= 3600,
            account.key.publicKey.isValidSignature(
                .init(rawRepresentation: signature), for: Array("\(parts[0]).\(parts[1])".utf8), padding: .PSS)
        else { return .authentication }
        return expires > now ? nil : .jwtExpired
    }

    /// Huawei writes slashes with a backslash before them.
    private func grant(_ request: ServiceRequest, at now: Duration) -> ServiceAnswer {
        if let error = configuration.credentials.complaint(about: request) {
            return .json(400, #"{"error":1101,"sub_error":20001,"error_description":"\#(error)"}"#, reason: error)
        }
        let life = configuration.accessTokenLife
        let token = accessTokens.issue(to: configuration.credentials.clientID, for: life, at: now)
        let escaped = token.split(separator: "/", omittingEmptySubsequences: false).joined(separator: #"\/"#)
        return .json(
            200, #"{"access_token":"\#(escaped)","expires_in":\#(life.components.seconds),"token_type":"Bearer"}"#)
    }
}

/// Huawei Push Kit on this machine: the token endpoint at `/oauth2/v3/token`, messages at `/v1`, `/v2` and `/v3`.
package typealias HMSSimulator = ServiceSimulator<HMSService>

extension ServiceSimulator where S == HMSService {
    package var tokenURL: String { "\(url)/oauth2/v3/token" }

    /// The address for messages: `v1` with the id of the app, `v2` and `v3` with that of the project.
    package func sendURL(_ version: String = "v1") -> String {
        let configuration = service.configuration
        let id = version == "v1" ? configuration.credentials.clientID : configuration.projectID
        return "\(url)/\(version)/\(id)/messages:send"
    }
}

/// How a simulated Push Kit listens and which senders it accepts.
package struct HMSConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// The id of the app and its secret, for `v1` and `v2`.
    package var credentials = ClientCredentials(clientID: "100000001", clientSecret: "hms+secret/0123=")
    package var projectID = "736430079244623063"
    /// The key that signs for `v3`; nil makes a new one.
    package var account: ServiceAccount?
    package var accessTokenLife = Duration.seconds(3600)

    package init() {}
}

/// A message of Push Kit, validated by its rules. Source: developer.huawei.com, "Sending messages" for `v1` and `v3`.
struct HMSMessage {
    static let tokensMax = 1000
    static let bytesMax = 4096

    private let json: JSON
    private let isNewest: Bool

    /// - Parameter isNewest: whether it was posted to `v3`.
    init?(_ bytes: [UInt8], isNewest: Bool) {
        guard let json = JSON(bytes), json.members != nil else { return nil }
        self.json = json
        self.isNewest = isNewest
    }

    var tokens: [String] { (isNewest ? json["target"]?["token"] : json["message"]?["token"])?.strings ?? [] }

    /// The topic or the condition of a message without tokens.
    var audience: String? {
        json["message"]?["topic"]?.string.map { "/topics/\($0)" } ?? json["message"]?["condition"]?.string
    }

    var isValidateOnly: Bool {
        (isNewest ? json["pushOptions"]?["validateOnly"] : json["validate_only"])?.bool ?? false
    }

    func complaint(pushType: String?, bytes: Int) -> HMSCode? {
        let problem = isNewest ? complaintOfNewest(pushType) : complaintOfOlder()
        if let problem { return problem }
        if tokens.isEmpty && audience == nil || tokens.count > Self.tokensMax { return .tokenLimit }
        // Quotes and commas belong to the tokens.
        let tokenBytes = tokens.reduce(0) { $0 + $1.utf8.count + 3 }
        return bytes - tokenBytes > Self.bytesMax ? .tooLarge : nil
    }

    private func complaintOfOlder() -> HMSCode? {
        guard let message = json["message"], message.members != nil else { return .structure }
        if let (_, _) = Self.shape.complaint(about: message) { return .parameters }
        if let key = message["android"]?["collapse_key"]?.integer, !(-1...100).contains(key) { return .collapseKey }
        if let ttl = message["android"]?["ttl"]?.string, JSONShape.seconds(ttl) ?? 0 <= 0 { return .ttl }
        return complaint(aboutShown: message)
    }

    /// A notification has a title and a text, for Android by itself or for all, and says what a tap does.
    private func complaint(aboutShown message: JSON) -> HMSCode? {
        let (shown, own) = (message["notification"], message["android"]?["notification"])
        guard shown != nil || own != nil else { return nil }
        for name in ["title", "body"] where own?[name]?.string == nil && shown?[name]?.string == nil {
            return .parameters
        }
        for image in [shown?["image"], own?["image"]] {
            if let image, image.string?.hasPrefix("https://") != true { return .parameters }
        }
        let action = own?["click_action"]
        switch action?["type"]?.integer {
        case 1: return action?["intent"]?.string == nil && action?["action"]?.string == nil ? .parameters : nil
        case 2: return action?["url"]?.string?.hasPrefix("https://") == true ? nil : .parameters
        case 3: return nil
        default: return .parameters
        }
    }

    /// Source: the header `push-type`: 0 alert, 1 form, 2 text to speech, 6 background, 7 live view, 10 VoIP, 11 MDM.
    private func complaintOfNewest(_ pushType: String?) -> HMSCode? {
        guard let pushType, ["0", "1", "2", "6", "7", "10", "11"].contains(pushType) else { return .parameters }
        guard let payload = json["payload"], payload.members?.isEmpty == false else { return .structure }
        guard pushType == "0" else { return nil }
        let notification = payload["notification"]
        guard let notification, Self.alert.complaint(about: notification) == nil else { return .parameters }
        let isWhole = ["category", "title", "body"].allSatisfy { notification[$0]?.string != nil }
        let image = notification["image"]
        guard isWhole, notification["clickAction"]?["actionType"] != nil,
            image == nil || image?.string?.hasPrefix("https://") == true
        else { return .parameters }
        let badge = notification["badge"]
        let isShowable = 1...99 ~= badge?["addNum"]?.integer ?? 1 && 0...99 ~= badge?["setNum"]?.integer ?? 0
        return isShowable ? nil : .structure
    }

    /// Source: developer.huawei.com, "Scenario-based messages", `Notification`.
    private static let alert = JSONShape.object([
        "category": .string, "title": .string, "body": .string, "image": .string, "style": .integer,
        "inboxContent": .strings, "notifyId": .integer, "appMessageId": .string, "profileId": .string,
        "badge": .object(["addNum": .integer, "setNum": .integer]), "sound": .string, "soundDuration": .integer,
        "foregroundShow": .bool,
        "clickAction": .object([
            "actionType": .integer, "action": .string, "uri": .string, "data": .anything,
        ]),
    ])

    /// Source: developer.huawei.com, "Sending messages", Android notifications.
    private static let androidNotification = JSONShape.object([
        "title": .string, "body": .string, "icon": .string, "color": .string, "sound": .string, "default_sound": .bool,
        "tag": .string, "channel_id": .string, "image": .string, "notify_id": .integer, "notify_summary": .string,
        "importance": .string, "style": .integer, "big_title": .string, "big_body": .string, "auto_cancel": .bool,
        "foreground_show": .bool, "when": .string, "ticker": .string, "visibility": .string, "group": .string,
        "click_action": .object([
            "type": .integer, "intent": .string, "url": .string, "action": .string, "rich_resource": .string,
        ]),
        "badge": .object(["add_num": .integer, "set_num": .integer, "class": .string]),
    ])

    private static let shape = JSONShape.object([
        "data": .string, "token": .strings, "topic": .string, "condition": .string,
        "notification": .object(["title": .string, "body": .string, "image": .string]),
        "apns": .anything, "webpush": .anything,
        "android": .object([
            "collapse_key": .integer, "urgency": .oneOf(["HIGH", "NORMAL"]), "category": .string, "ttl": .duration,
            "bi_tag": .string, "receipt_id": .string, "fast_app_target": .integer, "data": .string,
            "notification": androidNotification, "target_user_type": .integer,
        ]),
    ])
}

/// The result codes of Push Kit, with the HTTP status each comes with here. Scripts use the codes as reasons.
///
/// Source: developer.huawei.com, "Push Kit REST API, response codes". Huawei gives several of them with 200 or with 4xx; a
/// script can state the other `status`.
enum HMSCode: String, CaseIterable {
    case success = "80000000"
    case partial = "80100000"
    case parameters = "80100001"
    case tokenCount = "80100002"
    case structure = "80100003"
    case ttl = "80100004"
    case collapseKey = "80100013"
    case sensitive = "80100016"
    case topicRate = "80100017"
    case body = "80100018"
    case authentication = "80200001"
    case expired = "80200003"
    case jwtExpired = "80200005"
    case noPermission = "80300002"
    case allTokensInvalid = "80300007"
    case tooLarge = "80300008"
    case tokenLimit = "80300010"
    case noHighPriority = "80300011"
    case jwtLife = "80300036"
    case penalty = "80300037"
    case tokenService = "80600003"
    case internalError = "81000001"

    var status: Int {
        switch self {
        case .success, .partial, .topicRate, .noPermission, .allTokensInvalid, .tooLarge, .tokenLimit, .noHighPriority,
            .jwtLife, .penalty, .tokenService:
            200
        case .parameters, .tokenCount, .structure, .ttl, .collapseKey, .sensitive, .body: 400
        case .authentication, .expired, .jwtExpired: 401
        case .internalError: 500
        }
    }

    var message: String {
        switch self {
        case .success: "Success"
        case .partial: "Partial success"
        case .parameters: "Some request parameters are incorrect"
        case .tokenCount: "The number of tokens must be 1 when a message is sent in synchronous mode"
        case .structure: "Incorrect message structure"
        case .ttl: "The message expiration time is earlier than the current time"
        case .collapseKey: "The collapse_key message field is invalid"
        case .sensitive: "The message contains sensitive information"
        case .topicRate: "A maximum of 100 topic-based messages can be sent at the same time"
        case .body: "Invalid message body"
        case .authentication: "OAuth authentication error"
        case .expired: "OAuth token expired"
        case .jwtExpired: "Jwt token expired"
        case .noPermission: "The current app does not have the permission to send messages"
        case .allTokensInvalid: "All tokens are invalid"
        case .tooLarge: "The message body size exceeds the default value"
        case .tokenLimit: "The number of tokens in the message body exceeds the default value"
        case .noHighPriority: "You are not authorized to send high-priority notification messages"
        case .jwtLife: "JWT expire period over threshold"
        case .penalty: "Disable send huawei msg because of penalty"
        case .tokenService: "Failed to request the OAuth service"
        case .internalError: "System inner error"
        }
    }
}
