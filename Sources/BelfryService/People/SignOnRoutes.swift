import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging

/// The login by an issuer of OpenID Connect: the way there, and the way back.
extension LoginRoutes {
    func addSignOn(to router: Router<APIContext>) {
        for client in services.issuers {
            let path = "\(Dashboard.root)/sign-on/\(client.issuer.name)"
            router.servePages(
                RouterPath(path),
                [.get: { request, context in try await depart(to: client, request, context) }])
            router.servePages(
                RouterPath("\(path)/callback"), isSafe: false,
                [.get: { request, context in try await arrive(from: client, request, context) }])
        }
    }

    /// The issuers to choose from.
    ///
    /// - Parameter back: the form that leads back to a held one.
    func signOnSection(next: String, back: Form?) -> Section {
        Section(
            services.options.takesPasswords ? "Or log in with" : "",
            text: back == nil
                ? "" : "To keep what you filled in, open the login in another tab, and come back here when it is done."
        ) {
            if let back { ButtonRow([back]) }
            ButtonRow(
                services.issuers.map { client in
                    Link(
                        services.options.takesPasswords ? client.issuer.title : "Log in with \(client.issuer.title)",
                        Address.query(Address.path("sign-on", client.issuer.name), [("next", next)]),
                        isMain: !services.options.takesPasswords)
                })
        }
    }

    private func depart(
        to client: IssuerClient, _ request: Request, _ context: APIContext
    ) async throws -> Response {
        try await failing(request, context) {
            let query = try FormData(urlEncoded: request.uri.query ?? "")
            let (visit, isNew) = try visitOrNew(of: request)
            let isByTLS = services.cameByTLS(request, context)
            guard let server = services.options.address.known(request, context, cameByTLS: isByTLS) else {
                return try refused(client.issuer, Self.addressUnknown, request, context)
            }
            let state = SignOnState(
                issuer: client.issuer.name,
                redirect: server + Address.path("sign-on", client.issuer.name, "callback"),
                next: query["next"].isEmpty ? "" : Address.checked(next: query["next"]), at: services.clock.now)
            let sealed = Data(try services.people.seal(state.text, visit: visit)).base64URL
            do {
                var response = Response.seeOther(try await client.authorization(state, sealed: sealed))
                if isNew { remember(visit, in: &response, request, context) }
                return response
            } catch let fault as SignOnFault {
                return try refused(client.issuer, fault.description, request, context)
            }
        }
    }

    private func arrive(
        from client: IssuerClient, _ request: Request, _ context: APIContext
    ) async throws -> Response {
        try await failing(request, context) {
            let query = try FormData(urlEncoded: request.uri.query ?? "")
            var fault = SignOnFault("")
            // By the visit: colleagues behind one address do not wait for one another.
            let name = "sign-on \(Cookie.visit.value(in: request)?.prefix(64) ?? "")"
            let found = try await services.requestLimiter.checkGuess(at: name, nil, of: request, context) {
                _ -> (PersonService.Login, SignOnState)? in
                do {
                    return try await logIn(by: client, query, request, context)
                } catch let error as SignOnFault {
                    fault = error
                    return nil
                }
            }
            guard let (login, state) = found else {
                return try refused(client.issuer, fault.description, request, context)
            }
            var response = try signedIn(login, request, context, next: state.next)
            // The state is of this visit, which is over: it is worth nothing from now on.
            services.set(.visit, "", seconds: 0, in: &response, request, context)
            return response
        }
    }

