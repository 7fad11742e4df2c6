import CryptoExtras

/// Huawei's side: a token endpoint, and answers whose meaning is in a code beside the status.
package final class HMSService: SimulatedService {
    package static let habits = {
        var habits = HTTPHabits()
        habits.speaksHTTP2 = true
        return habits
    }()

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
        if version == "v3" { return isSigned(token, at: context.seconds) ? nil : .authentication }
        switch accessTokens.find(token, at: context.now) {
        case .good: return nil
        case .expired: return .expired
        case .unknown: return .authentication
        }
    }

    /// Source: developer.huawei.com, "Service account authentication": a JWT with PS256, an hour long at most.
    private func isSigned(_ jwt: String, at now: Int64) -> Bool {
        let parts = jwt.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]).flatMap(JSON.init),
            let claims = Base64URL.decode(parts[1]).flatMap(JSON.init), let signature = Base64URL.decode(parts[2]),
            header["alg"]?.string == "PS256", header["kid"]?.string == account.keyID,
            claims["iss"]?.string == account.email,
            claims["aud"]?.string == "https://oauth-login.cloud.huawei.com/oauth2/v3/token",
            let issued = claims["iat"]?.integer, let expires = claims["exp"]?.integer,
            issued <= now + AssertionCheck.skewMaxSeconds, expires > now, expires - issued <= 3600
        else { return false }
        return account.key.publicKey.isValidSignature(
            .init(rawRepresentation: signature), for: Array("\(parts[0]).\(parts[1])".utf8), padding: .PSS)
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
