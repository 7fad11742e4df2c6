/// Microsoft's side: two token endpoints and the channels.
package final class WNSService: SimulatedService {
    package static let habits = HTTPHabits()

    let configuration: WNSConfiguration
    /// The access tokens that were issued.
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
        let notification = WNSNotification(request)
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