    private func logIn(
        by client: IssuerClient, _ query: FormData, _ request: Request, _ context: APIContext
    ) async throws -> (PersonService.Login, SignOnState) {
        let issuer = client.issuer
        guard let visit = Cookie.visit.value(in: request), let sealed = Data(base64URL: query["state"]),
            let state = services.people.open(state: Array(sealed), visit: visit).flatMap(SignOnState.init),
            state.issuer == issuer.name, services.clock.now < state.expiresAt
        else { throw SignOnFault("This login was not begun in this browser, or too long ago. Begin again, please.") }
        // An answer of another issuer than the one that was asked. Source: RFC 9207 §2.4.
        guard query["iss"].isEmpty || query["iss"] == issuer.url else {
            throw SignOnFault("The answer is of another issuer.")
        }
        guard query["error"].isEmpty else {
            let known = ["access_denied", "login_required", "consent_required", "invalid_scope", "unauthorized_client"]
            let error = known.contains(query["error"]) ? query["error"] : "an error"
            throw SignOnFault("The issuer refused the login: \(error).")
        }
        guard !query["code"].isEmpty, query["code"].utf8.count <= 4_096 else {
            throw SignOnFault("The issuer sent no code.")
        }
        let claims = try await client.claims(code: query["code"], state)
        let address = services.requestLimiter.address(of: request, context)?.text
        let signOn = try await signOn(claims, issuer, address, context)
        do {
            let login = try await services.people.signOn(
                signOn, issuer: issuer.name, address: address,
                agent: request.headers[.userAgent] ?? "")
            if let role = signOn.role, role != login.person.role {
                context.logger.warning(
                    "an issuer takes the role of the last operator, who keeps it: make another one",
                    metadata: ["issuer": "\(issuer.name)", "person": "\(login.person.email.text)"])
            }
            return (login, state)
        } catch let refusal as SignOnRefusal {
            throw SignOnFault(Self.words(refusal, signOn))
        }
    }

    private func signOn(
        _ claims: JSONValue, _ issuer: Issuer, _ address: String?, _ context: APIContext
    ) async throws -> SignOn {
        let isVouchedFor =
            issuer.takesUnverifiedEmail || claims["email_verified"] == .bool(true)
            || claims["email_verified"] == .string("true")
        let email = isVouchedFor ? claims["email"]?.stringValue.flatMap { try? EmailAddress($0) } : nil
        let called = claims["name"]?.stringValue ?? claims["preferred_username"]?.stringValue ?? ""
        let name = (try? Name(called).text) ?? email?.text ?? "somebody"
        let identity = PersonIdentity(issuer: issuer.url, subject: claims["sub"]?.stringValue ?? "")
        let role = try await role(claims, issuer, context)
        guard role != nil || issuer.rules.isEmpty else {
            try await services.people.endSessions(of: identity, issuer: issuer.name, address: address)
            throw SignOnFault("\(issuer.title) knows you, but gives you no role here. Ask an operator for it.")
        }
        return SignOn(identity: identity, email: email, name: name, role: role)
    }

    private func role(_ claims: JSONValue, _ issuer: Issuer, _ context: APIContext) async throws -> SignOn.Role? {
        for rule in issuer.rules where rule.matches(claims) {
            if let bounds = try await bounds(rule), let role = try? SignOn.Role(rule.scope, bounds) { return role }
            context.logger.warning(
                "a rule of single sign-on names no tenant or application that fits its role",
                metadata: ["issuer": "\(issuer.name)", "uuid": "\(rule.bounds?.lowercased ?? "")"])
        }
        return nil
    }

    private func bounds(_ rule: RoleRule) async throws -> AdminKey.Bounds? {
        guard let uuid = rule.bounds else { return .everything }
        if let application = try await services.store.application(uuid) {
            return .application(application.key, of: application.tenantKey)
        }
        return try await services.store.tenant(uuid).map { .tenant($0.key) }
    }

    private static func words(_ refusal: SignOnRefusal, _ signOn: SignOn) -> String {
        switch refusal {
        case .noAccount where signOn.email == nil:
            "The issuer confirms no e-mail address of yours, so no account can be found."
        case .noAccount: "There is no account for \(signOn.email?.text ?? ""). Ask an operator for an invitation."
        case .disabled: "This account is disabled. Ask an operator."
        case .widerAccount:
            "The account with this e-mail address may do what the issuer gives you no role for. Ask an operator."
        case .otherIdentity: "Somebody else of the same issuer has this e-mail address here. Ask an operator."
        }
    }

    private func refused(
        _ issuer: Issuer, _ words: String, _ request: Request, _ context: APIContext
    ) throws -> Response {
        context.logger.info(
            "a login through an issuer failed", metadata: ["issuer": "\(issuer.name)", "reason": "\(words)"])
        var page = PageView("Not logged in")
        page.problem = words
        page.actions = [Link("To the login", Address.path("login"))]
        return try plain(page, request, context, status: .unauthorized)
    }

    private static let addressUnknown =
        "The server does not know by which address browsers reach it. An operator has to set public.url, or to list "
        + "this host in http.hosts."
}
