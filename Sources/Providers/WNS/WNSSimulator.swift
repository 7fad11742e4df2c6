/// Microsoft's side: two token endpoints and the channels.
package final class WNSService: SimulatedService {
    let configuration: WNSConfiguration
    package let accessTokens = AccessTokens(prefix: "EgAc")

    package init(_ configuration: WNSConfiguration) {
        self.configuration = configuration
    }

    package func answer(for reason: String) -> ServiceAnswer? { WNSProblem(rawValue: reason).map { refusal($0) } }

    package func reply(to request: ServiceRequest, context: inout ServiceContext) -> ServiceReply {
        switch request.path {
        case "/accesstoken.srf": return .aside(grantToStore(request, at: context.now))
        case "/\(configuration.tenantID)/oauth2/v2.0/token": return .aside(grantToEntra(request, at: context.now))
        default: return notify(request, &context)
        }
    }

    // MARK: - Channels

    private func notify(_ request: ServiceRequest, _ context: inout ServiceContext) -> ServiceReply {
        guard let token = request.query["token"], !token.isEmpty else { return ServiceReply(refusal(.notFound)) }
        guard request.method == "POST" else { return ServiceReply(refusal(.methodNotAllowed), token: token) }
        guard isKnown(request.bearer, at: context.now) else {
            return ServiceReply(refusal(.unauthorized), token: token)
        }
        let notification = WNSNotification(request: request)
        if let (problem, text) = notification.complaint(bodyBytesMax: configuration.bodyBytesMax) {
            return ServiceReply(refusal(problem, text), token: token)
        }
        if let scripted = context.scripted(for: token) { return ServiceReply(scripted.answer(by: self), token: token) }
        guard notification.isReadable else { return ServiceReply(refusal(.invalidXML), token: token) }
        var fields = [("x-wns-status", "received"), ("x-wns-msg-id", "1A2B3C4D5E6F7081"), ("x-wns-debug-trace", "SIM")]
        if request.field("x-wns-requestforstatus") == "true" {
            fields.append(("x-wns-deviceconnectionstatus", "connected"))
        }
        let payload = context.keepsPayloads ? String(decoding: request.body, as: UTF8.self) : ""
        return ServiceReply(ServiceAnswer(200, fields: fields), token: token, payload: payload)
    }

    private func isKnown(_ token: String?, at now: Duration) -> Bool {
        guard let token else { return false }
        guard !configuration.believesAnyToken else { return true }
        guard case .good = accessTokens.find(token, at: now) else { return false }
        return true
    }

    private func refusal(_ problem: WNSProblem, _ text: String? = nil) -> ServiceAnswer {
        var fields = [("x-wns-status", problem.word), ("x-wns-debug-trace", "SIM")]
        if problem != .invalidXML { fields.append(("x-wns-error-description", text ?? problem.description)) }
        return ServiceAnswer(problem.status, reason: problem.rawValue, fields: fields)
    }

    // MARK: - Access tokens

    /// Source: Microsoft, "Windows Push Notification Services overview".
    private func grantToStore(_ request: ServiceRequest, at now: Duration) -> ServiceAnswer {
        var credentials = configuration.store
        credentials.scope = "notify.windows.com"
        if let error = credentials.complaint(about: request) { return ClientCredentials.refuse(error) }
        return grant(credentials, type: "bearer", at: now)
    }

    /// Source: Microsoft, "Push notifications in the Windows App SDK".
    private func grantToEntra(_ request: ServiceRequest, at now: Duration) -> ServiceAnswer {
        var credentials = configuration.entra
        credentials.scope = "https://wns.windows.com/.default"
        if let error = credentials.complaint(about: request) {
            return ClientCredentials.refuse(error, status: error == "invalid_client" ? 401 : 400)
        }
        return grant(credentials, type: "Bearer", at: now)
    }

    private func grant(_ credentials: ClientCredentials, type: String, at now: Duration) -> ServiceAnswer {
        let life = configuration.accessTokenLife
        let token = accessTokens.issue(to: credentials.clientID, for: life, at: now)
        return .json(
            200, #"{"token_type":"\#(type)","access_token":"\#(token)","expires_in":\#(life.components.seconds)}"#)
    }
}

/// WNS on this machine: the old token endpoint at `/accesstoken.srf`, the new one at `/{tenant}/oauth2/v2.0/token`, and
/// channels at `/w/?token=…`.
package typealias WNSSimulator = ServiceSimulator<WNSService>

extension ServiceSimulator where S == WNSService {
    /// The channel address of a device. The script and the ledger call it by its token.
    package func channel(_ token: String) -> String { "\(url)/w/?token=\(token)" }

    /// The token endpoint for a Package SID.
    package var storeTokenURL: String { "\(url)/accesstoken.srf" }

    /// The token endpoint for an app of Entra ID.
    package var entraTokenURL: String { "\(url)/\(service.configuration.tenantID)/oauth2/v2.0/token" }
}

/// How a simulated WNS listens and which senders it accepts.
package struct WNSConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// A Package SID and its secret, for the old endpoint.
    package var store = ClientCredentials(
        clientID: "ms-app://s-1-15-2-1000-2000-3000", clientSecret: "V/ex+2uNs3cr3t=")
    /// An app of Entra ID and its secret, for the new endpoint.
    package var entra = ClientCredentials(
        clientID: "6f9b2b4c-0000-4000-8000-000000000001", clientSecret: "Entra~S3cr3t.+/=")
    package var tenantID = "11111111-2222-4333-8444-555555555555"
    /// Takes any bearer token, for benchmarks with senders that ask for none.
    package var believesAnyToken = false
    package var accessTokenLife = Duration.seconds(86_400)
    package var bodyBytesMax = 5000

    package init() {}
}

/// A notification, validated by the rules for its headers.
///
/// Source: Microsoft, "Push notification service request and response headers".
struct WNSNotification {
    enum Kind: String {
        case toast = "wns/toast"
        case tile = "wns/tile"
        case badge = "wns/badge"
        case raw = "wns/raw"
    }

    let request: ServiceRequest

    /// The fault, and its description.
    func complaint(bodyBytesMax: Int) -> (problem: WNSProblem, description: String)? {
        if request.field("content-length") == nil || request.field("transfer-encoding") != nil {
            return (.lengthRequired, "Content-Length is missing")
        }
        guard let kind = request.field("x-wns-type").flatMap(Kind.init) else {
            return (.badRequest, "X-WNS-Type is missing or unknown")
        }
        let type = kind == .raw ? "application/octet-stream" : "text/xml"
        guard request.mediaType == type else { return (.badRequest, "Content-Type does not fit X-WNS-Type") }
        if let (field, words) = badField { return (.badRequest, "\(field): \(words)") }
        return request.body.count > bodyBytesMax ? (.tooLarge, "The payload is larger than \(bodyBytesMax)") : nil
    }

    private var badField: (field: String, words: String)? {
        if let policy = request.field("x-wns-cache-policy"), policy != "cache", policy != "no-cache" {
            return ("X-WNS-Cache-Policy", policy)
        }
        if let ttl = request.field("x-wns-ttl"), UInt64(ttl) == nil { return ("X-WNS-TTL", ttl) }
        if let tag = request.field("x-wns-tag"), !Self.isTag(tag) { return ("X-WNS-Tag", tag) }
        if let priority = request.field("x-wns-priority"), !["1", "2", "3", "4"].contains(priority) {
            return ("X-WNS-Priority", priority)
        }
        return nil
    }

    /// Whether a device could read it: the XML is well-formed and its root fits its kind.
    var isReadable: Bool {
        guard let kind = request.field("x-wns-type").flatMap(Kind.init), kind != .raw else { return true }
        guard let text = String(validating: request.body, as: UTF8.self), let root = XML(text) else { return false }
        switch kind {
        case .toast: return root.name == "toast" && Self.isToast(root)
        case .tile: return root.name == "tile" && root.child("visual")?.child("binding") != nil
        case .badge: return root.name == "badge" && root.attributes["value"] != nil
        case .raw: return true
        }
    }

    /// A device shows no toast of Windows 8 whose parts are not numbered, and plays no sound of the web. Source: Microsoft, "Toast schema".
    private static func isToast(_ toast: XML) -> Bool {
        guard let binding = toast.child("visual")?.child("binding"), binding.attributes["template"]?.isEmpty == false
        else {
            return false
        }
        if let sound = toast.child("audio")?.attributes["src"], !sound.hasPrefix("ms-") { return false }
        return binding.attributes["template"] == "ToastGeneric"
            || binding.children.allSatisfy { part in
                guard part.attributes["id"].flatMap({ Int($0) }) != nil else { return false }
                return part.name == "text" || part.name == "image" && part.attributes["src"]?.isEmpty == false
            }
    }

    private static func isTag(_ text: String) -> Bool {
        (1...16).contains(text.utf8.count)
            && text.utf8.allSatisfy { (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) }
    }
}

/// Why WNS refuses or drops a notification. Scripts use the same names.
///
/// Source: Microsoft, "Push notification service request and response headers".
enum WNSProblem: String, CaseIterable {
    case badRequest = "BadRequest"
    case unauthorized = "Unauthorized"
    case forbidden = "Forbidden"
    case notFound = "NotFound"
    case methodNotAllowed = "MethodNotAllowed"
    /// 406: too many notifications.
    case throttled = "Throttled"
    case gone = "Gone"
    /// 410 with a text that means the sender's domain and not the channel.
    case domainBlocked = "DomainBlocked"
    case lengthRequired = "LengthRequired"
    case unreachable = "Unreachable"
    case tooLarge = "TooLarge"
    case quotaExceeded = "QuotaExceeded"
    case internalError = "InternalServerError"
    case unavailable = "ServiceUnavailable"
    /// 200, and the device is not notified.
    case dropped
    /// 200, and the device is not notified: the channel has exceeded its rate.
    case channelThrottled = "channelthrottled"
    /// 200: the device cannot read the XML and drops it. Only a simulator can detect it.
    case invalidXML = "InvalidXML"

    var status: Int {
        switch self {
        case .dropped, .channelThrottled, .invalidXML: 200
        case .badRequest: 400
        case .unauthorized: 401
        case .forbidden: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .throttled: 406
        case .gone, .domainBlocked: 410
        case .lengthRequired: 411
        case .unreachable: 412
        case .tooLarge: 413
        case .quotaExceeded: 429
        case .internalError: 500
        case .unavailable: 503
        }
    }

    /// The value of `X-WNS-Status`.
    var word: String {
        switch self {
        case .channelThrottled, .throttled: "channelthrottled"
        case .invalidXML: "received"
        default: "dropped"
        }
    }

    var description: String {
        switch self {
        case .domainBlocked: "Domain Blocked"
        case .gone: "The channel expired"
        case .notFound: "The channel URI is not valid or is not recognized by WNS"
        case .quotaExceeded: "The monthly quota is exceeded"
        default: rawValue
        }
    }
}
